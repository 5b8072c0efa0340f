#include "tests/unit/rma_plugin/scripted_group.hpp"

#include <cstring>
#include <mutex>

#include "common/ofi/service_thread.hpp"

namespace duofi::rma::unit {

using duofi::test::fake_name;
using duofi::test::FakeSend;
using duofi::test::PacketText;
using duofi::test::require;

namespace {

constexpr std::uint64_t kAccess = FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
constexpr std::uint32_t kRemotePort = 0x20007;

}  // namespace

void ScriptedGroup::listen() {
    info = fabric.device(mr_mode, 64);
    info.info->ep_attr->max_msg_size = 1 << 20;
    info.confirms_writes = confirms_writes;
    auto domain = ofi::Domain::open(info, settings, kAccess);
    require(domain.has_value(), "no domain");
    auto opened = ofi::Endpoint::open(std::move(*domain), {}, true);
    require(opened.has_value(), "no endpoint");
    endpoint = std::move(*opened);
    ofi::service_abandon();
    fake = &fabric.endpoint();
    listener.emplace(instance, endpoint);
    handles.resize(kRanks);
    require(listener->open(handles[kOwn]).has_value(), "no listen comm");
    for (const std::uint32_t rank : {kLow, kHigh}) {
        handles[rank] = {handles[kOwn].provider, kRemotePort + rank, ofi::make_nonce(), fake_name(number(rank))};
    }
}

std::uint64_t ScriptedGroup::agreement() const {
    return kRanks | std::uint64_t{1} << 32 | std::uint64_t{settings.rma_completion == "remote"} << 40;
}

void ScriptedGroup::introduce(std::uint32_t rank, std::optional<std::uint64_t> claim) {
    ofi::Hello hello;
    hello.port = kRemotePort + rank;
    hello.packet_bytes = static_cast<std::uint32_t>(endpoint->packet_bytes());
    hello.nonce = handles[kOwn].nonce;
    hello.name = handles[rank].name;
    Bytes payload(ofi::kMaxHandshakeBytes);
    payload.resize(ofi::write_hello(payload, hello));
    fake->deliver(
        PacketText().add(MessageKind::hello, handles[kOwn].port, payload, rank, claim.value_or(agreement())).bytes());
}

void ScriptedGroup::join() {
    listen();
    introduce(kLow);
    introduce(kHigh);
    auto connected = connect();
    require(connected.has_value(), "not connected");
    group = std::move(*connected);
    group->instance = &instance;
    group->handle = open_object(*group);
    context = &group->add_context(1);
    port_ = group_port();
    answer_registrations();
    memory = reg(bytes, kBytes);
    require(memory != nullptr, "no window");
}

void ScriptedGroup::TearDown() {
    if (endpoint == nullptr) return;
    fake->answer_sends({});
    fake->refuse_sends(0);
    fake->refuse_transfers(0);
    fake->hold_sends(false);
    fake->complete_sends();
    fake->complete_transfers();
    for (const std::uint32_t rank : {kLow, kHigh})
        fake->deliver(PacketText().add(MessageKind::goodbye, fake_name(number(rank))).bytes());
    poll(4);
    if (group != nullptr && group->handle != nullptr) end_object(*group->handle);
    group.reset();
    listener.reset();
    endpoint.reset();
    EXPECT_EQ(open_objects(), 0u) << "pointers that lead nowhere";
}

std::uint32_t ScriptedGroup::group_port() const {
    if (port_ != 0) return port_;
    const auto hellos = said(kLow, MessageKind::hello);
    require(!hellos.empty(), "no hello");
    const auto hello = ofi::parse_hello(hellos.front().payload);
    require(hello.has_value(), "a hello that cannot be read");
    return hello->port;
}

Bytes ScriptedGroup::packet_of(std::uint32_t rank, MessageKind kind, std::uint32_t word, std::uint64_t value,
                               std::span<const std::byte> payload) const {
    Bytes packet = PacketText().add(kind, group_port(), payload, word, value).bytes();
    packet.at(2) = static_cast<std::byte>(rank & 0xff);  // the header's flags say who speaks
    packet.at(3) = static_cast<std::byte>(rank >> 8);
    return packet;
}

void ScriptedGroup::say(std::uint32_t rank, MessageKind kind, std::uint32_t word, std::uint64_t value,
                        std::span<const std::byte> payload) {
    fake->deliver(packet_of(rank, kind, word, value, payload));
}

void ScriptedGroup::say_signal(std::uint32_t rank, const Window& to, std::uint64_t offset, const SignalBody& body) {
    say(rank, MessageKind::rma_signal, to.id(), offset, std::as_bytes(std::span(&body, 1)));
}

std::vector<SaidMessage> ScriptedGroup::said(std::uint32_t rank, MessageKind kind) const {
    std::vector<SaidMessage> all = duofi::test::messages_to(*fake, number(rank));
    std::erase_if(all, [&](const SaidMessage& m) { return m.header.kind != static_cast<std::uint16_t>(kind); });
    return all;
}

std::size_t ScriptedGroup::place_of(std::uint32_t rank, MessageKind kind, std::size_t index) const {
    for (const FakeSend& send : fake->sent()) {
        if (send.remote != number(rank)) continue;
        for (const SaidMessage& message : duofi::test::messages_of(send.bytes))
            if (message.header.kind == static_cast<std::uint16_t>(kind) && index-- == 0) return send.place;
    }
    require(false, "no such message");
    return 0;
}

void ScriptedGroup::poll(int times) {
    const std::scoped_lock lock(endpoint->mutex());
    for (int i = 0; i < times; ++i) endpoint->poll();
}

WindowPart ScriptedGroup::part_of(std::uint32_t rank, std::size_t length) const {
    WindowPart part;
    part.address = std::uint64_t{0x100000} * (rank + 1);
    part.length = length;
    part.key = 700 + rank;
    part.type = NCCL_PTR_HOST;
    return part;
}

void ScriptedGroup::answer(Answer script) {
    fake->answer_sends([script = std::move(script)](const FakeSend& send) {
        std::vector<Bytes> answers;
        if (send.tagged || send.remote < number(0)) return answers;
        const auto rank = static_cast<std::uint32_t>(send.remote - number(0));
        for (const SaidMessage& message : duofi::test::messages_of(send.bytes))
            for (Bytes& packet : script(rank, message)) answers.push_back(std::move(packet));
        return answers;
    });
}

void ScriptedGroup::answer_registrations() {
    answer([this](std::uint32_t rank, const SaidMessage& message) {
        std::vector<Bytes> packets;
        if (message.header.kind == static_cast<std::uint16_t>(MessageKind::rma_window)) {
            WindowPart ours;
            std::memcpy(&ours, message.payload.data(), sizeof(ours));
            WindowPart part = part_of(rank, ours.length);
            part.flags = ours.flags;
            part.covered_by = ours.covered_by;
            packets.push_back(packet_of(rank, MessageKind::rma_window, message.header.word, 0,
                                        std::as_bytes(std::span(&part, 1))));
        }
        if (message.header.kind == static_cast<std::uint16_t>(MessageKind::rma_window_close))
            packets.push_back(packet_of(rank, MessageKind::rma_window_closed, message.header.word));
        return packets;
    });
}

void* ScriptedGroup::reg(void* data, std::size_t size, std::uint64_t flags) {
    void* mhandle = this;
    result = reg_mr_sym(group->handle, data, size, NCCL_PTR_HOST, flags, &mhandle);
    return mhandle;
}

Request* ScriptedGroup::data_call(const std::function<ncclResult_t(void**)>& call) {
    void* request = this;  // each call writes it
    result = call(&request);
    return static_cast<Request*>(request);
}

ScriptedGroup::Outcome ScriptedGroup::ask(Request* request) {
    Outcome outcome{ncclSuccess, 77};
    outcome.result = duofi::rma::test(group->handle, request, &outcome.done);
    return outcome;
}

bool ScriptedGroup::last_error(const Context& of) const {
    bool failed = false;
    EXPECT_EQ(query_last_error(of.handle, &failed), ncclSuccess);
    return failed;
}

void ScriptedGroup::expect_works(std::uint32_t rank) {
    fake->hold_transfers(false);
    fake->forget_sent();
    Request* request = put_signal(rank, 10);
    ASSERT_NE(request, nullptr);
    poll();
    SignalBody body;
    std::memcpy(&body, said(rank, MessageKind::rma_signal).at(0).payload.data(), sizeof(body));
    say(rank, MessageKind::rma_applied, 0, body.sequence);
    EXPECT_EQ(ask(request), kDone);
}

}  // namespace duofi::rma::unit
