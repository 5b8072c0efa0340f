#include "common/ofi/endpoint.hpp"

#include <algorithm>
#include <mutex>

#include "common/ofi/errors.hpp"
#include "common/ofi/quirks.hpp"
#include "common/ofi/service_thread.hpp"
#include "common/ofi/signal_guard.hpp"
#include "common/util/library_file.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/ofi.hpp"

namespace duofi::ofi {

namespace {

constexpr int kNameTries = 64;
constexpr std::uint64_t kWritten = FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA;  ///< of a completion that a peer's write has made

std::size_t wanted_packet_bytes(const Settings& settings) {
    const auto eager = static_cast<std::size_t>(std::max(settings.eager_max_size, 0));
    return std::max(message_bytes(eager), kSmallestPacket);  // room for handshakes also without eager sends
}

// `call` becomes the one that was made last.
int bind_and_enable(fid_ep* endpoint, fid_av* av, fid_cq* cq, const char*& call) {
    call = "fi_ep_bind";
    int code = fi_ep_bind(endpoint, &av->fid, 0);
    if (code == 0) code = fi_ep_bind(endpoint, &cq->fid, FI_TRANSMIT | FI_RECV);
    if (code != 0) return code;
    call = "fi_enable";
    return fi_enable(endpoint);
}

// A name may be taken by the leftover of a killed process that had our number; the next one is free.
template <typename Open>
int open_with_free_name(Open&& open) {
    int code = open();
    for (int tries = 1; (code == -FI_EADDRINUSE || code == -FI_EBUSY) && tries < kNameTries; ++tries)
        code = open();
    return code;
}

}  // namespace

Endpoint::Endpoint(std::shared_ptr<Domain> domain, Endpoint* lead)
    : domain_(std::move(domain)),
      lead_(lead != nullptr ? lead : this),
      packet_bytes_(wanted_packet_bytes(domain_->settings())),
      rx_pool_(*domain_, *this, packet_bytes_),
      tx_pool_(*domain_, *this, packet_bytes_),
      self_(read_host_identity()),
      writes_take_receives_(quirk_for(domain_->device().provider, fi_version()).writes_take_receives),
      carries_sizes_(domain_->info()->domain_attr->cq_data_size >= 8),
      tick_time_(now_ns()) {}

Result<std::shared_ptr<Endpoint>> Endpoint::open(std::shared_ptr<Domain> domain,
                                                 const EndpointHook& hook, bool can_sleep, Endpoint* lead) {
    std::shared_ptr<Endpoint> self(new Endpoint(std::move(domain), lead), &Endpoint::end);
    const SignalGuard signals;
    DUOFI_TRY(self->open_objects(hook, can_sleep));
    DUOFI_TRY(self->fill_receive_queue());
    const DeviceInfo& device = self->domain_->device();
    if (can_sleep && quirk_for(device.provider, fi_version()).same_node_only) self->open_bell();
    service_add(*self);
    self->served_ = true;
    return self;
}

Status Endpoint::open_objects(const EndpointHook& hook, bool can_sleep) {
    fi_info* info = domain_->info();
    const char* call = "fi_av_open";
    fi_av_attr av_attributes{};
    av_attributes.type = info->domain_attr->av_type;
    int code = open_into(av_, [&](fid_av** av) {
        return fi_av_open(domain_->fid(), &av_attributes, av, nullptr);
    });
    if (code == 0) {
        call = "fi_cq_open";
        code = open_queue(can_sleep);
    }
    Status hooked;
    const auto open_endpoint = [&] {
        call = "fi_endpoint";
        const int opened =
            open_into(ep_, [&](fid_ep** ep) { return fi_endpoint(domain_->fid(), info, ep, nullptr); });
        if (opened != 0) return opened;
        if (hook) hooked = hook(ep_.get());
        return hooked ? bind_and_enable(ep_.get(), av_.get(), cq_.get(), call) : 0;
    };
    if (code == 0) code = open_with_free_name(open_endpoint);
    if (!hooked) return hooked;
    std::size_t length = EndpointName::kMaxBytes;
    if (code == 0) {
        call = "fi_getname";
        code = fi_getname(&ep_->fid, name_.bytes.data(), &length);
        name_.length = static_cast<std::uint8_t>(length);
    }
    if (code == 0) return {};
    log::warn(log::net, messages::kOpenFailed, call, domain_->device().name, domain_->device().provider,
              code, error_text(code));
    return tl::unexpected(error_from(code, call));
}

Status Endpoint::fill_receive_queue() {
    const std::size_t limit = std::max<std::size_t>(domain_->info()->rx_attr->size / 2, 1);
    const auto wanted = static_cast<std::size_t>(std::max(domain_->settings().eager_min_posted, 8));
    receive_target_ = static_cast<std::uint32_t>(std::min(limit, wanted));
    for (std::uint32_t i = 0; i < receive_target_; ++i) {
        RxPacket* packet = rx_pool_.acquire();
        if (packet == nullptr) return fail(Errc::no_memory, "receive packets", FI_ENOMEM);
        packet->op.complete = &Endpoint::rx_complete;
        post_receive(packet);
    }
    return {};
}

Endpoint::~Endpoint() = default;

void Endpoint::end(Endpoint* endpoint) noexcept {
    if (endpoint->close()) delete endpoint;
}

bool Endpoint::close() noexcept {
    // Two endpoints of one process that talk to each other close one after the other: a provider may reach into
    // the other's memory, so the one that is still open is told before it goes.
    std::unique_lock<std::mutex> turn;
    if (served_) {  // an endpoint that never opened may not even be polled
        if (has_local_peer()) turn = service_close_turn();
        service_remove(*this);
        drain_for_close();
        service_tell_closed(name_);
    }
    closing_ = true;
    if (!reads_ended()) {
        log::info(log::net, messages::kEndpointAbandoned, domain_->device().name, reads_in_flight_);
        keep_library(reinterpret_cast<const void*>(&fi_getinfo));
        return false;
    }
    ep_.reset();  // before the buffers it may still write to
    cq_.reset();
    av_.reset();
    return true;
}

bool Endpoint::has_local_peer() noexcept {
    const std::scoped_lock lock(mutex());
    return std::any_of(peers_.begin(), peers_.end(), [&](const auto& peer) {
        return peer->identity == self_ && !(peer->name == name_);
    });
}

// Polls, at least once and for at most kDrainLimit, until `done`; the lock is free between two polls.
template <typename Done>
bool Endpoint::poll_until(Done done) noexcept {
    const Deadline deadline(kDrainLimit);
    for (;;) {
        {
            const std::scoped_lock lock(mutex());
            poll();
            if (done()) return true;
        }
        if (deadline.passed()) return false;
    }
}

// The peers get what we still owe them and say so; peers that are gone, or stopped, are not waited for.
// Under the lock, which is others' too where there is a lead; never for longer than a look.
void Endpoint::drain_for_close() noexcept {
    {
        const std::scoped_lock lock(mutex());
        for (auto& peer : peers_)
            if (!peer->gone() && !(peer->name == name_)) send_own_name(*peer, MessageKind::goodbye);
        said_goodbye_ = true;
    }
    const auto pending = [&](const std::unique_ptr<Peer>& peer) {
        if (peer->lost || !peer->established) return false;
        if (peer->departed) return !peer->idle();
        if (peer->name == name_) return !peer->idle() || peer->in_flight != 0;
        if (peer->process_visible && process_gone(peer->identity, self_)) return false;
        return !peer->answered_goodbye;
    };
    std::size_t left = 0;
    const auto drained = [&] {
        left = static_cast<std::size_t>(std::count_if(peers_.begin(), peers_.end(), pending));
        return left == 0;
    };
    if (!poll_until(drained)) log::info(log::net, messages::kEndpointClosedDirty, left, domain_->device().name);
}

// Most end with the connections that the goodbyes close.
bool Endpoint::reads_ended() noexcept {
    if (quirk_for(domain_->device().provider, fi_version()).bears_cut_reads) return true;
    const auto ended = [&] { return reads_in_flight_ == 0; };
    {
        const std::scoped_lock lock(mutex());
        if (ended()) return true;  // an endpoint that never opened may not even be polled
    }
    return poll_until(ended);
}

void Endpoint::poll() noexcept {
    polls_.store(polls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    wants_poll_.store(false, std::memory_order_relaxed);
    if (unposted_ != nullptr) post_waiting();
    const auto batch = std::clamp<std::size_t>(domain_->settings().cq_read_count, 1, kMaxBatch);
    for (int round = 0; round < kMaxRounds; ++round)
        if (drain_completions(batch) < batch) break;
    finished_orphans_.clear();
    for (std::size_t i = 0; i < active_.size();) {
        Peer& peer = *active_[i];
        serve(peer);
        if (peer.idle()) {
            peer.active = false;
            active_[i] = active_.back();
            active_.pop_back();
        } else {
            ++i;
        }
    }
}

std::size_t Endpoint::drain_completions(std::size_t batch) noexcept {
    fi_cq_tagged_entry entries[kMaxBatch];
    const ssize_t got = take_in([&] { return fi_cq_read(cq_.get(), entries, batch); });
    if (got > 0) {
        dispatch({entries, static_cast<std::size_t>(got)});
        return static_cast<std::size_t>(got);
    }
    if (got == -FI_EAVAIL) {
        drain_error();
        return batch;  // look again
    }
    return 0;
}

void Endpoint::dispatch(std::span<const fi_cq_tagged_entry> entries) noexcept {
    completions_ += entries.size();
    for (const fi_cq_tagged_entry& entry : entries) {
        if ((entry.flags & kWritten) == kWritten) {
            on_written(entry);
            continue;
        }
        auto* op = static_cast<Operation*>(entry.op_context);
        if (op == nullptr) continue;
        count_read(entry.flags);
        op->complete(*op, Completion{entry.flags, entry.len, entry.tag, entry.data});
    }
}

// Completions of tcp and net say no length (P1): it is in the data where there is room, else the provider tells it.
void Endpoint::on_written(const fi_cq_tagged_entry& entry) noexcept {
    const auto word = static_cast<std::uint32_t>(entry.data);
    const std::size_t bytes = carries_sizes_ ? entry.data >> 32 : entry.len;
    if (PortOwner* owner = lead_->ports_.find_by_slot(word & 0xffff)) owner->on_write(word, bytes);
    // It may have taken a receive (P3), which is empty then and posted again. Elsewhere the context is nothing of ours: shm
    // gives that of the writer's process.
    auto* taken = static_cast<Operation*>(entry.op_context);
    if (taken != nullptr && writes_take_receives_) taken->complete(*taken, Completion{entry.flags});
}

void Endpoint::drain_error() noexcept {
    fi_cq_err_entry entry{};
    if (fi_cq_readerr(cq_.get(), &entry, 0) < 1) return;
    ++completions_;
    const int error = entry.err < 0 ? -entry.err : entry.err;  // P5: shm reports the wrong sign
    if ((entry.flags & kWritten) == kWritten) {  // somebody's write, and whose receive it was for is not known
        lose_message(error);
        return;
    }
    auto* op = static_cast<Operation*>(entry.op_context);
    if (op == nullptr) return;
    count_read(entry.flags);
    op->complete(*op, Completion{entry.flags, entry.len, entry.tag, entry.data, error, entry.prov_errno});
}

void Endpoint::disown(PortOwner& orphan) noexcept {
    const auto it = std::find_if(orphans_.begin(), orphans_.end(),
                                 [&](const auto& owned) { return owned.get() == &orphan; });
    if (it == orphans_.end()) return;
    finished_orphans_.push_back(std::move(*it));
    orphans_.erase(it);
}

}  // namespace duofi::ofi
