#include "sim_fabric/receiver.hpp"

#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "sim_fabric/atomics.hpp"
#include "sim_fabric/endpoint.hpp"

namespace duofi::sim {
namespace {

constexpr int kMostPerPass = 256;  // packets, so that a caller gets its lock back

std::uint64_t receive_flags(bool tagged) noexcept { return FI_RECV | (tagged ? FI_TAGGED : FI_MSG); }

bool matches(const Receive& receive, const Head& head) noexcept {
    return receive.tagged == (head.kind == Kind::tagged) &&
           (!receive.tagged || ((receive.tag ^ head.tag) & ~receive.ignore) == 0);
}

}  // namespace

void Receiver::add(Name from, Inlet inlet) {
    flows_.push_back(std::make_unique<Flow>(Flow{std::move(from), std::move(inlet), Order(order_)}));
}

bool Receiver::progress(Nanoseconds now) {
    int delivered = 0;
    const auto go_on = [&] { return delivered < kMostPerPass && endpoint_.may_deliver(); };
    while (go_on() && !waiting_.empty() && waiting_.begin()->first <= now) {
        Arrival arrival = std::move(waiting_.begin()->second);
        waiting_.erase(waiting_.begin());
        --arrival.flow->waiting;
        deliver(*arrival.flow, arrival.packet);
        ++delivered;
    }
    for (std::size_t i = 0; i < flows_.size() && !endpoint_.stopped(); ++i) {
        Flow& flow = *flows_[i];
        while (go_on()) {
            std::optional<Packet> packet = flow.inlet.pop();
            if (!packet) break;
            ++delivered;
            arrive(flow, std::move(*packet), now);
        }
        if (flow.waiting != 0 || !flow.inlet.ended()) continue;
        end_flow(flow);
        flows_.erase(flows_.begin() + static_cast<std::ptrdiff_t>(i--));
    }
    return delivered != 0;
}

bool Receiver::fall_asleep() noexcept {
    for (const auto& flow : flows_) flow->inlet.fall_asleep();
    return std::all_of(flows_.begin(), flows_.end(), [](const auto& flow) { return flow->inlet.empty(); });
}

void Receiver::arrive(Flow& flow, Packet packet, Nanoseconds now) {
    const Admitted admitted = endpoint_.admit(packet);
    if (admitted == Admitted::lost) return;
    const auto spread = static_cast<std::uint64_t>(knobs().reorder_us * kMicrosecond);
    Nanoseconds at = packet.head.due;
    if (spread != 0 && packet.head.kind <= Kind::atomic)
        at = std::max(at, now) + static_cast<Nanoseconds>(endpoint_.chance().below(spread + 1));
    at = flow.order.place(packet.head.kind, (packet.head.flags & kFenced) != 0, at);
    if (at <= now) deliver(flow, packet);
    const int copies = (at > now ? 1 : 0) + (admitted == Admitted::twice ? 1 : 0);
    for (int copy = 0; copy < copies; ++copy) {
        ++flow.waiting;
        waiting_.emplace(std::max(at, now), Arrival{&flow, packet});
    }
}

void Receiver::deliver(Flow& flow, Packet& packet) {
    Transmitter& transmitter = endpoint_.transmitter();
    const Head& head = packet.head;
    switch (head.kind) {
        case Kind::message:
        case Kind::tagged: return on_message(flow, packet);
        case Kind::write: return on_write(flow, packet);
        case Kind::read:
            if (!endpoint_.domain().with_memory(head.key, head.address, head.total, FI_REMOTE_READ, &endpoint_.fid,
                                                [](std::byte*) {}))
                return refuse(flow.from, head);
            return transmitter.answer_read(flow.from, head);
        case Kind::atomic: return on_atomic(flow, packet);
        case Kind::read_data:
        case Kind::atomic_reply: return transmitter.on_data(packet);
        case Kind::ack: return transmitter.on_ack(head);
    }
}

void Receiver::refuse(const Name& to, const Head& head) {
    const Failure failure = endpoint_.personality().bad_key;
    endpoint_.transmitter().answer(to, head.op, failure.error, failure.provider_error);
}

void Receiver::fail(const Receive& receive, Failure failure) {
    Completion completion;
    completion.entry.op_context = receive.context;
    completion.entry.flags = receive_flags(receive.tagged);
    completion.error = failure.error;
    completion.provider_error = failure.provider_error;
    endpoint_.rx_queue().write(completion);
}

void Receiver::on_write(Flow& flow, const Packet& packet) {
    const Head& head = packet.head;
    const std::size_t bytes = packet.payload.size();
    Partial& partial = flow.writes[head.op];
    partial.received += bytes;
    const bool placed = endpoint_.domain().with_memory(
        head.key, head.address + head.offset, bytes, FI_REMOTE_WRITE, &endpoint_.fid, [&](std::byte* memory) {
            if (bytes != 0) std::memcpy(memory, packet.payload.data(), bytes);
        });
    partial.good = partial.good && placed;
    if (partial.received < head.total) return;
    const bool good = partial.good;
    flow.writes.erase(head.op);
    if (!good) return refuse(flow.from, head);
    if ((head.flags & kCarriesData) != 0) tell_remote_write(flow.from, head);
    endpoint_.transmitter().answer(flow.from, head.op);
}

// With remote CQ data (fi_cq(3)): flags, length and data are valid. Where the device needs a receive for it
// (FI_RX_CQ_DATA), the oldest one is used up.
void Receiver::tell_remote_write(const Name& from, const Head& head) {
    Completion completion;
    if (endpoint_.personality().data_takes_receive) {
        if (posted_[0].empty()) return static_cast<void>(writes_without_receive_.emplace_back(from, head));
        completion.entry.op_context = posted_[0].front().context;
        posted_[0].pop_front();
    }
    completion.entry.flags = FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA;
    completion.entry.len = head.total;
    completion.entry.data = head.data;
    completion.source = endpoint_.source_of(from);
    completion.error = faults().reach(Site::remote_write);
    endpoint_.rx_queue().write(completion);
}

void Receiver::on_atomic(Flow& flow, const Packet& packet) {
    const Head& head = packet.head;
    const auto datatype = static_cast<fi_datatype>(head.datatype);
    const std::size_t size = atomic_size(datatype), bytes = packet.payload.size();
    std::vector<std::byte> old(bytes);
    bool done = false;
    const bool there = size != 0 && endpoint_.domain().with_memory(
        head.key, head.address, bytes, FI_REMOTE_WRITE, &endpoint_.fid, [&](std::byte* memory) {
            done = apply_atomic(static_cast<fi_op>(head.atomic_op), datatype, memory, packet.payload.data(), old.data(),
                                bytes / size);
        });
    if (!there || !done) return refuse(flow.from, head);
    if ((head.flags & kFetches) != 0)
        endpoint_.transmitter().answer_atomic(flow.from, head.op, std::move(old));
    else
        endpoint_.transmitter().answer(flow.from, head.op);
}

void Receiver::on_message(Flow& flow, const Packet& packet) {
    const Head& head = packet.head;
    const auto [known, first] = flow.messages.try_emplace(head.op, messages_.end());
    if (first) {
        known->second = messages_.insert(messages_.end(), Message{head, flow.from});
        if (!match(*known->second)) known->second->buffer.resize(head.total);
    }
    const Messages::iterator message = known->second;
    take_bytes(*message, head.offset, packet.payload.data(), packet.payload.size());
    message->received += packet.payload.size();
    if (message->received < head.total) return;
    flow.messages.erase(known);
    if (message->matched) {
        finish(*message);
        messages_.erase(message);
    } else if ((head.flags & kWhenPlaced) == 0) {  // arrived as a whole: enough for the sender
        endpoint_.transmitter().answer(flow.from, std::exchange(message->head.op, 0));
    }
}

bool Receiver::match(Message& message) {
    std::deque<Receive>& queue = posted_[message.head.kind == Kind::tagged ? 1 : 0];
    const auto found = std::find_if(queue.begin(), queue.end(), [&](const Receive& each) { return matches(each, message.head); });
    if (found == queue.end()) return false;
    message.receive = *found;
    message.matched = true;
    queue.erase(found);
    return true;
}

// What does not fit is cut off.
void Receiver::take_bytes(Message& message, std::size_t offset, const std::byte* data, std::size_t bytes) {
    const Receive& receive = message.receive;
    std::byte* to = message.matched ? receive.data : message.buffer.data();
    const std::size_t room = message.matched ? receive.bytes : message.buffer.size();
    if (message.matched && !endpoint_.domain().allows(receive.descriptor, to, room)) message.good = false;
    if (message.good && bytes != 0 && offset < room) std::memcpy(to + offset, data, std::min(bytes, room - offset));
}

void Receiver::finish(Message& message) {
    const Receive& receive = message.receive;
    const Head& head = message.head;
    Completion completion;
    fi_cq_tagged_entry& entry = completion.entry;
    entry.op_context = receive.context;
    entry.flags = receive_flags(receive.tagged) | ((head.flags & kCarriesData) != 0 ? FI_REMOTE_CQ_DATA : 0);
    entry.buf = receive.data;
    entry.len = std::min<std::size_t>(head.total, receive.bytes);
    entry.tag = head.tag;
    entry.data = head.data;
    completion.source = endpoint_.source_of(message.from);
    if (head.total > receive.bytes) {
        completion.error = FI_ETRUNC;
        completion.cut_off = head.total - receive.bytes;
    }
    if (!message.good) {
        completion.error = endpoint_.personality().no_local_key.error;
        completion.provider_error = endpoint_.personality().no_local_key.provider_error;
    }
    if (const int forced = faults().reach(Site::received); forced != 0) completion.error = forced;
    endpoint_.rx_queue().write(completion);
    if (head.op != 0) endpoint_.transmitter().answer(message.from, head.op);
}

void Receiver::post(const Receive& receive) {
    posted_[receive.tagged ? 1 : 0].push_back(receive);
    if (!receive.tagged && !writes_without_receive_.empty()) {
        const auto [from, head] = writes_without_receive_.front();
        writes_without_receive_.pop_front();
        return tell_remote_write(from, head);
    }
    const auto early = std::find_if(messages_.begin(), messages_.end(), [&](const Message& message) {
        return !message.matched && matches(receive, message.head);
    });
    if (early == messages_.end() || !match(*early)) return;
    const std::vector<std::byte> buffer = std::exchange(early->buffer, {});
    take_bytes(*early, 0, buffer.data(), buffer.size());  // parts that are still to come are written again
    if (early->received < early->head.total) return;
    finish(*early);
    messages_.erase(early);
}

void Receiver::cancel(void* context) {
    for (std::deque<Receive>& queue : posted_) {
        const auto found = std::find_if(queue.begin(), queue.end(), [&](const Receive& each) { return each.context == context; });
        if (found == queue.end()) continue;
        fail(*found, {FI_ECANCELED, 0});
        queue.erase(found);
        return;
    }
}

// The sender is gone: what it had begun never becomes whole.
void Receiver::end_flow(Flow& flow) {
    for (const auto& [id, message] : flow.messages) {
        if (message->matched) fail(message->receive, endpoint_.personality().unreachable);
        messages_.erase(message);
    }
}

void Receiver::end_all() {
    waiting_.clear();
    flows_.clear();
    messages_.clear();
    for (std::deque<Receive>& queue : posted_) queue.clear();
    writes_without_receive_.clear();
}

}  // namespace duofi::sim
