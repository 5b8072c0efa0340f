#include "sim_fabric/endpoint.hpp"

#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "sim_fabric/nic_thread.hpp"

namespace duofi::sim {

Endpoint::Endpoint(Domain& domain, const fi_info& info)
    : fid_ep{},
      domain_(domain),
      tx_(*info.tx_attr),
      rx_(*info.rx_attr),
      shape_(*info.ep_attr),
      chance_(next_endpoint_seed()),
      transmitter_(*this),
      receiver_(*this, info.rx_attr->msg_order) {
    limits_.caps = info.caps;
    limits_.tx_attr = &tx_;
    limits_.rx_attr = &rx_;
    limits_.ep_attr = &shape_;
    domain_.add_object();
}

int Endpoint::open(fid_domain* domain, fi_info* info, fid_ep** endpoint, void* context) {
    if (const int code = failing(Site::endpoint); code != 0) return code;
    static fi_ops base = object_ops(close, bind, control);
    static auto ops = [] {
        auto made = refusing<fi_ops_ep, &fi_ops_ep::tx_ctx, &fi_ops_ep::rx_ctx, &fi_ops_ep::rx_size_left, &fi_ops_ep::tx_size_left>();
        made.cancel = cancel;
        made.getopt = getopt;
        made.setopt = setopt;
        return made;
    }();
    static auto cm = [] {
        auto made = refusing<fi_ops_cm, &fi_ops_cm::setname, &fi_ops_cm::getpeer, &fi_ops_cm::connect, &fi_ops_cm::listen,
                             &fi_ops_cm::accept, &fi_ops_cm::reject, &fi_ops_cm::shutdown, &fi_ops_cm::join>();
        made.getname = getname;
        return made;
    }();
    std::unique_ptr<Endpoint> made(new Endpoint(*static_cast<Domain*>(domain), *info));
    made->fid = {FI_CLASS_EP, context, &base};
    made->ops = &ops;
    made->cm = &cm;
    add_post_calls(*made);
    *endpoint = made.release();
    return 0;
}

// What is under way is dropped, but for answers to peers, which get a moment to leave.
int Endpoint::close(Fid* object) {
    constexpr Nanoseconds kPatience = 20 * kMillisecond;
    const std::unique_ptr<Endpoint> self(&of(object));
    nic_remove(*self);
    for (CompletionQueue* queue : {self->tx_queue_, self->rx_queue_})
        if (queue != nullptr) queue->remove(*self);
    const Deadline deadline(kPatience);
    while (!self->dead_ && self->transmitter_.anything_to_push() && !deadline.passed()) self->transmitter_.progress(now_ns());
    const auto late = static_cast<Nanoseconds>(knobs().late_ms) * kMillisecond;
    self->transmitter_.end_all(0, late != 0 ? now_ns() + late : 0);
    self->domain_.remove_object();
    return 0;
}

int Endpoint::bind(Fid* object, Fid* to, std::uint64_t flags) {
    if (const int code = failing(Site::ep_bind); code != 0) return code;
    Endpoint& self = of(object);
    if (to->fclass == FI_CLASS_AV) {
        self.av_ = static_cast<AddressVector*>(reinterpret_cast<fid_av*>(to));
        return 0;
    }
    if (to->fclass != FI_CLASS_CQ || (flags & ~(FI_TRANSMIT | FI_RECV)) != 0) return -FI_EINVAL;
    auto* queue = static_cast<CompletionQueue*>(reinterpret_cast<fid_cq*>(to));
    if ((flags & FI_TRANSMIT) != 0) self.tx_queue_ = queue;
    if ((flags & FI_RECV) != 0) self.rx_queue_ = queue;
    queue->add(self);
    return 0;
}

int Endpoint::control(Fid* object, int command, void*) {
    Endpoint& self = of(object);
    if (command != FI_ENABLE) return -FI_ENOSYS;
    if (const int code = failing(Site::enable); code != 0) return code;
    if (self.av_ == nullptr) return -FI_ENOAV;
    if (self.tx_queue_ == nullptr || self.rx_queue_ == nullptr) return -FI_ENOCQ;
    const std::scoped_lock lock(self.mutex_);
    if (const int code = self.port_.open(self.personality(), self.domain_.nic()); code != 0) return code;
    return nic_add(self);
}

int Endpoint::getname(Fid* object, void* name, std::size_t* bytes) {
    if (const int code = failing(Site::getname); code != 0) return code;
    const Name& own = of(object).port_.name();
    if (own.empty()) return -FI_EOPBADSTATE;
    std::memcpy(name, own.data(), std::min(*bytes, own.size()));
    const std::size_t room = std::exchange(*bytes, own.size());
    return room >= own.size() ? 0 : -FI_ETOOSMALL;
}

// fi_endpoint(3): an operation that cannot be cancelled completes as usual.
ssize_t Endpoint::cancel(Fid* object, void* context) {
    if (const int code = failing(Site::cancel); code != 0) return code;
    const std::scoped_lock lock(of(object).mutex_);
    of(object).receiver_.cancel(context);
    return 0;
}

ssize_t Endpoint::transmit(Site site, const Post& post) noexcept {
    if (const int code = failing(site); code != 0) return code;
    const std::scoped_lock lock(mutex_);
    if (port_.name().empty()) return -FI_EOPBADSTATE;
    return dead_ ? -FI_EAGAIN : transmitter_.post(post);
}

ssize_t Endpoint::receive(Site site, const Receive& receive) noexcept {
    if (const int code = failing(site); code != 0) return code;
    const std::scoped_lock lock(mutex_);
    if (port_.name().empty()) return -FI_EOPBADSTATE;
    if (receiver_.posted() >= rx_.size) return -FI_EAGAIN;
    receiver_.post(receive);
    return 0;
}

fi_addr_t Endpoint::source_of(const Name& name) const {
    return (limits_.caps & FI_SOURCE) != 0 ? av_->find(name) : FI_ADDR_NOTAVAIL;
}

void Endpoint::progress_by_caller() noexcept {
    constexpr unsigned kPollsPerLook = 32;  // the socket costs a system call
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock() || port_.name().empty()) return;  // somebody is at work there
    const Nanoseconds now = now_ns();
    polled_at_.store(now, std::memory_order_relaxed);
    progress(now, ++polls_ % kPollsPerLook == 0);
}

