// Units: rma_plugin/group_connect, rma_plugin/listen_comm, rma_plugin/group.
// Joining a group: introductions in any order, strangers, disagreement, refusals and ranks that never come (C-3 to C-9).
#include <mutex>

#include "tests/unit/rma_plugin/scripted_group.hpp"

namespace duofi::rma::unit {
namespace {

using duofi::test::FakeSend;
using duofi::test::PacketText;

class GroupConnect : public ScriptedGroup {
  protected:
    void expect_failure(Errc code, const char* line) {
        const Nanoseconds begin = now_ns();
        const auto connected = connect();
        ASSERT_FALSE(connected.has_value()) << line;
        EXPECT_EQ(connected.error().code, code) << line;
        EXPECT_EQ(log.with(line).size(), 1u) << log.dump();
        EXPECT_LT(now_ns() - begin, duofi::test::patience(2 * kSecond));
        expect_nothing_open();
    }
    /// No port of the group, no lane in a peer's list, no passive target is left.
    void expect_nothing_open() {
        const std::scoped_lock lock(endpoint->mutex());
        EXPECT_FALSE(endpoint->has_passive_target());
        for (const std::uint32_t rank : {kLow, kHigh}) {
            ofi::Peer* peer = endpoint->acquire_peer(handles[rank].name);
            ASSERT_NE(peer, nullptr);
            EXPECT_TRUE(peer->users.empty());
            EXPECT_EQ(peer->references, 1u);
            endpoint->release_peer(peer);
        }
    }
    [[nodiscard]] ofi::Hello hello_to(std::uint32_t rank) const {
        const auto all = said(rank, MessageKind::hello);
        EXPECT_EQ(all.size(), 1u);
        const auto hello = ofi::parse_hello(all.at(0).payload);
        EXPECT_TRUE(hello.has_value());
        return hello.value_or(ofi::Hello{});
    }
    /// A hello at our port that says whatever the test wants.
    void deliver_hello(std::uint32_t rank, const ofi::Hello& hello) {
        Bytes payload(ofi::kMaxHandshakeBytes);
        payload.resize(ofi::write_hello(payload, hello));
        fake->deliver(PacketText().add(MessageKind::hello, handles[kOwn].port, payload, rank, agreement()).bytes());
    }
    [[nodiscard]] ofi::Hello good_hello(std::uint32_t rank) const {
        ofi::Hello hello;
        hello.port = 0x30000 + rank;
        hello.packet_bytes = 8192;
        hello.nonce = handles[kOwn].nonce;
        hello.name = handles[rank].name;
        return hello;
    }
    void expect_refused(std::uint32_t rank, std::size_t times = 1) {
        const auto refusals = said(rank, MessageKind::refuse);
        ASSERT_EQ(refusals.size(), times);
        EXPECT_EQ(refusals[0].header.port, 0x30000 + rank);
    }
};

TEST_F(GroupConnect, introduces_itself_to_every_other_rank) {
    listen();
    introduce(kHigh);
    introduce(kLow);  // in any order (C-5)
    auto connected = connect();
    ASSERT_TRUE(connected.has_value()) << log.dump();
    Group& made = **connected;
    EXPECT_EQ(made.size(), kRanks);
    EXPECT_EQ(made.rank(), kOwn);
    EXPECT_EQ(made.lane(kOwn), nullptr);
    EXPECT_TRUE(endpoint->has_passive_target());
    for (const std::uint32_t rank : {kLow, kHigh}) {
        const ofi::Hello hello = hello_to(rank);
        EXPECT_EQ(hello.nonce, handles[rank].nonce) << "the one of its handle";
        EXPECT_TRUE(hello.name == endpoint->name());
        EXPECT_EQ(hello.packet_bytes, endpoint->packet_bytes());
        const SaidMessage message = said(rank, MessageKind::hello)[0];
        EXPECT_EQ(message.header.port, handles[rank].port);
        EXPECT_EQ(message.header.word, kOwn);
        EXPECT_EQ(message.header.value, agreement());
        EXPECT_TRUE(made.lane(rank)->joined());
    }
    connected->reset();
    EXPECT_FALSE(endpoint->has_passive_target());
    expect_nothing_open();
}

TEST_F(GroupConnect, waits_for_the_last_rank) {
    listen();
    introduce(kHigh);
    // The other one comes when it hears of us.
    fake->answer_sends([this](const FakeSend& send) {
        std::vector<Bytes> packets;
        if (send.remote != number(kLow)) return packets;
        Bytes payload(ofi::kMaxHandshakeBytes);
        payload.resize(ofi::write_hello(payload, good_hello(kLow)));
        packets.push_back(PacketText().add(MessageKind::hello, handles[kOwn].port, payload, kLow, agreement()).bytes());
        return packets;
    });
    EXPECT_TRUE(connect().has_value()) << log.dump();
}

TEST_F(GroupConnect, of_one_needs_nobody) {
    listen();
    const std::vector<ofi::ListenHandle> alone{handles[kOwn]};
    auto connected = Group::connect(*listener, alone, 0);
    ASSERT_TRUE(connected.has_value());
    EXPECT_EQ((*connected)->size(), 1u);
    EXPECT_EQ(fake->sent_count(), 0u) << "C-6";
}

TEST_F(GroupConnect, gives_up_when_a_rank_never_comes) {
    settings.connect_timeout_s = 0.2;
    listen();
    introduce(kLow);
    expect_failure(Errc::timed_out, "1 of 3 ranks have not introduced themselves, first is rank 2");
    EXPECT_EQ(said(kLow, MessageKind::rma_close).size(), 1u) << "who has come is told (C-9)";
    EXPECT_TRUE(said(kHigh, MessageKind::rma_close).empty());
}

TEST_F(GroupConnect, fails_on_a_rank_whose_handle_was_not_given) {
    listen();
    ofi::Hello stranger = good_hello(kLow);
    stranger.name = duofi::test::fake_name(4711);
    deliver_hello(kLow, stranger);
    introduce(kHigh);
    expect_failure(Errc::invalid_usage, "rank 0 introduced itself at rank 1 of 3, but its handle was not given");
}

TEST_F(GroupConnect, fails_on_a_rank_that_does_not_exist) {
    listen();
    deliver_hello(kRanks, good_hello(kLow));
    expect_failure(Errc::invalid_usage, "rank 3 introduced itself");
}

TEST_F(GroupConnect, fails_on_somebody_who_claims_our_own_rank) {
    listen();
    deliver_hello(kOwn, good_hello(kLow));
    expect_failure(Errc::invalid_usage, "rank 1 introduced itself");
}

TEST_F(GroupConnect, fails_when_ranks_disagree) {
    std::size_t told = 0;
    for (const std::uint64_t bit : {std::uint64_t{1}, std::uint64_t{1} << 33, std::uint64_t{1} << 40}) {
        listen();
        introduce(kLow);
        introduce(kHigh, agreement() ^ bit);
        const auto connected = connect();
        ASSERT_FALSE(connected.has_value());
        EXPECT_EQ(connected.error().code, Errc::invalid_usage);
        EXPECT_EQ(log.with("rank 2 says").size(), ++told) << "number of ranks, engine, completion: " << log.dump();
        TearDown();
    }
}

TEST_F(GroupConnect, fails_when_a_rank_refuses) {
    listen();
    introduce(kLow);
    fake->answer_sends([this](const FakeSend& send) {
        std::vector<Bytes> packets;
        if (send.remote != number(kHigh)) return packets;
        for (const SaidMessage& message : duofi::test::messages_of(send.bytes))
            if (const auto hello = ofi::parse_hello(message.payload))
                packets.push_back(PacketText().add(MessageKind::refuse, hello->port, {}, 2).bytes());
        return packets;
    });
    expect_failure(Errc::remote, "the handle belongs to another listen comm");
}

TEST_F(GroupConnect, fails_when_a_rank_that_has_not_come_is_lost) {
    listen();
    introduce(kLow);
    fake->answer_sends([this](const FakeSend& send) {
        std::vector<Bytes> packets;
        if (send.remote == number(kHigh))
            packets.push_back(PacketText().add(MessageKind::goodbye, handles[kHigh].name).bytes());
        return packets;
    });
    expect_failure(Errc::remote, "a rank is gone; 1 of 3 ranks have not introduced themselves, first is rank 2");
}

TEST_F(GroupConnect, fails_when_the_introduction_cannot_be_sent) {
    listen();
    introduce(kHigh);
    fake->refuse_sends(1, -FI_EHOSTUNREACH);
    const Nanoseconds begin = now_ns();
    const auto connected = connect();
    ASSERT_FALSE(connected.has_value());
    EXPECT_EQ(connected.error().code, Errc::remote);
    EXPECT_LT(now_ns() - begin, duofi::test::patience(2 * kSecond));
    EXPECT_EQ(log.with("peer lost").size(), 1u) << log.dump();
}

TEST_F(GroupConnect, fails_on_a_name_that_the_provider_refuses) {
    listen();
    fabric.fail_next("fi_av_insert", -FI_EINVAL);
    const auto connected = connect();
    ASSERT_FALSE(connected.has_value());
    EXPECT_EQ(connected.error().code, Errc::invalid_argument);
    EXPECT_EQ(log.with("the handle of rank 0 is for an address that the provider refuses").size(), 1u) << log.dump();
}

// Nothing synchronises ranks at the end: who was there has been there.
TEST_F(GroupConnect, counts_a_rank_that_leaves_right_behind_its_introduction) {
    listen();
    introduce(kLow);
    fake->answer_sends([this](const FakeSend& send) {
        std::vector<Bytes> packets;
        if (send.remote != number(kHigh)) return packets;
        for (const SaidMessage& message : duofi::test::messages_of(send.bytes)) {
            const auto hello = ofi::parse_hello(message.payload);
            if (!hello) continue;
            learn_port(hello->port);
            Bytes payload(ofi::kMaxHandshakeBytes);
            payload.resize(ofi::write_hello(payload, good_hello(kHigh)));
            packets.push_back(
                PacketText().add(MessageKind::hello, handles[kOwn].port, payload, kHigh, agreement()).bytes());
            packets.push_back(packet_of(kHigh, MessageKind::rma_close));
        }
        return packets;
    });
    auto connected = connect();
    ASSERT_TRUE(connected.has_value()) << log.dump();
    EXPECT_TRUE((*connected)->lane(kHigh)->gone());
}

// ... but one whose own connect failed says so, and nobody goes on with it (C-9).
TEST_F(GroupConnect, fails_with_a_rank_whose_own_connect_failed) {
    listen();
    introduce(kLow);
    fake->answer_sends([this](const FakeSend& send) {
        std::vector<Bytes> packets;
        if (send.remote != number(kHigh)) return packets;
        for (const SaidMessage& message : duofi::test::messages_of(send.bytes)) {
            const auto hello = ofi::parse_hello(message.payload);
            if (!hello) continue;
            learn_port(hello->port);
            packets.push_back(packet_of(kHigh, MessageKind::rma_close, 0, 1));
        }
        return packets;
    });
    auto connected = connect();
    ASSERT_FALSE(connected.has_value());
    EXPECT_EQ(connected.error().code, Errc::remote);
}

TEST_F(GroupConnect, refuses_introductions_that_are_not_for_this_listen_comm) {
    listen();
    ofi::Hello hello = good_hello(kLow);
    hello.nonce = ofi::make_nonce();
    deliver_hello(kLow, hello);
    poll();
    expect_refused(kLow);
    EXPECT_EQ(said(kLow, MessageKind::refuse)[0].header.word, static_cast<std::uint32_t>(ofi::RefuseReason::wrong_nonce));
    hello = good_hello(kHigh);
    ++hello.version;
    deliver_hello(kHigh, hello);
    poll();
    expect_refused(kHigh);
    EXPECT_EQ(said(kHigh, MessageKind::refuse)[0].header.word, static_cast<std::uint32_t>(ofi::RefuseReason::wrong_version));
    fake->deliver(PacketText().add(MessageKind::hello, handles[kOwn].port, Bytes(20)).bytes());
    fake->deliver(PacketText().add(MessageKind::welcome, handles[kOwn].port, Bytes(20)).bytes());
    poll();
    const std::scoped_lock lock(endpoint->mutex());
    EXPECT_TRUE(listener->take().empty());
}

TEST_F(GroupConnect, that_never_happens_refuses_who_has_come_and_who_comes) {
    listen();
    deliver_hello(kLow, good_hello(kLow));
    poll();
    listener.reset();  // C-8
    expect_refused(kLow);
    EXPECT_EQ(said(kLow, MessageKind::refuse)[0].header.word, static_cast<std::uint32_t>(ofi::RefuseReason::closed));
    deliver_hello(kHigh, good_hello(kHigh));
    poll();
    expect_refused(kHigh);
}

TEST_F(GroupConnect, ends_with_a_word_to_each_rank) {
    join();
    end_object(*group->handle);
    group->handle = nullptr;
    group.reset();
    for (const std::uint32_t rank : {kLow, kHigh}) EXPECT_EQ(said(rank, MessageKind::rma_close).size(), 1u);
    expect_nothing_open();
}

}  // namespace
}  // namespace duofi::rma::unit
