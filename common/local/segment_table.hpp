// All segments of a process, its own and imported ones: by address and by identity, counted, so that nothing that is in
// use is unmapped (p2p contract 2.3-2.6, C-27, T-13). Any thread; one lock, never held while waiting for a peer.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "common/local/fd_service.hpp"
#include "common/local/segment.hpp"
#include "common/util/fork_mark.hpp"

namespace duofi::local {

struct SegmentTableOptions {
    std::string socket_dir{};         ///< of fd services; empty: abstract addresses
    /// Also opens segments of explicit huge pages. A peer that punches holes into one can make it fault when no huge
    /// pages are left, so both sides must want them.
    bool accept_huge_pages = false;
    bool serve_descriptors = true;    ///< handles of kind memfd_service and a thread that serves them
    std::string proc_root = "/proc";  ///< tests offer another one
};

struct SegmentInfo {
    std::byte* base = nullptr;
    std::size_t bytes = 0;
    bool owned = false;
    bool freed = false;   ///< by its owner; still there because somebody here uses it
    std::uint32_t uses = 0;  ///< opens and retains
    int tag = -1;            ///< of the request; -1 when imported
};

class SegmentTable final : private DescriptorSource {
  public:
    explicit SegmentTable(SegmentTableOptions options = {});
    /// Unmaps everything that is left.
    ~SegmentTable();
    SegmentTable(const SegmentTable&) = delete;
    SegmentTable& operator=(const SegmentTable&) = delete;

    /// A new segment of this process. Errors: those of Segment::create; invalid_usage in a forked child.
    [[nodiscard]] Result<void*> allocate(const SegmentRequest& request);
    /// `memory` as allocate returned it, or NULL. Unmapped once nobody in this process uses it; importers keep it
    /// valid for themselves. Errors: invalid_argument.
    [[nodiscard]] Status free(void* memory);

    /// The same handle for the same address each time. Errors: invalid_argument (not inside an own live segment),
    /// invalid_usage (after close_descriptor).
    [[nodiscard]] Result<HandleBytes> export_handle(void* address);
    /// Steps 1 to 9. The same handle gives the same address and needs as many closes. Errors: invalid_argument
    /// (malformed, forged, not ours to open), system (exporter gone, no access), no_memory; `place` is the reason.
    [[nodiscard]] Result<void*> open(std::span<const std::byte> handle);
    /// An address that open returned, once for each time. Errors: invalid_argument.
    [[nodiscard]] Status close(void* address);

    /// Counts a use of the segment around `address` without a handle. Errors: invalid_argument.
    [[nodiscard]] Status retain(const void* address);
    [[nodiscard]] Status release(const void* address);

    /// Segment::reserve by address. Errors: invalid_argument, no_memory.
    [[nodiscard]] Status reserve(const void* address, std::size_t bytes);

    /// Ends the export of the own segment around `memory`: the peers have opened it. Errors: invalid_argument.
    [[nodiscard]] Status close_descriptors(void* memory);

    /// Nothing in a forked child, which has none of the mappings; nor from the next two.
    [[nodiscard]] std::optional<SegmentInfo> find(const void* address) const;
    /// False once the owner has freed the segment around `address`. Nothing when there is none.
    [[nodiscard]] std::optional<bool> owner_alive(const void* address) const;
    [[nodiscard]] std::size_t size() const;
    [[nodiscard]] const HostIdentity& identity() const noexcept { return self_; }
    /// Starts the fd service unless it runs, was refused before or is not wanted. False without one.
    bool serve();
    /// Whether this process could open what it exports: a segment of its own through /proc/self/fd. Errors: system,
    /// no_memory.
    [[nodiscard]] Status probe() const;

  private:
    struct Entry {
        Segment segment;
        int tag = -1;
        std::uint32_t retains = 0;
        bool freed = false;
        std::map<std::uint64_t, std::uint32_t> opens{};  ///< by offset
        [[nodiscard]] std::uint32_t uses() const;
    };
    using Entries = std::map<std::uintptr_t, Entry>;

    UniqueFd descriptor_of(std::uint32_t generation, std::uint64_t nonce) override;
    [[nodiscard]] Status refuse_child() const;
    Entries::iterator around(const void* address);
    Entry* by_identity(const IpcHandle& handle, bool owned);
    [[nodiscard]] static Result<void*> use(Entry& entry, const IpcHandle& handle);
    void drop_if_unused(Entries::iterator entry);
    void serve_descriptors();
    [[nodiscard]] Result<UniqueFd> fetch(const IpcHandle& handle) const;

    const SegmentTableOptions options_;
    const HostIdentity self_;
    const ForkMark fork_mark_;
    mutable std::mutex mutex_;
    Entries entries_;
    std::uint32_t generations_ = 0;
    std::unique_ptr<FdService> service_;
    bool service_tried_ = false;
};

}  // namespace duofi::local
