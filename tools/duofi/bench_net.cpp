#include "tools/duofi/bench_net.hpp"

#include <algorithm>

namespace duofi::tool {
namespace {

constexpr int kTag = 0;

}  // namespace

NetDriver::NetDriver(const ncclNet_v6_t* net, loader::NetClient::Pair pair,
                     const BenchMemory& memory)
    : net_(net), pair_(std::move(pair)), memory_(memory) {}

Result<std::unique_ptr<NetDriver>> NetDriver::open(const ncclNet_v6_t* net,
                                                   loader::NetClient::Pair pair,
                                                   const BenchMemory& memory) {
    std::unique_ptr<NetDriver> self(new NetDriver(net, std::move(pair), memory));
    const loader::NetClient client(net);
    auto tx = client.register_memory(self->pair_.send, memory.tx);
    if (!tx) return call_failed(tx.error().result, "regMr");
    auto rx = client.register_memory(self->pair_.recv, memory.rx);
    if (!rx) return call_failed(rx.error().result, "regMr");
    self->tx_region_ = std::move(*tx);
    self->rx_region_ = std::move(*rx);
    return self;
}

Status NetDriver::post_send(void*& request, std::size_t offset, std::size_t bytes) {
    SpinLimit deadline(kWaitLimit);
    request = nullptr;
    for (;;) {
        const ncclResult_t result =
            net_->isend(pair_.send.get(), memory_.tx.data() + offset, static_cast<int>(bytes), kTag,
                        tx_region_.get(), &request);
        if (result != ncclSuccess) return call_failed(result, "isend");
        if (request) return {};  // NULL = could not post now (net contract 3.4)
        if (deadline.passed()) return fail(Errc::timed_out, "isend");
    }
}

Status NetDriver::post_receive(void*& request, std::size_t offset, std::size_t bytes) {
    SpinLimit deadline(kWaitLimit);
    void* data = memory_.rx.data() + offset;
    int size = static_cast<int>(bytes), tag = kTag;
    void* region = rx_region_.get();
    request = nullptr;
    for (;;) {
        const ncclResult_t result =
            net_->irecv(pair_.recv.get(), 1, &data, &size, &tag, &region, &request);
        if (result != ncclSuccess) return call_failed(result, "irecv");
        if (request) return {};
        if (deadline.passed()) return fail(Errc::timed_out, "irecv");
    }
}

Status NetDriver::finish(void*& request, const char* what) {
    if (!request) return {};
    SpinLimit deadline(kWaitLimit);
    int done = 0, size = 0;
    while (!done) {
        const ncclResult_t result = net_->test(request, &done, &size);
        if (result != ncclSuccess) return call_failed(result, what);
        if (deadline.passed()) return fail(Errc::timed_out, what);
    }
    request = nullptr;
    return {};
}

Status NetDriver::prepare(const Workload& work) {
    const std::uint32_t first = std::min(work.window, work.iterations);
    for (std::uint32_t i = 0; i < first; ++i)
        DUOFI_TRY(post_receive(requests_[i], buffer_offset(work, i), work.bytes));
    return {};
}

Status NetDriver::lead_ping_pong(const Workload& work) {
    void* receive = nullptr;
    void* send = nullptr;
    for (std::uint32_t i = 0; i < work.iterations; ++i) {
        DUOFI_TRY(post_receive(receive, 0, work.bytes));
        DUOFI_TRY(post_send(send, 0, work.bytes));
        DUOFI_TRY(finish(receive, "test of a receive"));
        DUOFI_TRY(finish(send, "test of a send"));
    }
    return {};
}

Status NetDriver::follow_ping_pong(const Workload& work) {
    void* send = nullptr;
    for (std::uint32_t i = 0; i < work.iterations; ++i) {
        DUOFI_TRY(finish(requests_[0], "test of a receive"));
        if (i + 1 < work.iterations) DUOFI_TRY(post_receive(requests_[0], 0, work.bytes));
        DUOFI_TRY(post_send(send, 0, work.bytes));
        DUOFI_TRY(finish(send, "test of a send"));
    }
    return {};
}

Status NetDriver::lead(const Workload& work) {
    if (work.shape == Shape::ping_pong) return lead_ping_pong(work);
    void* ack = nullptr;
    DUOFI_TRY(post_receive(ack, kAckOffset, kAckBytes));
    for (std::uint32_t i = 0; i < work.iterations; ++i) {
        void*& request = requests_[i % work.window];
        DUOFI_TRY(finish(request, "test of a send"));
        DUOFI_TRY(post_send(request, buffer_offset(work, i), work.bytes));
    }
    for (void*& request : requests_) DUOFI_TRY(finish(request, "test of a send"));
    return finish(ack, "test of the acknowledgement");
}

Status NetDriver::follow(const Workload& work) {
    if (work.shape == Shape::ping_pong) return follow_ping_pong(work);
    for (std::uint32_t i = 0; i < work.iterations; ++i) {
        void*& request = requests_[i % work.window];
        DUOFI_TRY(finish(request, "test of a receive"));
        const std::uint32_t next = i + work.window;
        if (next < work.iterations)
            DUOFI_TRY(post_receive(request, buffer_offset(work, next), work.bytes));
    }
    void* ack = nullptr;
    DUOFI_TRY(post_send(ack, kAckOffset, kAckBytes));
    return finish(ack, "test of the acknowledgement");
}

}  // namespace duofi::tool
