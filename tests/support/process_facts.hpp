// What a process holds: threads, descriptors, mappings, shared-memory files, memory. Linux /proc.
// Any thread; a snapshot of a moment.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace duofi::test {

struct ProcessFacts {
    int threads = 0;
    std::vector<std::string> descriptors;  ///< link targets of /proc/self/fd, sorted
    std::vector<std::string> libraries;    ///< distinct files mapped, sorted
    int mappings = 0;                      ///< lines of /proc/self/maps
    std::vector<std::string> shm_entries;  ///< names in /dev/shm that belong to this process
    long rss_kib = 0;

    [[nodiscard]] static ProcessFacts now();
    [[nodiscard]] bool maps_library(const std::string& part) const;
    [[nodiscard]] std::string to_string() const;
};

/// Names in /dev/shm that carry the number of `pid`, or files that this process has mapped from it.
[[nodiscard]] std::vector<std::string> shm_entries_of(pid_t pid);

/// SIGSTOP, and waits until all threads of the process have stopped; throws when they do not.
void stop_process(pid_t pid);

/// Virtual memory layout changes while it is read; an empty text when /proc is not there.
[[nodiscard]] std::string read_text(const std::string& path);

}  // namespace duofi::test
