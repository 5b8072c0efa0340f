// One rmaCtx as the GIN proxy serves it: signals, counters, rings, and the pass of the proxy thread
// (rma contract 4.1, 4.4). Threads: progress from one thread at a time; rings, signals and counters
// from any; open and close from one.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/gin/connection.hpp"
#include "common/gin/context_shape.hpp"
#include "common/gin/queue.hpp"
#include "common/gin/random_pauses.hpp"

namespace duofi::gin {

enum class Pass { idle, busy, failed };

/// Why a context stopped.
struct ProxyFailure {
    ncclResult_t result = ncclSuccess;
    const char* call = "";
};

/// What was done so far; read it while the proxy rests.
struct ProxyCounts {
    std::uint64_t descriptors = 0, hinted = 0, tests = 0, completions = 0;
};

class ProxyContext {
  public:
    /// createContext, getRmaProperties, registration of the signals and of each context's inline
    /// values; collective. `first_context` and `context_step` say which contexts of the device
    /// communicator are inside. `client` and `connection` must outlive it.
    [[nodiscard]] static Result<std::unique_ptr<ProxyContext>> open(
        const loader::RmaClient& client, const Connection& connection, const ContextShape& shape,
        const Observers& observers = {}, int first_context = 0, int context_step = 1);
    ~ProxyContext();
    ProxyContext(const ProxyContext&) = delete;
    ProxyContext& operator=(const ProxyContext&) = delete;

    /// One pass: completions, new descriptors, rmaProgress. After a failure it does nothing.
    Pass progress();
    [[nodiscard]] bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }
    /// Marks it failed because its proxy thread has ended; same thread as progress.
    void abandon(const ProxyFailure& failure) noexcept;
    /// Valid once failed() is true.
    [[nodiscard]] ProxyFailure failure() const noexcept { return failure_; }
    [[nodiscard]] const ProxyCounts& counts() const noexcept { return counts_; }
    /// queryLastError; any thread.
    [[nodiscard]] bool plugin_reports_error() const;

    /// destroyContext, then the registrations, as the callers do - also with operations in flight
    /// . Returns the first code that is no success.
    ncclResult_t close();

    [[nodiscard]] const Members& members() const noexcept { return connection_.members; }
    [[nodiscard]] const ContextShape& shape() const noexcept { return shape_; }
    [[nodiscard]] int signals_per_context() const noexcept;
    /// The number of a context in its device communicator.
    [[nodiscard]] int context_number(int context) const noexcept {
        return first_context_ + context * context_step_;
    }
    [[nodiscard]] RandomPauses& pauses() noexcept { return pauses_; }
    [[nodiscard]] bool flushes_all_puts() const noexcept { return flushes_all_puts_; }
    [[nodiscard]] Queues& queues(int context) noexcept {
        return *lanes_[static_cast<std::size_t>(context)].queues;
    }
    /// The word of a signal, shared with the plugin.
    [[nodiscard]] std::atomic_ref<std::uint64_t> signal(int context, int id) noexcept;
    /// What a reset set aside: waiting is relative to it.
    [[nodiscard]] std::uint64_t& signal_offset(int context, int id) noexcept;
    [[nodiscard]] std::atomic_ref<std::uint64_t> counter(int context, int id) noexcept;
    /// Rounds of barriers so far; one thread per context uses it.
    [[nodiscard]] std::uint64_t& barrier_round(int context) noexcept {
        return lanes_[static_cast<std::size_t>(context)].barrier_round;
    }

  private:
    struct Slot {
        Descriptor descriptor;
        bool done = false, hinted = false;
        void* request = nullptr;
        Nanoseconds begin = 0;
    };
    /// One context.
    struct Lane {
        std::unique_ptr<Queues> queues;
        std::vector<std::uint32_t> seen, shadow;  ///< by peer: taken; done in order
        std::vector<Slot> slots;                  ///< peers x depth
        std::vector<std::uint64_t> inlines;       ///< peers x depth
        loader::RmaWindow inline_window;
        std::uint64_t barrier_round = 0;
    };
    struct Place {
        int context, peer;
        std::uint32_t index;
    };

    ProxyContext(const loader::RmaClient& client, const Connection& connection,
                 const ContextShape& shape, const Observers& observers);
    [[nodiscard]] Status set_up();
    [[nodiscard]] Slot& slot(Lane& lane, int peer, std::uint32_t index) noexcept;
    bool complete(int context);
    bool complete_ring(int context, int peer);
    bool test(Slot& slot, const Place& place);
    bool take_new(int context);
    bool take_one(const Place& place, bool last_of_batch);
    bool wait_for_rest(const Place& place, PackedDescriptor& packed);
    bool dispatch(Slot& slot, const Place& place, std::uint32_t flags);
    ncclResult_t call(Slot& slot, const Place& place, std::uint32_t flags, const char*& name);
    ncclResult_t call_put(Slot& slot, const Place& place, std::uint32_t flags, const char*& name);
    bool fail_with(ncclResult_t result, const char* call, const Place& place);
    void note_done(Slot& slot, const Place& place);

    const loader::RmaClient& client_;
    const Connection& connection_;
    ContextShape shape_;
    Observers observers_;
    RandomPauses pauses_;
    int first_context_ = 0, context_step_ = 1;
    bool flushes_all_puts_ = false;
    std::vector<std::uint64_t> signals_, offsets_, counters_;
    loader::RmaWindow signal_window_;
    std::vector<Lane> lanes_;
    loader::RmaContext context_;
    std::uint64_t outstanding_ = 0;
    ProxyCounts counts_;
    std::atomic<bool> failed_{false};
    ProxyFailure failure_;
};

}  // namespace duofi::gin
