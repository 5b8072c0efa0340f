// What this process holds of shared memory, for tests of leaks.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>

namespace duofi::test {

inline std::size_t open_descriptors() {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
    return count;
}

/// Mappings of segments.
inline std::size_t mapped_segments() {
    std::ifstream maps("/proc/self/maps");
    std::size_t count = 0;
    for (std::string line; std::getline(maps, line);) count += line.find("duofi-segment") != std::string::npos ? 1 : 0;
    return count;
}

/// `address`: of a page.
inline bool mapped(const void* address) {
    unsigned char resident = 0;
    return ::mincore(const_cast<void*>(address), 1, &resident) == 0;
}

}  // namespace duofi::test
