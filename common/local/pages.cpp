#include "common/local/pages.hpp"

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <fstream>

#include "common/local/memory_limit.hpp"
#include "common/util/messages/local.hpp"

namespace duofi::local {

namespace {

constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE of Linux 5.14

std::size_t absent_bytes(std::byte* begin, std::size_t bytes) noexcept {
    std::array<unsigned char, 1024> present{};
    const std::size_t page = page_size();
    std::size_t absent = 0;
    while (bytes != 0) {
        const std::size_t part = std::min(bytes, present.size() * page);
        if (::mincore(begin, part, present.data()) != 0) return absent + bytes;
        const auto end = present.begin() + static_cast<std::ptrdiff_t>(part / page);
        absent += page * static_cast<std::size_t>(
                             std::count_if(present.begin(), end, [](unsigned char p) { return (p & 1U) == 0; }));
        begin += part;
        bytes -= part;
    }
    return absent;
}

void touch(std::byte* begin, std::size_t bytes) noexcept {
    for (std::size_t at = 0; at < bytes; at += page_size())
        std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(begin + at))
            .fetch_add(0, std::memory_order_relaxed);
}

}  // namespace

std::size_t page_size() noexcept {
    return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::size_t round_to_pages(std::size_t bytes) noexcept {
    const std::size_t page = page_size();
    return (bytes + page - 1) / page * page;
}

void* map_aligned(int descriptor, std::size_t bytes, std::size_t alignment) noexcept {
    const std::size_t mapped = round_to_pages(bytes);
    const std::size_t room = mapped + alignment;
    void* space = ::mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED) return nullptr;
    auto* first = static_cast<std::byte*>(space);
    const std::size_t lead = (alignment - reinterpret_cast<std::uintptr_t>(space) % alignment) % alignment;
    const int kind = descriptor >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
    void* memory = ::mmap(first + lead, bytes, PROT_READ | PROT_WRITE, kind | MAP_FIXED, descriptor, 0);
    const int error = errno;
    if (memory == MAP_FAILED) {
        ::munmap(space, room);
        errno = error;
        return nullptr;
    }
    if (lead != 0) ::munmap(first, lead);
    ::munmap(first + lead + mapped, room - lead - mapped);
    return memory;
}

void unmap(void* memory, std::size_t bytes) noexcept {
    if (memory != nullptr) ::munmap(memory, round_to_pages(bytes));
}

bool prefer_node(void* memory, std::size_t bytes, int node) noexcept {
    std::array<unsigned long, 16> nodes{};
    constexpr std::size_t kBits = 8 * sizeof(unsigned long);
    const auto number = static_cast<std::size_t>(node);
    if (node < 0 || number >= nodes.size() * kBits) return false;
    nodes[number / kBits] = 1UL << number % kBits;
    return ::syscall(SYS_mbind, memory, bytes, MPOL_PREFERRED, nodes.data(), nodes.size() * kBits, 0U) == 0;
}

std::size_t free_huge_pages() noexcept {
    const auto number = [](const char* path) {
        std::ifstream file(path);
        std::size_t value = 0;
        return file >> value ? value : 0;
    };
    const std::size_t free = number("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages");
    return free - std::min(free, number("/sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages"));
}

Status populate(void* memory, std::size_t bytes) {
    if (bytes == 0) return {};
    const std::size_t page = page_size();
    const std::size_t lead = reinterpret_cast<std::uintptr_t>(memory) % page;
    std::byte* begin = static_cast<std::byte*>(memory) - lead;
    const std::size_t length = round_to_pages(bytes + lead);
    const std::size_t absent = absent_bytes(begin, length);
    if (absent != 0 && absent > memory_headroom())
        return fail(Errc::no_memory, messages::kSegmentMemoryLimit, ENOMEM);
    while (::madvise(begin, length, kPopulateWrite) != 0) {
        if (errno == EINTR || errno == EAGAIN) continue;
        if (errno != EINVAL) return fail(Errc::no_memory, messages::kSegmentMemory, errno);
        touch(begin, length);  // an older kernel
        break;
    }
    return {};
}

}  // namespace duofi::local
