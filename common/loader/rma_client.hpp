// A thin C++ convenience over an RmaTable: ownership, deadlines, result codes; the rules of the
// table stay visible. Threads: an RmaClient may be shared; one context's operations, and the waits
// for them, come from one thread at a time (T-1); groups, windows and contexts may be made and
// closed meanwhile (T-2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "common/loader/net_client.hpp"
#include "common/loader/rma_table.hpp"
#include "common/util/clock.hpp"

namespace duofi::loader {

/// Something of the plugin's with the table entry that ends it; the destructor calls that entry.
/// Close is a stateless functor (const RmaTable&, void* owner, void* object) -> ncclResult_t.
template <typename Close>
class RmaOwned {
  public:
    RmaOwned() = default;
    RmaOwned(const RmaTable& table, void* owner, void* object) noexcept
        : table_(table), owner_(owner), object_(object) {}
    RmaOwned(RmaOwned&& other) noexcept
        : table_(other.table_),
          owner_(other.owner_),
          object_(std::exchange(other.object_, nullptr)) {}
    RmaOwned& operator=(RmaOwned&& other) noexcept {
        if (this != &other) {
            static_cast<void>(close());
            table_ = other.table_;
            owner_ = other.owner_;
            object_ = std::exchange(other.object_, nullptr);
        }
        return *this;
    }
    ~RmaOwned() { static_cast<void>(close()); }

    /// Closes now; returns the plugin's code (ncclSuccess when empty).
    ncclResult_t close() noexcept {
        if (object_ == nullptr) return ncclSuccess;
        return Close{}(table_, owner_, std::exchange(object_, nullptr));
    }
    /// Gives the pointer up without a call.
    void* release() noexcept { return std::exchange(object_, nullptr); }
    [[nodiscard]] void* get() const noexcept { return object_; }
    /// The group of a window or context; nullptr for the others.
    [[nodiscard]] void* owner() const noexcept { return owner_; }
    explicit operator bool() const noexcept { return object_ != nullptr; }

  private:
    RmaTable table_;
    void* owner_ = nullptr;
    void* object_ = nullptr;
};

struct FinalizeInstance {
    ncclResult_t operator()(const RmaTable& table, void*, void* object) const;
};
struct CloseListener {
    ncclResult_t operator()(const RmaTable& table, void*, void* object) const;
};
struct CloseGroup {
    ncclResult_t operator()(const RmaTable& table, void*, void* object) const;
};
struct DestroyContext {
    ncclResult_t operator()(const RmaTable& table, void*, void* object) const;
};
struct DeregisterWindow {
    ncclResult_t operator()(const RmaTable& table, void* owner, void* object) const;
};

using RmaInstance = RmaOwned<FinalizeInstance>;  ///< one init
using RmaListener = RmaOwned<CloseListener>;
using RmaGroup = RmaOwned<CloseGroup>;         ///< a collComm; outlives its contexts and windows
using RmaContext = RmaOwned<DestroyContext>;   ///< an rmaCtx
using RmaWindow = RmaOwned<DeregisterWindow>;  ///< an mhandle

/// One operation in flight. An empty one counts as done.
struct RmaOperation {
    void* group = nullptr;
    void* request = nullptr;
};

/// The calls. Failures carry the plugin's own code; a success that breaks the contract (a NULL
/// group, a NULL request from anything but iflush, Q-1) is reported as ncclInternalError.
class RmaClient {
  public:
    explicit RmaClient(const RmaTable& table) noexcept : table_(table) {}
    [[nodiscard]] const RmaTable& table() const noexcept { return table_; }

    [[nodiscard]] NetResult<RmaInstance> init(std::uint64_t comm_id,
                                              ncclDebugLogger_t logger) const;
    /// listen; all bytes of `handle` are zeroed before the call.
    [[nodiscard]] NetResult<RmaListener> listen(void* instance, int device,
                                                NetHandle& handle) const;
    /// connect, which may block until all ranks are there or the plugin's own limit has passed.
    /// `instance` may be any pointer or none (C-3).
    [[nodiscard]] NetResult<RmaGroup> connect(void* instance, const RmaListener& listener,
                                              std::span<NetHandle> handles, int rank) const;
    [[nodiscard]] NetResult<RmaContext> create_context(
        const RmaGroup& group, int contexts = 1, int rank_stride = 1,
        int traffic_class = NCCL_NET_TRAFFIC_CLASS_UNDEF) const;
    /// regMrSym of cpu memory; collective, in the same order on all ranks (M-1).
    [[nodiscard]] NetResult<RmaWindow> register_memory(const RmaGroup& group,
                                                       std::span<std::byte> memory,
                                                       std::uint64_t flags = 0) const;

    [[nodiscard]] NetResult<RmaOperation> put(const RmaContext& context, const RmaPut& put) const;
    [[nodiscard]] NetResult<RmaOperation> put_signal(const RmaContext& context, const RmaPut& put,
                                                     const RmaSignal& signal) const;
    [[nodiscard]] NetResult<RmaOperation> get(const RmaContext& context, const RmaGet& get) const;
    /// The operation may be empty (F-2).
    [[nodiscard]] NetResult<RmaOperation> flush(const RmaContext& context, int index,
                                                const RmaWindow& window, std::uint32_t rank) const;

    /// One test call: true when done. After done or failure the operation is empty.
    [[nodiscard]] NetResult<bool> test(RmaOperation& operation) const;
    /// test until done, giving the core away in between. After a time-out the operation still owns
    /// its request.
    [[nodiscard]] NetResult<void> wait(RmaOperation& operation, const Deadline& deadline) const;
    [[nodiscard]] NetResult<void> wait_all(std::span<RmaOperation> operations,
                                           const Deadline& deadline) const;

  private:
    RmaTable table_;
};

}  // namespace duofi::loader
