// Shared memory without a name: a sealed memfd, mapped by its owner and by whoever was given a handle
// (p2p contract 2.3, 2.6). It lives while anybody maps it and leaves nothing behind on any file system.
// One object from one thread at a time; the memory itself is for everybody.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/local/ipc_handle.hpp"
#include "common/local/segment_control.hpp"
#include "common/util/error.hpp"
#include "common/util/host_identity.hpp"
#include "common/util/unique_fd.hpp"

namespace duofi::local {

struct SegmentRequest {
    std::size_t bytes = 0;          ///< rounded up to kSegmentUnit
    std::size_t reserve_bytes = 0;  ///< this much from the start gets its pages now, the rest by Segment::reserve
    int numa_node = -1;             ///< pages come from here whoever touches them first; -1: no wish
    int tag = -1;                   ///< the caller's; comes back with SegmentTable::find
    bool huge_pages = false;        ///< explicit huge pages if enough are free, else transparent ones
};

/// What tells segments apart within a kernel.
struct SegmentKey {
    std::uint32_t inode = 0;
    std::uint32_t generation = 0;
    std::uint64_t nonce = 0;
    auto operator<=>(const SegmentKey&) const = default;
};

/// A mapping of one segment in this process, as owner or as importer. The destructor unmaps. Mappings are not
/// inherited by children (MADV_DONTFORK).
class Segment {
  public:
    /// Zero-filled and sealed against resizing. Errors: invalid_argument (size 0 or above 1 TiB), no_memory (limits
    /// of memory, file sizes or addresses), system (EMFILE, ...).
    [[nodiscard]] static Result<Segment> create(const SegmentRequest& request, const HostIdentity& self,
                                                std::uint32_t generation);

    /// Steps 7 to 9 of opening: trusts neither the descriptor nor the handle. Errors: invalid_argument (not the
    /// sealed memfd of that handle), no_memory, system.
    [[nodiscard]] static Result<Segment> import(UniqueFd descriptor, const IpcHandle& handle);

    Segment(Segment&& other) noexcept;
    Segment& operator=(Segment&& other) noexcept;
    ~Segment();

    [[nodiscard]] std::byte* data() const noexcept { return data_; }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] const SegmentKey& key() const noexcept { return key_; }
    [[nodiscard]] bool owned() const noexcept { return owned_; }
    [[nodiscard]] bool contains(const void* address) const noexcept;

    /// Gives pages to a range (whole pages; zero-filled, content kept), so that touching it cannot fail later. Owner
    /// and importer alike; a range that has them costs one system call. Errors: no_memory, invalid_argument.
    [[nodiscard]] Status reserve(std::size_t offset, std::size_t bytes) const;

    /// Owner: -1 after close_descriptor, from when on the segment cannot be exported any more.
    [[nodiscard]] int descriptor() const noexcept { return descriptor_.get(); }
    void close_descriptor() noexcept { descriptor_.reset(); }

    /// Owner: the handle of an address inside. Errors: invalid_usage without descriptor.
    [[nodiscard]] Result<IpcHandle> handle(std::size_t offset, HandleKind kind, const HostIdentity& self) const;

    /// Owner: tells importers that the memory is no longer maintained.
    void mark_dead() noexcept;
    [[nodiscard]] bool owner_alive() const noexcept;
    /// Mappings of others at this moment; processes that were killed are still counted.
    [[nodiscard]] std::uint32_t importers() const noexcept;

  private:
    Segment() = default;
    [[nodiscard]] Status map();
    [[nodiscard]] ControlPage& control() const noexcept;

    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
    std::size_t control_bytes_ = 0;
    SegmentKey key_;
    UniqueFd descriptor_;
    bool owned_ = false;
    bool imported_ = false;  ///< counted in the control page
    bool huge_pages_ = false;
};

}  // namespace duofi::local
