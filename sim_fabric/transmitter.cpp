#include "sim_fabric/transmitter.hpp"

#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "sim_fabric/endpoint.hpp"

namespace duofi::sim {
namespace {

constexpr Nanoseconds kCheckInterval = 100 * kMillisecond;  // is a peer that owes an answer still there?
constexpr Nanoseconds kLastWords = 50 * kMillisecond;       // what a peer sent before it went still counts
constexpr std::size_t kHeadOnWire = 64;                     // bytes that each packet costs on a modelled link

struct OfKind {
    Site site;
    std::uint64_t flags;
};

OfKind of_kind(Kind kind, std::uint8_t head_flags) noexcept {
    switch (kind) {
        case Kind::message: return {Site::sent, FI_SEND | FI_MSG};
        case Kind::tagged: return {Site::sent, FI_SEND | FI_TAGGED};
        case Kind::read: return {Site::read_done, FI_READ | FI_RMA};
        case Kind::atomic: return {Site::atomic_done, FI_ATOMIC | ((head_flags & kFetches) != 0 ? FI_READ : FI_WRITE)};
        default: return {Site::written, FI_WRITE | FI_RMA};
    }
}

}  // namespace

Transmitter::Link& Transmitter::link_to(const Name& name) { return links_.try_emplace(name, Link{name}).first->second; }

ssize_t Transmitter::refuse(const Post& post, const Link& link) {
    const fi_info& limits = endpoint_.limits();
    if (post.bytes > limits.ep_attr->max_msg_size) return -FI_EMSGSIZE;
    const bool copies = (post.flags & FI_INJECT) != 0 && post.head.kind != Kind::atomic;
    if (copies && post.bytes > limits.tx_attr->inject_size) return -FI_EMSGSIZE;
    if (operations_.size() >= limits.tx_attr->size) return -FI_EAGAIN;
    if (knobs().credits != 0 && link.in_flight >= knobs().credits) return -FI_EAGAIN;
    return endpoint_.chance().below(1000) < knobs().again_permille ? -FI_EAGAIN : 0;
}

ssize_t Transmitter::post(const Post& post) {
    const Name to = endpoint_.name_of(post.to);
    if (to.empty()) return -FI_EINVAL;
    Link& link = link_to(to);
    if (const ssize_t code = refuse(post, link); code != 0) return code;
    const bool reads = post.head.kind == Kind::read;
    const std::uint64_t id = ++next_;
    auto* data = static_cast<std::byte*>(post.data);
    operations_[id] = {post.head.kind, !post.silent, of_kind(post.head.kind, post.head.flags).flags, post.context, &link,
                       reads ? data : static_cast<std::byte*>(post.old_values), post.bytes, 0};
    ++link.in_flight;
    Job job{post.head, data, post.descriptor};
    job.head.op = id;
    job.head.total = post.bytes;
    if ((post.flags & FI_REMOTE_CQ_DATA) != 0) job.head.flags |= kCarriesData;
    if ((post.flags & FI_DELIVERY_COMPLETE) != 0) job.head.flags |= kWhenPlaced;
    if ((post.flags & FI_FENCE) != 0) job.head.flags |= kFenced;
    if ((post.flags & FI_INJECT) != 0) job.owned.assign(data, data + post.bytes);
    enqueue(link, std::move(job));
    return 0;
}

void Transmitter::answer(const Name& to, std::uint64_t op, int error, int provider_error) {
    Job job{};
    job.head.op = op;
    job.head.error = error;
    job.head.provider_error = provider_error;
    enqueue(link_to(to), std::move(job));
}

void Transmitter::answer_read(const Name& to, const Head& request) {
    Job job{request};
    job.head.kind = Kind::read_data;
    enqueue(link_to(to), std::move(job));
}

void Transmitter::answer_atomic(const Name& to, std::uint64_t op, std::vector<std::byte> old_values) {
    Job job{};
    job.head.kind = Kind::atomic_reply;
    job.head.op = op;
    job.head.total = old_values.size();
    job.owned = std::move(old_values);
    enqueue(link_to(to), std::move(job));
}

void Transmitter::on_data(const Packet& packet) {
    const auto known = operations_.find(packet.head.op);
    if (known == operations_.end()) return;
    Operation& operation = known->second;
    const std::size_t offset = packet.head.offset, bytes = packet.payload.size();
    if (bytes != 0 && offset <= operation.into_bytes && bytes <= operation.into_bytes - offset)
        std::memcpy(operation.into + offset, packet.payload.data(), bytes);
    operation.received += bytes;
    if (operation.received >= packet.head.total) finish(packet.head.op, 0, 0);
}

void Transmitter::finish(std::uint64_t id, int error, int provider_error) {
    const auto known = operations_.find(id);
    if (known == operations_.end()) return;
    const Operation operation = known->second;
    operations_.erase(known);
    --operation.link->in_flight;
    if (const int forced = faults().reach(of_kind(operation.kind, 0).site); error == 0) error = forced;
    if (!operation.report && error == 0) return;
    Completion completion;
    completion.entry.op_context = operation.context;
    completion.entry.flags = operation.flags;
    completion.error = error;
    completion.provider_error = provider_error;
    endpoint_.tx_queue().write(completion);
}

void Transmitter::enqueue(Link& link, Job job) {
    link.jobs.push_back(std::move(job));
    ++pending_;
    if (link.jobs.size() == 1) push(link, now_ns());
}

void Transmitter::progress(Nanoseconds now) {
    for (auto& [name, link] : links_) {
        if (!link.jobs.empty()) push(link, now);
        if (link.in_flight != 0 || link.lost_at != 0) watch(link, now);
    }
}

void Transmitter::push(Link& link, Nanoseconds now) {
    if (link.lost_at != 0 || !connect(link, now)) return;
    while (!link.jobs.empty()) {
        Job& job = link.jobs.front();
        const Pushed pushed = push_part(link, job, now);
        if (pushed == Pushed::closed) link.lost_at = now;
        if (pushed != Pushed::yes) return;
        if (job.sent < job.head.total && job.head.kind != Kind::read) continue;
        link.jobs.pop_front();
        --pending_;
    }
}

// Memory that a peer reads and that is not registered any more ends the answer with an error. So does own memory that
// the descriptor does not cover (any more); the parts that the peer may have are never completed.
Pushed Transmitter::push_part(Link& link, Job& job, Nanoseconds now) {
    Head head = job.head;
    const unsigned nic = endpoint_.domain().nic();
    const std::size_t bytes = head.kind == Kind::read ? 0 : std::min(head.total - job.sent, kPart);
    head.offset = job.sent;
    head.due = arrival_time(nic, bytes + kHeadOnWire, now);
    Pushed pushed = Pushed::full;
    if (head.kind == Kind::read_data) {
        const bool there = endpoint_.domain().with_memory(
            head.key, head.address + job.sent, bytes, FI_REMOTE_READ, &endpoint_.fid,
            [&](std::byte* memory) { pushed = link.outlet->push(head, {memory, bytes}); });
        if (!there) {
            const Failure failure = endpoint_.personality().bad_key;
            job = Job{};
            job.head.op = head.op;
            job.head.error = failure.error;
            job.head.provider_error = failure.provider_error;
            return push_part(link, job, now);
        }
    } else {
        const std::byte* data = job.owned.empty() ? job.data : job.owned.data();
        const bool own = !job.owned.empty() || head.kind > Kind::atomic;
        if (!own && !endpoint_.domain().allows(job.descriptor, data, head.total)) {
            const Failure failure = endpoint_.personality().no_local_key;
            finish(head.op, failure.error, failure.provider_error);
            job.sent = head.total;
            return Pushed::yes;
        }
        pushed = link.outlet->push(head, {data + job.sent, bytes});
    }
    if (pushed != Pushed::yes) return pushed;
    job.sent += bytes;
    book_departure(nic, bytes + kHeadOnWire, now);
    if (link.outlet->must_ring()) endpoint_.port().ring(link.to);
    return pushed;
}

bool Transmitter::connect(Link& link, Nanoseconds now) {
    if (link.outlet) return true;
    const Reached reached = endpoint_.port().connect(link.to, link.outlet);
    if (reached == Reached::nobody) link.lost_at = std::max<Nanoseconds>(now - kSecond, 1);  // without last words
    return reached == Reached::yes;
}

void Transmitter::watch(Link& link, Nanoseconds now) {
    if (link.lost_at != 0) {
        const auto latency = static_cast<Nanoseconds>(knobs().latency_us * 2 * kMicrosecond);
        if (now - link.lost_at > kLastWords + latency) lose(link);
        return;
    }
    if (link.checked_at == 0) link.checked_at = now;
    if (now - link.checked_at < kCheckInterval) return;
    link.checked_at = now;
    if (link.outlet && endpoint_.port().ring(link.to) == Reached::nobody) link.lost_at = now;
}

std::vector<std::uint64_t> Transmitter::operations_on(const Link* link) const {
    std::vector<std::uint64_t> ids;
    for (const auto& [id, operation] : operations_)
        if (link == nullptr || operation.link == link) ids.push_back(id);
    std::sort(ids.begin(), ids.end());
    return ids;
}

// Its operations fail. A later one asks anew whether somebody is there.
void Transmitter::lose(Link& link) {
    const Failure failure = endpoint_.personality().unreachable;
    pending_ -= link.jobs.size();
    link.jobs.clear();
    link.outlet.reset();
    link.lost_at = link.checked_at = 0;
    for (const std::uint64_t id : operations_on(&link)) finish(id, failure.error, failure.provider_error);
}

void Transmitter::end_all(int error, Nanoseconds late_at) {
    for (const std::uint64_t id : operations_on(nullptr)) {
        const Operation operation = operations_.at(id);
        if (error != 0) finish(id, error, 0);
        if (late_at == 0 || !operation.report) continue;
        Completion completion;
        completion.entry.op_context = operation.context;
        completion.entry.flags = operation.flags;
        endpoint_.tx_queue().write(completion, late_at);
    }
    operations_.clear();
    links_.clear();
    pending_ = 0;
}

}  // namespace duofi::sim
