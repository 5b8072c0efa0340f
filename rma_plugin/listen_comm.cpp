#include "rma_plugin/listen_comm.hpp"

#include <mutex>

#include "rma_plugin/instance.hpp"

namespace duofi::rma {

ListenComm::ListenComm(Instance& instance, std::shared_ptr<ofi::Endpoint> endpoint)
    : instance_(instance), endpoint_(std::move(endpoint)) {}

ListenComm::~ListenComm() {
    const std::scoped_lock lock(endpoint_->mutex());
    for (const Introduction& caller : arrived_) refuse(caller.hello, ofi::RefuseReason::closed);
    if (port_ != 0) endpoint_->ports().close(port_);
}

Status ListenComm::open(ofi::ListenHandle& out) {
    nonce_ = ofi::make_nonce();
    const std::scoped_lock lock(endpoint_->mutex());
    port_ = endpoint_->ports().open(this);
    if (port_ == 0) return fail(Errc::no_memory, "ports");
    out.provider = ofi::provider_mark(ofi::wire_name(endpoint_->domain().device().provider, fi_version()));
    out.port = port_;
    out.nonce = nonce_;
    out.name = endpoint_->name();
    return {};
}

void ListenComm::on_message(const ofi::Message& message) noexcept {
    if (static_cast<ofi::MessageKind>(message.header.kind) != ofi::MessageKind::hello) return;
    const auto hello = ofi::parse_hello(message.payload);
    if (!hello) return;
    if (hello->version != ofi::kWireVersion) return refuse(*hello, ofi::RefuseReason::wrong_version);
    if (hello->nonce != nonce_) return refuse(*hello, ofi::RefuseReason::wrong_nonce);
    if (arrived_.size() >= static_cast<std::size_t>(kMostRanks)) return refuse(*hello, ofi::RefuseReason::busy);
    arrived_.push_back({message.header.word, message.header.value, *hello});
}

void ListenComm::refuse(const ofi::Hello& hello, ofi::RefuseReason reason) noexcept {
    ofi::Peer* peer = endpoint_->acquire_peer(hello.name);
    if (peer == nullptr) return;
    ofi::refuse(*endpoint_, *peer, hello.port, reason);
    endpoint_->release_peer(peer);
}

}  // namespace duofi::rma