bool Endpoint::progress_by_nic(Nanoseconds now) noexcept {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    return !lock.owns_lock() || progress(now, true) || !transmitter_.idle();
}

bool Endpoint::fall_asleep(Nanoseconds& due) noexcept {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return false;
    const bool quiet = receiver_.fall_asleep();
    due = frozen_until_ != 0 ? frozen_until_ : receiver_.next_due();
    return stopped() || (quiet && transmitter_.idle());
}

// true: something has moved.
bool Endpoint::progress(Nanoseconds now, bool look_at_socket) {
    if (frozen_until_ != 0 && now >= frozen_until_) frozen_until_ = 0;
    if (stopped()) return false;
    while (look_at_socket) {
        auto stream = port_.accept();
        if (!stream) break;
        receiver_.add(std::move(stream->first), std::move(stream->second));
    }
    const bool moved = receiver_.progress(now);
    if (!stopped()) transmitter_.progress(now);
    return moved;
}

// Cut off or dead, peers find nobody there any more. Cut off, the own operations end too; dead, nothing happens at all.
Admitted Endpoint::admit(Packet& packet) {
    const Knobs& wanted = knobs();
    ++arrived_;
    if (arrived_ == wanted.corrupt_at && !packet.payload.empty()) packet.payload.back() ^= std::byte{1};
    if (arrived_ == wanted.freeze_after)
        frozen_until_ = now_ns() + static_cast<Nanoseconds>(wanted.freeze_ms) * kMillisecond;
    if (arrived_ == wanted.die_after || arrived_ == wanted.cut_after) {
        dead_ = true;
        port_.close();
        transmitter_.end_all(arrived_ == wanted.cut_after ? personality().unreachable.error : 0, 0);
        return Admitted::lost;
    }
    return arrived_ == wanted.duplicate_at ? Admitted::twice : Admitted::once;
}

}  // namespace duofi::sim
