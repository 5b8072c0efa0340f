#include "tests/unit/net_plugin/sendrecv/wire_node.hpp"

#include <cstring>
#include <mutex>

namespace duofi::net::comm_test {

using duofi::test::require;

WireNode::WireNode(const std::string& provider, const Adjust& adjust) {
    if (adjust) adjust(settings_);
    auto domain = ofi::Domain::open(*find_device(provider), settings_);
    require(domain.has_value(), "no domain");
    auto endpoint = ofi::Endpoint::open(std::move(*domain));
    require(endpoint.has_value(), "no endpoint");
    endpoint_ = std::move(*endpoint);
}

void WireNode::poll() {
    const std::scoped_lock lock(endpoint_->mutex());
    endpoint_->poll();
}

WireLink::WireLink(WireNode& node) : node_(node) {
    const std::scoped_lock lock(node.ofi().mutex());
    port_ = node.ofi().ports().open(this);
    require(port_ != 0, "no port");
}

WireLink::~WireLink() {
    const std::scoped_lock lock(node_.ofi().mutex());
    for (Transfer* transfer : {&incoming_, &outgoing_})
        if (transfer->posted) node_.ofi().cancel(*transfer);
    const Deadline deadline(kSecond);
    while ((incoming_.posted || outgoing_.posted) && !deadline.passed()) node_.ofi().poll();
    node_.ofi().ports().close(port_);
    if (peer_ == nullptr) return;
    node_.ofi().remove_user(*peer_, *this);
    node_.ofi().release_peer(peer_);
}

void WireLink::take_peer(const ofi::EndpointName& name) {
    peer_ = node_.ofi().acquire_peer(name);
    require(peer_ != nullptr, "no peer");
    node_.ofi().add_user(*peer_, *this);
}

void WireLink::ask(const Handle& handle, const std::function<void(ofi::Hello&)>& change,
                   std::uint32_t eager_limit) {
    const std::scoped_lock lock(node_.ofi().mutex());
    take_peer(handle.name);
    ofi::Hello hello;
    hello.port = port_;
    hello.eager_limit = eager_limit;
    hello.nonce = handle.nonce;
    hello.name = node_.ofi().name();
    hello.identity = node_.ofi().identity();
    hello.packet_bytes = static_cast<std::uint32_t>(node_.ofi().packet_bytes());
    if (change) change(hello);
    std::byte bytes[ofi::kMaxHandshakeBytes];
    const std::size_t length = ofi::write_hello(bytes, hello);
    ofi::MessageHeader header;
    header.kind = static_cast<std::uint16_t>(MessageKind::hello);
    header.port = handle.port;
    require(node_.ofi().send_message(*peer_, header, std::span(bytes, length)), "hello not sent");
}

Handle WireLink::handle(const std::string& provider) {
    nonce_ = ofi::make_nonce();
    Handle handle;
    handle.provider = ofi::provider_mark(find_device(provider)->provider);
    handle.port = port_;
    handle.nonce = nonce_;
    handle.name = node_.ofi().name();
    return handle;
}

void WireLink::answer(std::uint32_t eager_limit, std::uint32_t credits,
                      const std::function<void(ofi::Welcome&)>& change) {
    const auto hello = ofi::parse_hello(wait_for(MessageKind::hello)[0].payload);
    require(hello.has_value(), "a hello that cannot be read");
    remote_port_ = hello->port;
    ofi::Welcome welcome;
    welcome.port = port_;
    welcome.eager_limit = std::min(eager_limit, hello->eager_limit);
    welcome.credits = credits;
    welcome.nonce = hello->nonce;
    welcome.identity = node_.ofi().identity();
    welcome.packet_bytes = static_cast<std::uint32_t>(node_.ofi().packet_bytes());
    if (change) change(welcome);
    std::byte bytes[ofi::kMaxHandshakeBytes];
    const std::size_t length = ofi::write_welcome(bytes, welcome);
    {
        const std::scoped_lock lock(node_.ofi().mutex());
        take_peer(hello->name);
        node_.ofi().identify(*peer_, hello->identity, hello->packet_bytes);
    }
    send(MessageKind::welcome, 0, 0, std::span(bytes, length));
}

void WireLink::refuse(ofi::RefuseReason reason) {
    const auto hello = ofi::parse_hello(wait_for(MessageKind::hello)[0].payload);
    require(hello.has_value(), "a hello that cannot be read");
    const std::scoped_lock lock(node_.ofi().mutex());
    take_peer(hello->name);
    ofi::refuse(node_.ofi(), *peer_, hello->port, reason);
}

void WireLink::send(MessageKind kind, std::uint32_t word, std::uint64_t value,
                    std::span<const std::byte> payload) {
    const std::scoped_lock lock(node_.ofi().mutex());
    ofi::MessageHeader header;
    header.kind = static_cast<std::uint16_t>(kind);
    header.port = remote_port_;
    header.word = word;
    header.value = value;
    require(node_.ofi().send_message(*peer_, header, payload), "message not sent");
}

void WireLink::eager(int tag, std::uint32_t index, std::span<const unsigned char> data) {
    send(MessageKind::net_eager, static_cast<std::uint32_t>(tag), index, std::as_bytes(data));
}

void WireLink::announce(const std::vector<Announcement>& announcements) {
    send(MessageKind::net_announce, 0, 0, announcement_bytes(announcements));
}

void WireLink::on_message(const ofi::Message& message) noexcept {
    received_.push_back({message.header, {message.payload.begin(), message.payload.end()}});
    if (static_cast<MessageKind>(message.header.kind) != MessageKind::welcome) return;
    const auto welcome = ofi::parse_welcome(message.payload);
    if (!welcome) return;
    remote_port_ = welcome->port;
    node_.ofi().identify(*peer_, welcome->identity, welcome->packet_bytes);
}

std::vector<WireMessage> WireLink::all(MessageKind kind) {
    const std::scoped_lock lock(node_.ofi().mutex());
    node_.ofi().poll();
    std::vector<WireMessage> found;
    for (const WireMessage& message : received_)
        if (static_cast<MessageKind>(message.header.kind) == kind) found.push_back(message);
    return found;
}

std::vector<WireMessage> WireLink::wait_for(MessageKind kind, std::size_t count) {
    std::vector<WireMessage> found;
    until("a message on the wire", [&] {
        found = all(kind);
        return found.size() >= count;
    });
    return found;
}

std::vector<Announcement> WireLink::announcements() {
    std::vector<Announcement> result;
    for (const WireMessage& message : all(MessageKind::net_announce)) {
        const auto some = announcements_in(message.payload);
        result.insert(result.end(), some.begin(), some.end());
    }
    return result;
}

void WireLink::on_complete(ofi::Operation& op, const ofi::Completion& completion) noexcept {
    auto& transfer = static_cast<Transfer&>(op);
    transfer.posted = false;
    transfer.over = true;
    transfer.error = completion.error;
    transfer.length = completion.length;
}

void WireLink::wait(Transfer& transfer) {
    until("a large transfer", [&] {
        const std::scoped_lock lock(node_.ofi().mutex());
        node_.ofi().poll();
        return transfer.over;
    });
}

int WireLink::send_data(std::uint64_t tag, std::span<const unsigned char> data) {
    outgoing_.complete = &WireLink::on_complete;
    outgoing_.over = false;
    until("room for a large send", [&] {
        const std::scoped_lock lock(node_.ofi().mutex());
        const auto posted =
            node_.ofi().post_tagged_send(*peer_, data.data(), data.size(), nullptr, tag, outgoing_);
        outgoing_.posted = posted == ofi::Posted::yes;
        if (!outgoing_.posted) node_.ofi().poll();
        return outgoing_.posted;
    });
    wait(outgoing_);
    const std::scoped_lock lock(node_.ofi().mutex());
    --peer_->data_in_flight;
    return outgoing_.error;
}

void WireLink::post_data_receive(std::uint64_t tag, std::span<unsigned char> data) {
    const std::scoped_lock lock(node_.ofi().mutex());
    incoming_.complete = &WireLink::on_complete;
    incoming_.over = false;
    const auto posted =
        node_.ofi().post_tagged_receive(*peer_, data.data(), data.size(), nullptr, tag, incoming_);
    require(posted == ofi::Posted::yes, "receive not posted");
    incoming_.posted = true;
}

std::size_t WireLink::wait_for_data() {
    wait(incoming_);
    require(incoming_.error == 0, "large receive failed: {}", incoming_.error);
    return incoming_.length;
}

WireSender wire_sender(WireNode& node, Side& side, std::uint32_t eager_limit) {
    Listener listener = listen_on(side);
    WireSender sender;
    sender.link = std::make_unique<WireLink>(node);
    sender.link->ask(listener.handle, {}, eager_limit);
    until("accept of a raw peer", [&] {
        node.poll();
        const auto comm = listener.comm->accept();
        require(comm.has_value(), "accept failed");
        sender.recv = Owned<RecvComm>(*comm);
        return sender.recv.get() != nullptr;
    });
    (void)sender.link->wait_for(MessageKind::welcome);
    return sender;
}

WireReceiver wire_receiver(WireNode& node, Side& side, const std::string& provider,
                           std::uint32_t eager_limit, std::uint32_t credits) {
    WireReceiver receiver;
    receiver.link = std::make_unique<WireLink>(node);
    const Handle handle = receiver.link->handle(provider);
    FabricEndpoint& endpoint = side.take();
    SendComm* attempt = nullptr;
    bool answered = false;
    until("connect to a raw peer", [&] {
        const auto step = endpoint.connect(handle, attempt);
        require(step.has_value(), "connect failed");
        attempt = step->comm;
        if (!answered && !receiver.link->all(MessageKind::hello).empty()) {
            receiver.link->answer(eager_limit, credits);
            answered = true;
        }
        return step->ready;
    });
    receiver.send = Owned<SendComm>(attempt);
    return receiver;
}

}  // namespace duofi::net::comm_test
