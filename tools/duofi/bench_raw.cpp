#include "tools/duofi/bench_raw.hpp"

#include <algorithm>

namespace duofi::tool {
namespace {

constexpr std::uint64_t kMessageTag = 1;
constexpr std::uint64_t kAckTag = 2;

/// Messages per acknowledgement.
std::uint32_t chunk_of(const Workload& work) {
    return std::max(1u, work.window / 2);
}

std::uint32_t ack_count(const Workload& work) {
    return (work.iterations + chunk_of(work) - 1) / chunk_of(work);
}

unsigned ack_slot(std::uint32_t index) {
    return kWidestWindow + index % kAckSlots;
}

std::size_t ack_offset(std::uint32_t index) {
    return kAckOffset + index % kAckSlots * kAckBytes;
}

}  // namespace

Status RawDriver::post_ack_receive(std::uint32_t index) {
    return endpoint_.post_receive(ack_slot(index), ack_offset(index), kAckBytes, kAckTag);
}

Status RawDriver::send_ack(std::uint32_t index) {
    DUOFI_TRY(endpoint_.wait_send(ack_slot(index)));
    return endpoint_.post_send(ack_slot(index), ack_offset(index), kAckBytes, kAckTag);
}

Status RawDriver::lead(const Workload& work) {
    const std::uint32_t chunk = chunk_of(work), acks = ack_count(work);
    std::uint32_t taken = 0;
    const auto take_ack = [&]() -> Status {
        DUOFI_TRY(endpoint_.wait_receive(ack_slot(taken)));
        if (taken + kAckSlots < acks) DUOFI_TRY(post_ack_receive(taken + kAckSlots));
        ++taken;
        return {};
    };
    for (std::uint32_t i = 0; i < std::min(kAckSlots, acks); ++i) DUOFI_TRY(post_ack_receive(i));
    for (std::uint32_t i = 0; i < work.iterations; ++i) {
        if (i - taken * chunk >= work.window) DUOFI_TRY(take_ack());
        const unsigned slot = i % work.window;
        DUOFI_TRY(endpoint_.wait_send(slot));
        DUOFI_TRY(post_message(slot, i, work));
    }
    for (unsigned slot = 0; slot < work.window; ++slot) DUOFI_TRY(endpoint_.wait_send(slot));
    while (taken < acks) DUOFI_TRY(take_ack());
    return {};
}

Status RawDriver::follow(const Workload& work) {
    const std::uint32_t chunk = chunk_of(work);
    std::uint32_t acks = 0;
    for (std::uint32_t i = 0; i < work.iterations; ++i) {
        DUOFI_TRY(take_message(i, work));
        if ((i + 1) % chunk == 0 || i + 1 == work.iterations) DUOFI_TRY(send_ack(acks++));
    }
    for (unsigned i = 0; i < kAckSlots; ++i) DUOFI_TRY(endpoint_.wait_send(ack_slot(i)));
    return {};
}

Status TaggedDriver::prepare(const Workload& work) {
    const std::uint32_t first = std::min(work.window, work.iterations);
    for (std::uint32_t i = 0; i < first; ++i)
        DUOFI_TRY(endpoint_.post_receive(i, buffer_offset(work, i), work.bytes, kMessageTag));
    return {};
}

Status TaggedDriver::post_message(unsigned slot, std::uint32_t iteration, const Workload& work) {
    return endpoint_.post_send(slot, buffer_offset(work, iteration), work.bytes, kMessageTag);
}

Status TaggedDriver::take_message(std::uint32_t iteration, const Workload& work) {
    const unsigned slot = iteration % work.window;
    DUOFI_TRY(endpoint_.wait_receive(slot));
    const std::uint32_t next = iteration + work.window;
    if (next >= work.iterations) return {};
    return endpoint_.post_receive(slot, buffer_offset(work, next), work.bytes, kMessageTag);
}

Status TaggedDriver::lead(const Workload& work) {
    return work.shape == Shape::ping_pong ? lead_ping_pong(work) : RawDriver::lead(work);
}

Status TaggedDriver::follow(const Workload& work) {
    return work.shape == Shape::ping_pong ? follow_ping_pong(work) : RawDriver::follow(work);
}

Status TaggedDriver::lead_ping_pong(const Workload& work) {
    for (std::uint32_t i = 0; i < work.iterations; ++i) {
        DUOFI_TRY(endpoint_.post_receive(0, 0, work.bytes, kMessageTag));
        DUOFI_TRY(endpoint_.post_send(0, 0, work.bytes, kMessageTag));
        DUOFI_TRY(endpoint_.wait_receive(0));
        DUOFI_TRY(endpoint_.wait_send(0));
    }
    return {};
}

Status TaggedDriver::follow_ping_pong(const Workload& work) {
    for (std::uint32_t i = 0; i < work.iterations; ++i) {
        DUOFI_TRY(endpoint_.wait_receive(0));
        if (i + 1 < work.iterations)
            DUOFI_TRY(endpoint_.post_receive(0, 0, work.bytes, kMessageTag));
        DUOFI_TRY(endpoint_.post_send(0, 0, work.bytes, kMessageTag));
        DUOFI_TRY(endpoint_.wait_send(0));
    }
    return {};
}

Status WriteDriver::post_message(unsigned slot, std::uint32_t iteration, const Workload& work) {
    return endpoint_.post_write(slot, buffer_offset(work, iteration), work.bytes, work.bytes);
}

Status WriteDriver::take_message(std::uint32_t, const Workload&) {
    DUOFI_TRY(endpoint_.wait_writes(1));
    endpoint_.take_writes(1);
    return {};
}

}  // namespace duofi::tool
