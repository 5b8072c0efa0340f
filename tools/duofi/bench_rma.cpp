#include "tools/duofi/bench_rma.hpp"

#include <fmt/core.h>

#include <atomic>

#include "common/loader/host_logger.hpp"

namespace duofi::tool {
namespace {

tl::unexpected<std::string> failed_call(const loader::NetFailure& failure) {
    return failed("RMA table: " + loader::to_string(failure));
}

}  // namespace

RmaEnd::RmaEnd(int rank, const BenchMemory& memory)
    : peer_(rank == 0 ? 1 : 0),
      memory_(memory),
      host_(loader::RmaRequest::from_environment(), loader::host_logger(), loader::host_line,
            loader::RmaHostOptions::from_environment()) {}

RmaEnd::~RmaEnd() {
    static_cast<void>(context_.close());
    for (loader::RmaWindow* window : {&tx_, &rx_, &words_}) static_cast<void>(window->close());
    static_cast<void>(group_.close());
    if (attached_) host_.release(plugin_);
}

Outcome<std::unique_ptr<RmaEnd>> RmaEnd::open(int rank, PairChannel& channel,
                                              const BenchMemory& memory) {
    std::unique_ptr<RmaEnd> self(new RmaEnd(rank, memory));
    if (auto done = self->attach(channel); !done) return failed(done.error());
    if (auto done = self->connect(channel); !done) return failed(done.error());
    if (auto done = self->register_windows(); !done) return failed(done.error());
    return self;
}

/// Both ranks of a communicator init with the same number: the sum of theirs.
Outcome<void> RmaEnd::attach(PairChannel& channel) {
    const auto own = static_cast<std::uint64_t>(now_ns());
    if (auto sent = channel.send_value(own); !sent) return failed(describe(sent.error()));
    const auto other = channel.receive_value<std::uint64_t>(Deadline(kStepLimit));
    if (!other) return failed(describe(other.error()));
    auto plugin = host_.attach(own + *other);
    if (!plugin)
        return failed(fmt::format(
            "no RMA plugin could be opened and initialised ({}); is its folder in "
            "LD_LIBRARY_PATH? NCCL_DEBUG=INFO shows why",
            describe(plugin.error())));
    plugin_ = *plugin;
    table_ = plugin_.table;
    attached_ = true;
    if (plugin_.devices < 1) return failed("the RMA plugin shows no device");
    return {};
}

Outcome<void> RmaEnd::connect(PairChannel& channel) {
    const loader::RmaClient client(table_);
    std::array<loader::NetHandle, 2> handles{};
    loader::NetHandle& own = handles[1 - peer_];
    auto listener = client.listen(plugin_.rma_instance, 0, own);
    if (!listener) return failed_call(listener.error());
    if (auto sent = channel.send_value(own); !sent) return failed(describe(sent.error()));
    const auto other = channel.receive_value<loader::NetHandle>(Deadline(kStepLimit));
    if (!other) return failed(describe(other.error()));
    handles[peer_] = *other;
    auto group = client.connect(plugin_.rma_instance, *listener, handles, static_cast<int>(1 - peer_));
    if (!group) return failed_call(group.error());
    group_ = std::move(*group);
    auto context = client.create_context(group_);
    if (!context) return failed_call(context.error());
    context_ = std::move(*context);
    return {};
}

Outcome<void> RmaEnd::register_windows() {
    const loader::RmaClient client(table_);
    const auto add = [&](loader::RmaWindow& window, std::span<std::byte> memory,
                         std::uint64_t flags) -> Outcome<void> {
        auto made = client.register_memory(group_, memory, flags);
        if (!made) return failed_call(made.error());
        window = std::move(*made);
        return {};
    };
    if (auto done = add(tx_, memory_.tx, 0); !done) return done;
    if (auto done = add(rx_, memory_.rx, 0); !done) return done;
    return add(words_, std::as_writable_bytes(std::span(signals_)), NCCL_NET_MR_FLAG_FORCE_SO);
}

std::string RmaEnd::device_name() const {
    ncclNetProperties_v12_t properties{};
    if (table_.properties(0, &properties) != ncclSuccess || properties.name == nullptr) return "";
    return properties.name;
}

Status RmaEnd::post(void*& request, OneSided operation, std::size_t offset, std::size_t bytes) {
    request = nullptr;
    const loader::RmaPut put{0, offset, tx_.get(), bytes, offset, rx_.get(), peer_};
    const loader::RmaGet get{0, offset, tx_.get(), bytes, offset, rx_.get(), peer_};
    ncclResult_t result = ncclInternalError;
    const char* call = "iput";
    switch (operation) {
        case OneSided::put:
            result = table_.iput(context_.get(), put, &request);
            break;
        case OneSided::put_signal:
            call = "iputSignal";
            result = table_.iput_signal(context_.get(), put, {0, words_.get()}, &request);
            break;
        case OneSided::get:
            call = "iget";
            result = table_.iget(context_.get(), get, &request);
            break;
    }
    if (result != ncclSuccess) return call_failed(result, call);
    if (request == nullptr) return call_failed(ncclInternalError, call);
    return {};
}

Status RmaEnd::finish(void*& request) {
    if (request == nullptr) return {};
    SpinLimit deadline(kWaitLimit);
    for (int done = 0; done == 0;) {
        const ncclResult_t result = table_.test(group_.get(), request, &done);
        if (result != ncclSuccess) return call_failed(result, "test");
        if (deadline.passed()) return fail(Errc::timed_out, "test");
    }
    request = nullptr;
    return {};
}

Status RmaEnd::wait_signals(std::uint64_t count) {
    signals_taken_ += count;
    SpinLimit deadline(kWaitLimit);
    while (std::atomic_ref(signals_[0]).load(std::memory_order_acquire) < signals_taken_) {
        const ncclResult_t result = table_.progress(context_.get());
        if (result != ncclSuccess) return call_failed(result, "rmaProgress");
        if (deadline.passed()) return fail(Errc::timed_out, "arrival of signals");
    }
    return {};
}

/// Both halves of a ping-pong: who begins sends before it waits.
Status RmaDriver::bounce(const Workload& work, bool first) {
    for (std::uint32_t i = 0; i < work.iterations; ++i) {
        if (!first) DUOFI_TRY(end_.wait_signals(1));
        DUOFI_TRY(end_.post(requests_[0], operation_, buffer_offset(work, i), work.bytes));
        if (first) DUOFI_TRY(end_.wait_signals(1));
        DUOFI_TRY(end_.finish(requests_[0]));
    }
    return {};
}

Status RmaDriver::lead(const Workload& work) {
    if (work.shape == Shape::ping_pong) return bounce(work, true);
    for (std::uint32_t i = 0; i < work.iterations; ++i) {
        void*& request = requests_[i % work.window];
        DUOFI_TRY(end_.finish(request));
        DUOFI_TRY(end_.post(request, operation_, buffer_offset(work, i), work.bytes));
    }
    for (void*& request : requests_) DUOFI_TRY(end_.finish(request));
    if (operation_ == OneSided::put_signal) return {};
    void* end = nullptr;
    DUOFI_TRY(end_.post(end, OneSided::put_signal, kAckOffset, kAckBytes));
    return end_.finish(end);
}

Status RmaDriver::follow(const Workload& work) {
    if (work.shape == Shape::ping_pong) return bounce(work, false);
    return end_.wait_signals(operation_ == OneSided::put_signal ? work.iterations : 1);
}

}  // namespace duofi::tool
