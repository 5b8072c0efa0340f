// Connecting and closing of a send comm.
#include <algorithm>
#include <mutex>
#include <utility>

#include "common/ofi/errors.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/net.hpp"
#include "common/util/messages/ofi.hpp"
#include "net_plugin/comms/abandoned_attempt.hpp"
#include "net_plugin/comms/send_comm.hpp"
#include "net_plugin/rdma/late_writes.hpp"

namespace duofi::net {

namespace {

constexpr Nanoseconds kCloseLimit = 300 * kMillisecond;
constexpr Nanoseconds kProbeInterval = 100 * kMillisecond;

}  // namespace

Status FabricSendComm::start_connect(const Handle& handle) {
    const Settings& settings = ofi_.domain().settings();
    connect_deadline_ = now_ns() + static_cast<Nanoseconds>(settings.connect_timeout_s * kSecond);
    nonce_ = handle.nonce;
    const std::scoped_lock lock(ofi_.mutex());
    Error reason;
    peer_ = ofi_.acquire_peer(handle.name, &reason);
    if (peer_ == nullptr) {
        if (reason.code == Errc::invalid_argument)
            log::warn(log::net, messages::kBadHandle, "for an address that the provider refuses");
        return tl::unexpected(reason);
    }
    ofi_.add_user(*peer_, *this);
    port_ = ofi_.ports().open(this);
    if (port_ == 0) return fail(Errc::no_memory, "ports");
    ofi::Hello hello;
    hello.port = port_;
    hello.eager_limit = static_cast<std::uint32_t>(std::max(settings.eager_max_size, 0));
    hello.packet_bytes = static_cast<std::uint32_t>(ofi_.packet_bytes());
    hello.nonce = handle.nonce;
    hello.name = ofi_.name();
    hello.identity = ofi_.identity();
    hello.path = endpoint_.data_path();
    hello.rails = endpoint_.rail_names();
    std::byte bytes[ofi::kMaxHandshakeBytes];
    const std::size_t length = ofi::write_hello(bytes, hello);
    ofi::MessageHeader header;
    header.kind = static_cast<std::uint16_t>(ofi::MessageKind::hello);
    header.port = handle.port;
    if (!ofi_.send_message(*peer_, header, std::span(bytes, length)))
        return fail(Errc::remote, "connect request");
    return {};
}

Result<bool> FabricSendComm::continue_connect() {
    const std::scoped_lock lock(ofi_.mutex());
    if (stage_ == Stage::asking) {
        endpoint_.poll();
        reach_rails();
    }
    switch (stage_.load()) {
        case Stage::connected:
        case Stage::closed_by_peer: return true;
        case Stage::lost:
            if (remote_port_ != 0) return true;  // it had answered; the first operation tells the rest
            log::warn(log::net, messages::kConnectLost, ofi_.domain().device().name, ofi_.peer_text(*peer_));
            return fail(Errc::remote, "connect");
        case Stage::refused:
            log::warn(log::net, messages::kRefused, ofi_.domain().device().name,
                      ofi::to_string(refuse_reason_));
            return fail(Errc::remote, "connect");
        case Stage::asking: break;
    }
    if (now_ns() < connect_deadline_) return false;
    log::warn(log::net, messages::kConnectTimeout, ofi_.domain().settings().connect_timeout_s,
              ofi_.domain().device().name, ofi_.peer_text(*peer_));
    return fail(Errc::remote, "connect");
}

void FabricSendComm::on_welcome(const ofi::Message& message) noexcept {
    const auto welcome = ofi::parse_welcome(message.payload);
    if (!welcome || stage_ != Stage::asking || remote_port_ != 0) return;
    if (welcome->version != ofi::kWireVersion || welcome->nonce != nonce_) {
        refuse_reason_ = welcome->version != ofi::kWireVersion ? ofi::RefuseReason::wrong_version
                                                               : ofi::RefuseReason::wrong_nonce;
        stage_ = Stage::refused;
        return;
    }
    remote_port_ = welcome->port;
    credits_ = welcome->credits;
    announcements_.reserve(kMaxRecvRequests * 8);
    ofi_.identify(*peer_, welcome->identity, welcome->packet_bytes);
    eager_limit_ = std::min<std::size_t>(welcome->eager_limit, ofi_.max_message_payload(*peer_));
    if (welcome->rails.count >= endpoint_.rail_count() ||
        !rails_.join(endpoint_, *peer_, welcome->rails, welcome->identity, welcome->packet_bytes)) {
        refuse_reason_ = ofi::RefuseReason::wrong_rails;
        stage_ = Stage::refused;
        return;
    }
    one_sided_.join(*peer_, remote_port_);
    reach_rails();
}

void FabricSendComm::reach_rails() noexcept {
    if (stage_ != Stage::asking || remote_port_ == 0) return;
    if (rails_.reached()) {
        stage_ = Stage::connected;
    } else if (const Nanoseconds now = now_ns(); now >= probe_at_) {
        probe_at_ = now + kProbeInterval;
        rails_.probe();
    }
}

bool FabricSendComm::request_left() {
    const std::scoped_lock lock(ofi_.mutex());
    return peer_->queue_head == nullptr && peer_->staged == nullptr;
}

// Large sends that the provider still reads from: they complete within the limit, or their operations stay
// behind, unowned, until the endpoint closes.
void FabricSendComm::cancel_large(Nanoseconds limit) noexcept {
    const auto each_posted = [&](auto&& f) {
        requests_.for_each_slot([&](SendRequest& request) {
            for (DataOperation& op : request.ops)
                if (op.posted) f(op);
        });
    };
    if (at_provider_ != 0) {
        each_posted([&](DataOperation& op) { rails_[op.rail].endpoint->cancel(op); });
        const Deadline deadline(limit);
        while (at_provider_ != 0 && !deadline.passed()) endpoint_.poll();
    }
    if (at_provider_ != 0) {
        each_posted([&](DataOperation& op) {
            op.owner = nullptr;
            --rails_[op.rail].peer->data_in_flight;
        });
        requests_.keep_memory();
        keep_registrations();
    }
    requests_.for_each_slot([&](SendRequest& request) { large_->release(request); });
}

// Those of what the provider still reads from, as long as the endpoint.
void FabricSendComm::keep_registrations() {
    auto kept = std::make_unique<LateWrites>(endpoint_, *peer_, 0, 0, std::nullopt);
    requests_.for_each_slot([&](SendRequest& request) {
        const bool posted = std::any_of(request.ops.begin(), request.ops.end(), [](const auto& op) { return op.posted; });
        if (posted && !request.held.empty()) kept->keep(std::exchange(request.held, {}));
    });
    ofi_.adopt(std::move(kept));
}

// A lock that fails leaves the comm where it is: better a leak than a port that leads to freed memory.
void FabricSendComm::close() {
    {
        const std::scoped_lock lock(ofi_.mutex());
        tear_down();
    }
    delete this;
}

void FabricSendComm::tear_down() noexcept {
    if (peer_ == nullptr) return;
    const bool lost = peer_->gone();
    const bool unanswered = stage_ == Stage::asking && port_ != 0 && remote_port_ == 0 && !lost;
    stage_ = Stage::closed_by_peer;  // what completes from now on is nobody's failure
    cancel_large(lost ? 0 : kCloseLimit);
    one_sided_.close(lost ? 0 : kCloseLimit);
    if (remote_port_ != 0 && !lost) {
        ofi::MessageHeader header = header_for(ofi::MessageKind::net_close);
        header.value = eager_sent_;
        header.word = parts_sent_;
        ofi_.send_message(*peer_, header, {});
    }
    ofi_.forget_dirty(*peer_, *this);
    rails_.leave();
    ofi_.remove_user(*peer_, *this);
    if (unanswered)
        AbandonedAttempt::leave(ofi_, *peer_, port_);
    else if (port_ != 0)
        ofi_.ports().close(port_);
    ofi_.release_peer(peer_);
}

}  // namespace duofi::net
