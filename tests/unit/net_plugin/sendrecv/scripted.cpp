#include "tests/unit/net_plugin/sendrecv/scripted.hpp"

#include "common/ofi/handshake.hpp"
#include "net_plugin/comms/wire.hpp"

namespace duofi::net::comm_test {

using duofi::test::fake_name;
using duofi::test::PacketText;
using duofi::test::require;
using ofi::MessageKind;

void Scripted::open(const Adjust& adjust) {
    side.emplace(info, adjust);
    fake = &fabric.endpoint();
}

void Scripted::TearDown() {
    if (!side) return;
    fake->hold_sends(false);
    fake->complete_sends();
    deliver(PacketText().add(MessageKind::goodbye, fake_name(kRemote)));
    side->poll();
    side.reset();
}

SendComm* Scripted::ask() {
    handle_.provider = ofi::provider_mark(info.provider);
    handle_.port = kRemotePort;
    handle_.nonce = ofi::make_nonce();
    handle_.name = fake_name(kRemote);
    asking_ = &side->take();
    const auto step = asking_->connect(handle_, nullptr);
    require(step.has_value() && !step->ready, "nobody has answered yet");
    return step->comm;
}

ofi::Hello Scripted::said_hello() const {
    for (const auto& said : test::messages_to(*fake, kRemote)) {
        if (said.header.kind != static_cast<std::uint16_t>(MessageKind::hello)) continue;
        const auto hello = ofi::parse_hello(said.payload);
        require(hello.has_value(), "a hello that cannot be read");
        return *hello;
    }
    require(false, "no hello");
    return {};
}

PacketText Scripted::welcome() const {
    const ofi::Hello hello = said_hello();
    ofi::Welcome welcome;
    welcome.port = kRemotePort;
    welcome.eager_limit = hello.eager_limit;
    welcome.packet_bytes = hello.packet_bytes;
    welcome.credits = kEagerCredits;
    welcome.nonce = hello.nonce;
    test::Bytes bytes(ofi::kMaxHandshakeBytes);
    bytes.resize(ofi::write_welcome(bytes, welcome));
    return PacketText().add(MessageKind::welcome, hello.port, bytes);
}

Owned<SendComm> Scripted::connected() {
    SendComm* attempt = ask();
    deliver(welcome());
    const auto step = go_on(attempt);
    require(step.has_value() && step->ready, "not connected");
    return Owned<SendComm>(step->comm);
}

Listener Scripted::asked_for() {
    Listener listener = listen_on(*side);
    ofi::Hello hello;
    hello.port = kRemotePort;
    hello.eager_limit = 8192;
    hello.packet_bytes = static_cast<std::uint32_t>(side->ofi().packet_bytes());
    hello.nonce = listener.handle.nonce;
    hello.name = fake_name(kRemote);
    test::Bytes bytes(ofi::kMaxHandshakeBytes);
    bytes.resize(ofi::write_hello(bytes, hello));
    deliver(PacketText().add(MessageKind::hello, listener.handle.port, bytes));
    return listener;
}

Nanoseconds Scripted::next_tick() {
    const Nanoseconds before = side->ofi().tick_time();
    until("a tick", [&] { return side->ofi().tick_time() != before; });
    return side->ofi().tick_time();
}

}  // namespace duofi::net::comm_test
