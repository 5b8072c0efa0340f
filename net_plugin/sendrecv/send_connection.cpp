// Connecting and closing of a send comm.
#include <mutex>

#include "common/ofi/errors.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/net.hpp"
#include "common/util/messages/ofi.hpp"
#include "net_plugin/sendrecv/abandoned_attempt.hpp"
#include "net_plugin/sendrecv/send_comm.hpp"

namespace duofi::net {

namespace {

constexpr Nanoseconds kCloseLimit = 300 * kMillisecond;

}  // namespace

Status SendrecvSendComm::start_connect(const Handle& handle) {
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
    std::byte bytes[ofi::kMaxHandshakeBytes];
    const std::size_t length = ofi::write_hello(bytes, hello);
    ofi::MessageHeader header;
    header.kind = static_cast<std::uint16_t>(ofi::MessageKind::hello);
    header.port = handle.port;
    if (!ofi_.send_message(*peer_, header, std::span(bytes, length)))
        return fail(Errc::remote, "connect request");
    return {};
}

Result<bool> SendrecvSendComm::continue_connect() {
    const std::scoped_lock lock(ofi_.mutex());
    if (stage_ == Stage::asking) ofi_.poll();
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

void SendrecvSendComm::on_welcome(const ofi::Message& message) noexcept {
    const auto welcome = ofi::parse_welcome(message.payload);
    if (!welcome || stage_ != Stage::asking) return;
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
    one_sided_.join(*peer_, remote_port_);
    stage_ = Stage::connected;
}

bool SendrecvSendComm::request_left() {
    const std::scoped_lock lock(ofi_.mutex());
    return peer_->queue_head == nullptr && peer_->staged == nullptr;
}

// Large sends that the provider still reads from: they complete within the limit, or their operations stay
// behind, unowned, until the endpoint closes.
void SendrecvSendComm::cancel_large(Nanoseconds limit) noexcept {
    const auto each_posted = [&](auto&& f) {
        requests_.for_each_pending([&](SendRequest& request) {
            if (request.op.posted) f(request);
        });
    };
    if (at_provider_ == 0) return;
    each_posted([&](SendRequest& request) { ofi_.cancel(request.op); });
    const Deadline deadline(limit);
    while (at_provider_ != 0 && !deadline.passed()) ofi_.poll();
    if (at_provider_ == 0) return;
    each_posted([&](SendRequest& request) {
        request.op.owner = nullptr;
        --peer_->data_in_flight;
    });
    requests_.keep_memory();
}

// A lock that fails leaves the comm where it is: better a leak than a port that leads to freed memory.
void SendrecvSendComm::close() {
    {
        const std::scoped_lock lock(ofi_.mutex());
        tear_down();
    }
    delete this;
}

void SendrecvSendComm::tear_down() noexcept {
    if (peer_ == nullptr) return;
    const bool lost = peer_->gone();
    const bool unanswered = stage_ == Stage::asking && port_ != 0 && !lost;
    stage_ = Stage::closed_by_peer;  // what completes from now on is nobody's failure
    cancel_large(lost ? 0 : kCloseLimit);
    one_sided_.close(lost ? 0 : kCloseLimit);
    if (remote_port_ != 0 && !lost) {
        ofi::MessageHeader header = header_for(ofi::MessageKind::net_close);
        header.value = eager_sent_;
        ofi_.send_message(*peer_, header, {});
    }
    ofi_.forget_dirty(*peer_, *this);
    ofi_.remove_user(*peer_, *this);
    if (unanswered)
        AbandonedAttempt::leave(ofi_, *peer_, port_);
    else if (port_ != 0)
        ofi_.ports().close(port_);
    ofi_.release_peer(peer_);
}

}  // namespace duofi::net
