// Runs one test body as N ranks, as threads of this process or as processes that execute this test
// program anew, behind one interface (no fork after the provider started). Called from the main
// thread of a test.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/failure.hpp"
#include "tests/support/rank_channel.hpp"

namespace duofi::test {

enum class RankMode { threads, processes };

/// What a body sees of its group.
struct Rank {
    int index = 0;
    int count = 1;
    int lane = 0;  ///< 0, or which of several threads of the rank this is, from 1 (rank_threads.hpp)
    RankMode mode = RankMode::processes;
    RankChannel* channel = nullptr;
    std::map<std::string, std::string> args;
    Nanoseconds timeout = 60 * kSecond;  ///< of one barrier or gather

    void barrier() { channel->barrier(timeout, lane); }
    void step(const std::string& text) {
        if (lane <= 1) channel->set_step(index, text.c_str());  // one note per rank
    }

    template <typename T>
    std::vector<T> all_gather(const T& mine) {
        static_assert(std::is_trivially_copyable_v<T>);
        std::vector<T> all(static_cast<std::size_t>(count));
        channel->gather(index, &mine, sizeof(T), all.data(), timeout, lane);
        return all;
    }

    [[nodiscard]] int number(const std::string& key, int otherwise) const;
    [[nodiscard]] std::string text(const std::string& key, const std::string& otherwise = "") const;
};

using RankBody = void (*)(Rank&);

/// Makes a body known by name; returns true so that a static can hold the call.
bool register_rank_body(const char* name, RankBody body);

/// Defines and registers a body: DUOFI_RANK_BODY(ring) { ... uses `rank` ... }
#define DUOFI_RANK_BODY(name)                                        \
    static void rank_body_##name(::duofi::test::Rank& rank);         \
    [[maybe_unused]] static const bool rank_body_known_##name =      \
        ::duofi::test::register_rank_body(#name, &rank_body_##name); \
    static void rank_body_##name([[maybe_unused]] ::duofi::test::Rank& rank)

/// As a value in GroupOptions::env: the variable is removed.
inline constexpr const char* kUnset = "\x01unset";

enum class RankEnd { normal, killed, any };

struct GroupOptions {
    int ranks = 2;
    RankMode mode = RankMode::processes;
    Nanoseconds timeout = 60 * kSecond;  ///< of the whole group
    std::map<std::string, std::string> args;
    std::map<std::string, std::string> env;  ///< added for process ranks
    std::vector<std::vector<std::string>>
        prefixes;                   ///< per rank: command words put before the program
    std::map<int, RankEnd> ends;    ///< ranks that do not end normally
    std::map<int, int> exit_codes;  ///< expected exit codes other than 0

    [[nodiscard]] std::vector<std::string> prefix_of(int rank) const {
        const auto index = static_cast<std::size_t>(rank);
        return index < prefixes.size() ? prefixes[index] : std::vector<std::string>{};
    }
};

/// Runs the group; every rank that fails, ends otherwise than expected or is late is a test
/// failure.
void run_group(const std::string& body, const GroupOptions& options);

/// Entry of a process rank: runs the body named on the command line and returns the exit code, or
/// -1 when the command line names none.
int run_rank_of_command_line(int argc, char** argv);

}  // namespace duofi::test
