// How much memory the control group of this process still allows: beyond it the kernel kills instead of refusing.
// Any thread; two or more files are read per call.
#pragma once

#include <cstddef>
#include <limits>
#include <string>

namespace duofi::local {

inline constexpr std::size_t kNoMemoryLimit = std::numeric_limits<std::size_t>::max();

/// Bytes until the tightest limit among the groups of this process (version 1 and 2), page cache that can be dropped
/// not counted as used; kNoMemoryLimit when there is none or it cannot be read. `root` stands for "/".
[[nodiscard]] std::size_t memory_headroom(const std::string& root = {});

}  // namespace duofi::local
