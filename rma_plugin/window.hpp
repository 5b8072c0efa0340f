// One registered region of a group: our own memory, and what the other ranks registered with the same call (M-1, M-2).
// Constant once made, except for the counter of registrations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/ofi/memory_region.hpp"
#include "common/util/error.hpp"
#include "rma_plugin/caller_objects.hpp"

namespace duofi::rma {

class Group;

/// What one rank says about its side of a registration; travels as it is.
struct WindowPart {
    std::uint64_t address = 0;   ///< what offset 0 is called in one-sided operations
    std::uint64_t length = 0;    ///< bytes
    std::uint64_t key = 0;
    std::uint64_t flags = 0;     ///< the caller's mrFlags
    std::int32_t status = 0;     ///< Errc, 0 = registered
    std::int32_t type = 0;       ///< NCCL_PTR_*
    std::uint32_t covered_by = 0;  ///< id of a live window that could serve, 0 = none (M-11)
    std::uint32_t misalignment = 0;  ///< of the base, bytes beyond a multiple of 8
};
static_assert(sizeof(WindowPart) == 48);

class Window {
  public:
    Window(Group& group, std::uint32_t id) : group_(&group), id_(id) {}

    [[nodiscard]] Group& group() const noexcept { return *group_; }
    [[nodiscard]] std::uint32_t id() const noexcept { return id_; }
    [[nodiscard]] std::byte* data() const noexcept { return data_; }
    [[nodiscard]] std::size_t length() const noexcept { return length_; }
    [[nodiscard]] const WindowPart& part(std::uint32_t rank) const noexcept { return parts_[rank]; }
    /// Of our own memory, for the provider; NULL where it wants none.
    [[nodiscard]] void* descriptor() const noexcept { return descriptor_; }

    /// Has that rank deregistered its part? Lock of the endpoint held.
    [[nodiscard]] bool withdrawn(std::uint32_t rank) const noexcept { return withdrawn_[rank]; }

    /// Own range checks (P-5): is [offset, offset + size) inside the memory of that rank, or inside ours?
    [[nodiscard]] bool covers(std::uint32_t rank, std::uint64_t offset, std::uint64_t size) const noexcept {
        return inside(parts_[rank].length, offset, size);
    }
    [[nodiscard]] bool covers_locally(std::uint64_t offset, std::uint64_t size) const noexcept {
        return inside(length_, offset, size);
    }

  private:
    friend class WindowTable;
    static bool inside(std::uint64_t length, std::uint64_t offset, std::uint64_t size) noexcept {
        return size <= length && offset <= length - size;
    }

    Group* group_;
    std::uint32_t id_;
    std::byte* data_ = nullptr;
    std::size_t length_ = 0;
    void* descriptor_ = nullptr;
    std::uint32_t references_ = 1;
    ofi::Registration registration_;
    std::vector<WindowPart> parts_;  ///< by rank
    std::vector<bool> withdrawn_;    ///< by rank
    std::vector<bool> asked_;        ///< by rank: we wait for its word that it stays away
    ObjectHandle* handle_ = nullptr;
};

}  // namespace duofi::rma
