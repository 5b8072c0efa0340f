#include "net_plugin/comms/listen_comm.hpp"

#include <mutex>

#include "common/ofi/service_thread.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/net.hpp"
#include "net_plugin/comms/recv_comm.hpp"

namespace duofi::net {

FabricListenComm::FabricListenComm(FabricEndpoint& endpoint)
    : ListenComm(endpoint), endpoint_(endpoint), ofi_(endpoint.ofi()) {}

Status FabricListenComm::open(Handle& handle) {
    const ofi::EndpointName& name = ofi_.name();
    if (name.length == 0 || name.length > ofi::EndpointName::kMaxBytes) {
        log::warn(log::net, messages::kNameTooLong, name.length, ofi::EndpointName::kMaxBytes);
        return fail(Errc::internal, "endpoint name");
    }
    nonce_ = ofi::make_nonce();
    const std::scoped_lock lock(ofi_.mutex());
    port_ = ofi_.ports().open(this);
    if (port_ == 0) return fail(Errc::no_memory, "ports");
    handle.provider = ofi::provider_mark(ofi::wire_name(ofi_.domain().device().provider, fi_version()));
    handle.port = port_;
    handle.nonce = nonce_;
    handle.name = name;
    return {};
}

FabricListenComm::~FabricListenComm() = default;

void FabricListenComm::close() {
    {
        const std::scoped_lock lock(ofi_.mutex());
        ofi_.ports().close(port_);
        for (const ofi::Hello& hello : waiting_) refuse(hello, ofi::RefuseReason::closed);
    }
    if (answering_ != nullptr) {
        answering_.release()->close();
        endpoint_.release();
    }
    delete this;
}

void FabricListenComm::refuse(const ofi::Hello& hello, ofi::RefuseReason reason) noexcept {
    ofi::Peer* peer = ofi_.acquire_peer(hello.name);
    if (peer == nullptr) return;
    ofi::refuse(ofi_, *peer, hello.port, reason);
    ofi_.release_peer(peer);
}

void FabricListenComm::on_message(const ofi::Message& message) noexcept {
    if (static_cast<ofi::MessageKind>(message.header.kind) != ofi::MessageKind::hello) return;
    const auto hello = ofi::parse_hello(message.payload);
    if (!hello) return;
    if (hello->version != ofi::kWireVersion)
        refuse(*hello, ofi::RefuseReason::wrong_version);
    else if (hello->path != endpoint_.data_path())
        refuse(*hello, ofi::RefuseReason::wrong_protocol);
    else if (hello->nonce != nonce_)
        refuse(*hello, ofi::RefuseReason::wrong_nonce);
    else if (waiting_.size() >= kMaxWaiting)
        refuse(*hello, ofi::RefuseReason::busy);
    else
        waiting_.push_back(*hello);
}

// Once the answer is in the fabric's hands the comm is given out at once: both sides could wait for each other
// otherwise. An answer that cannot leave does not hold up the caller, who asks again.
Result<RecvComm*> FabricListenComm::accept() {
    bool answered = false;
    RecvComm* ready = nullptr;
    {
        const std::scoped_lock lock(ofi_.mutex());
        endpoint_.poll();
        if (answering_ == nullptr) answered = answer_next();
        // An asker that died meanwhile: the caller gets the comm all the same and learns from its first test.
        if (answering_ != nullptr && (answering_->answer_left() || answering_->lost()))
            ready = answering_.release();
    }
    if (answered) {
        endpoint_.add_reference();
        ofi::service_wake();
    }
    return ready;
}

bool FabricListenComm::answer_next() {
    while (!waiting_.empty()) {
        const ofi::Hello hello = waiting_.front();
        waiting_.pop_front();
        auto comm = std::make_unique<FabricRecvComm>(endpoint_);
        if (!comm->answer(hello)) continue;  // logged; that side is refused, or runs into its deadline
        answering_ = std::move(comm);
        return true;
    }
    return false;
}

}  // namespace duofi::net
