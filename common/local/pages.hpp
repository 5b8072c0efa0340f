// Pages of mappings: alignment, NUMA node, huge pages, pages on demand (p2p contract 2.3). Any thread.
#pragma once

#include <cstddef>

#include "common/util/error.hpp"

namespace duofi::local {

[[nodiscard]] std::size_t page_size() noexcept;
[[nodiscard]] std::size_t round_to_pages(std::size_t bytes) noexcept;

/// Maps `bytes` of a file, shared and writable, at a multiple of `alignment` (a power of two, at least a page).
/// NULL and errno when that fails. Descriptor -1: private zero-filled memory instead.
[[nodiscard]] void* map_aligned(int descriptor, std::size_t bytes, std::size_t alignment) noexcept;

void unmap(void* memory, std::size_t bytes) noexcept;

/// The object's pages come from this node whoever touches them first, if it has any left. False where the kernel
/// does not know the node or the call.
bool prefer_node(void* memory, std::size_t bytes, int node) noexcept;

/// Explicit huge pages of 2 MiB that nobody uses or has reserved.
[[nodiscard]] std::size_t free_huge_pages() noexcept;

/// Gives every page of a range its memory, content kept. Errors: no_memory, before the kernel would have to kill.
[[nodiscard]] Status populate(void* memory, std::size_t bytes);

}  // namespace duofi::local
