// One-sided calls against a peer that answers by hand (net contract 3.10): what is asked, how often, and what a wrong
// answer does. Units: net_plugin/neuron/one_sided.
#include "net_plugin/neuron/one_sided.hpp"

#include <cstring>
#include <mutex>

#include "net_plugin/caller_memory.hpp"
#include "tests/unit/net_plugin/sendrecv/wire_node.hpp"

namespace duofi::net::comm_test {
namespace {

constexpr std::uint64_t kKey = 0x1234567890;

class OneSidedWire : public OverProvider {
  protected:
    void SetUp() override {
        OverProvider::SetUp();
        if (!IsSkipped()) connect();
    }
    void connect(const Adjust& adjust = {}) {
        peer = {};
        node.reset();
        side.emplace(GetParam(), adjust, true);
        node.emplace(GetParam());
        peer = wire_receiver(*node, *side, GetParam());
    }
    void TearDown() override {
        peer = WireReceiver{};
        if (log_is_clean) {
            EXPECT_TRUE(log.all().empty()) << log.dump();
        }
    }
    [[nodiscard]] Result<Request*> try_write(std::uint64_t key, std::size_t bytes = 8) {
        return peer.send->one_sided()->start({RmaKind::write, data.data(), bytes, 0x1000, key}, nullptr);
    }
    [[nodiscard]] Request* write(std::uint64_t key, std::size_t bytes = 8) {
        const auto request = try_write(key, bytes);
        duofi::test::require(request.has_value() && *request != nullptr, "no request");
        return *request;
    }
    static void answer(WireLink& link, std::uint64_t key, bool known, std::size_t bytes = sizeof(RemoteRegion)) {
        const RemoteRegion region{0x1000, 4096, 0};
        link.send(MessageKind::net_key_answer, known ? 1 : 0, key,
                  std::as_bytes(std::span(&region, 1)).first(known ? bytes : 0));
    }
    void answer(std::uint64_t key, bool known, std::size_t bytes = sizeof(RemoteRegion)) {
        answer(*peer.link, key, known, bytes);
    }
    [[nodiscard]] bool pending(Request* request) {
        int done = 0;
        return test_request(request, &done, nullptr) == ncclSuccess && done == 0;
    }
    void pump() {
        for (int i = 0; i < 200; ++i) {
            side->poll();
            node->poll();
        }
    }
    // One transfer is at the provider when the other end closes; the provider of the other side does nothing more.
    void check_transfer_under_way(WireLink& link, OneSided& operations, RmaKind kind) {
        const auto start = [&](std::size_t bytes) {
            return operations.start({kind, data.data(), bytes, 0x1000, kKey}, nullptr);
        };
        Request* request = start(8).value();
        (void)link.wait_for(MessageKind::net_key_ask);
        std::unique_lock not_yet(side->ofi().mutex());
        answer(link, kKey, true);
        link.send(MessageKind::net_close, 0, 0);
        until("answer and close have left", [&] {
            node->poll();
            return !node->ofi().wants_poll();
        });
        const std::unique_lock stopped(node->ofi().mutex());
        not_yet.unlock();
        until("the close", [&] {
            side->poll();
            return !start(0).has_value();
        });
        EXPECT_TRUE(pending(request)) << "it may be done over there";
        under_lock([](ofi::Endpoint& ofi, ofi::Peer&) { ofi.tick(now_ns() + 2 * kSecond); });
        EXPECT_TRUE(pending(request));
        EXPECT_NE(log.dump().find("no progress: op="), std::string::npos) << log.dump();
        under_lock([](ofi::Endpoint& ofi, ofi::Peer& lost) { ofi.lose_peer(lost, "the test says so"); });
        EXPECT_EQ(finish(request).result, ncclRemoteError);
    }
    template <typename F>
    void under_lock(F&& f) {
        const std::scoped_lock lock(side->ofi().mutex());
        ofi::Peer* node_peer = side->ofi().acquire_peer(node->ofi().name());
        f(side->ofi(), *node_peer);
        side->ofi().release_peer(node_peer);
    }
    std::optional<Side> side;
    std::optional<WireNode> node;
    WireReceiver peer;
    std::vector<unsigned char> data = bytes_of(4096, 1);
    bool log_is_clean = true;
};

TEST_P(OneSidedWire, one_question_for_many_writes_under_one_key) {
    log_is_clean = false;
    std::vector<Request*> writes;
    for (int i = 0; i < 10; ++i) writes.push_back(write(kKey));
    EXPECT_EQ(peer.link->wait_for(MessageKind::net_key_ask)[0].header.value, kKey);
    pump();
    EXPECT_EQ(peer.link->all(MessageKind::net_key_ask).size(), 1u);
    for (Request* each : writes) EXPECT_TRUE(pending(each));
    answer(kKey, false);
    EXPECT_EQ(finish(writes[0]).result, ncclInvalidArgument);
    EXPECT_TRUE(pending(writes[1])) << "the next one asks for itself: the answer may have changed";
    EXPECT_EQ(peer.link->wait_for(MessageKind::net_key_ask, 2).size(), 2u);
}

TEST_P(OneSidedWire, nothing_is_asked_for_writes_of_no_bytes) {
    Request* request = write(kKey, 0);
    const Outcome outcome = finish(request);
    EXPECT_EQ(outcome.result, ncclSuccess);
    EXPECT_EQ(outcome.sizes, std::vector<int>{0});
    pump();
    EXPECT_TRUE(peer.link->all(MessageKind::net_key_ask).empty());
}

TEST_P(OneSidedWire, answers_that_nobody_asked_for_change_nothing) {
    answer(kKey, true);
    answer(kKey + 1, false);
    pump();
    Request* request = write(kKey);
    (void)peer.link->wait_for(MessageKind::net_key_ask);
    answer(kKey + 1, true);
    answer(kKey + 1, false);
    pump();
    EXPECT_TRUE(pending(request));
}

TEST_P(OneSidedWire, an_answer_that_is_cut_short_is_a_refusal) {
    log_is_clean = false;
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, sizeof(RemoteRegion) - 1}) {
        const auto asked = peer.link->all(MessageKind::net_key_ask).size();
        Request* request = write(kKey);
        (void)peer.link->wait_for(MessageKind::net_key_ask, asked + 1);
        answer(kKey, true, bytes);
        EXPECT_EQ(finish(request).result, ncclInvalidArgument) << bytes;
    }
    EXPECT_EQ(log.all().size(), 3u) << log.dump();
}

TEST_P(OneSidedWire, a_range_beyond_the_answer_is_asked_again_and_then_refused) {
    log_is_clean = false;
    Request* request = peer.send->one_sided()
                           ->start({RmaKind::write, data.data(), 100, 0x1000 + 4096 - 99, kKey}, nullptr).value();
    (void)peer.link->wait_for(MessageKind::net_key_ask);
    answer(kKey, true);
    EXPECT_EQ(finish(request).result, ncclInvalidArgument);
    request = peer.send->one_sided()->start({RmaKind::write, data.data(), 100, 0xfff, kKey}, nullptr).value();
    (void)peer.link->wait_for(MessageKind::net_key_ask, 2);
    answer(kKey, true);
    EXPECT_EQ(finish(request).result, ncclInvalidArgument);
}

TEST_P(OneSidedWire, at_most_128_wait) {
    for (std::size_t i = 0; i < OneSided::kMaxRequests; ++i) (void)write(kKey);
    const auto refused = try_write(kKey);
    ASSERT_TRUE(refused.has_value());
    EXPECT_EQ(*refused, nullptr);
}

TEST_P(OneSidedWire, a_peer_that_closes_ends_what_waits_for_its_answer) {
    Request* request = write(kKey);
    (void)peer.link->wait_for(MessageKind::net_key_ask);
    peer.link->send(MessageKind::net_close, 0, 0);
    EXPECT_EQ(finish(request).result, ncclRemoteError);
    const auto late = try_write(kKey);
    ASSERT_FALSE(late.has_value());
    EXPECT_EQ(late.error().code, Errc::remote);
}

// shm moves the bytes at once: nothing is ever under way there.
// The tests below hold one end still by its lock while they poll the other, each end in turn.
#ifdef __SANITIZE_THREAD__
#define SKIP_WHERE_NOTHING_STAYS_UNDER_WAY() GTEST_SKIP() << "takes the locks of two ends in either order, on purpose"
#else
#define SKIP_WHERE_NOTHING_STAYS_UNDER_WAY() \
    if (std::string(GetParam()) == "shm") GTEST_SKIP() << "transfers end at once"
#endif

TEST_P(OneSidedWire, a_write_under_way_when_the_other_end_closes) {
    SKIP_WHERE_NOTHING_STAYS_UNDER_WAY();
    log_is_clean = false;
    connect([](Settings& settings) { settings.stall_seconds = 1; });
    check_transfer_under_way(*peer.link, *peer.send->one_sided(), RmaKind::write);
}

TEST_P(OneSidedWire, a_read_under_way_when_the_other_end_closes) {
    SKIP_WHERE_NOTHING_STAYS_UNDER_WAY();
    log_is_clean = false;
    connect([](Settings& settings) { settings.stall_seconds = 1; });
    const WireSender sender = wire_sender(*node, *side);
    check_transfer_under_way(*sender.link, *sender.recv->one_sided(), RmaKind::read);
}

TEST_P(OneSidedWire, a_question_before_the_connection_stands_is_ignored) {
    WireLink link(*node);
    const Handle handle = link.handle(GetParam());
    FabricEndpoint& endpoint = side->take();
    const Owned<SendComm> send(endpoint.connect(handle, nullptr).value().comm);
    const auto hello = ofi::parse_hello(link.wait_for(MessageKind::hello)[0].payload);
    ASSERT_TRUE(hello.has_value());
    {
        const std::scoped_lock lock(node->ofi().mutex());
        ofi::Peer* asker = node->ofi().acquire_peer(hello->name);
        ofi::MessageHeader question;
        question.kind = static_cast<std::uint16_t>(MessageKind::net_key_ask);
        question.port = hello->port;
        ASSERT_TRUE(node->ofi().send_message(*asker, question, {}));
        node->ofi().release_peer(asker);
    }
    pump();
    EXPECT_FALSE(endpoint.connect(handle, send.get()).value().ready);
    link.answer(8192, kEagerCredits);
    until("connect", [&] { return endpoint.connect(handle, send.get()).value().ready; });
    EXPECT_TRUE(link.all(MessageKind::net_key_answer).empty());
}

TEST_P(OneSidedWire, a_question_that_stays_open_is_told_and_closing_does_not_wait_for_it) {
    log_is_clean = false;
    connect([](Settings& settings) { settings.stall_seconds = 1; });
    Request* request = write(kKey);
    until("the stall line", [&] {
        (void)pending(request);
        return !log.all().empty();
    });
    EXPECT_NE(log.dump().find("no progress: op=iwrite"), std::string::npos) << log.dump();
    EXPECT_LT(peer.send.close(), patience(kSecond));
}

TEST_P(OneSidedWire, inline_bytes_are_copied_before_the_question_is_answered) {
    const std::size_t limit = side->ofi().inject_limit();
    ASSERT_GT(limit, 0u);
    auto* request = static_cast<RmaRequest*>(
        peer.send->one_sided()->start({RmaKind::write_inline, data.data(), limit, 0x1000, kKey}, nullptr).value());
    const auto before = data;
    std::fill(data.begin(), data.end(), 0xEE);
    EXPECT_EQ(std::memcmp(request->transfer.data, before.data(), limit), 0);
    EXPECT_NE(request->transfer.data, static_cast<void*>(data.data()));
}

TEST_P(OneSidedWire, questions_of_the_peer_are_answered_from_what_is_exposed) {
    void* memory = peer.send->register_memory(data.data(), 1000).value();
    const std::uint64_t key = expose_memory(memory).value();
    peer.link->send(MessageKind::net_key_ask, 0, key);
    auto answers = peer.link->wait_for(MessageKind::net_key_answer);
    EXPECT_EQ(answers[0].header.value, key);
    EXPECT_EQ(answers[0].header.word, 1u);
    RemoteRegion region;
    ASSERT_EQ(answers[0].payload.size(), sizeof(region));
    std::memcpy(&region, answers[0].payload.data(), sizeof(region));
    EXPECT_EQ(region.address, reinterpret_cast<std::uint64_t>(data.data()));
    EXPECT_EQ(region.length, 1000u);
    EXPECT_EQ(region.origin, side->ofi().domain().addresses_are_virtual() ? 0 : region.address);
    EXPECT_TRUE(side->ofi().has_passive_target());
    ASSERT_TRUE(drop_memory_handle(memory));
    EXPECT_FALSE(side->ofi().has_passive_target());
    peer.link->send(MessageKind::net_key_ask, 0, key);
    answers = peer.link->wait_for(MessageKind::net_key_answer, 2);
    EXPECT_EQ(answers[1].header.word, 0u);
    EXPECT_TRUE(answers[1].payload.empty());
}

TEST_P(OneSidedWire, memory_whose_key_was_not_given_out_is_not_shown) {
    void* memory = peer.send->register_memory(data.data(), 1000).value();
    const std::uint64_t key = static_cast<MemoryHandle*>(memory)->first().region->key();
    peer.link->send(MessageKind::net_key_ask, 0, key);
    EXPECT_EQ(peer.link->wait_for(MessageKind::net_key_answer)[0].header.word, 0u);
    EXPECT_TRUE(drop_memory_handle(memory));
}

DUOFI_OVER_PROVIDERS(OneSidedWire);

TEST(OneSidedDevice, a_device_of_the_canonical_tables_has_none) {
    if (find_device("net") == nullptr) GTEST_SKIP() << "no device of provider net";
    Side from("net"), to("net");
    Link link = connect(from, to);
    EXPECT_EQ(link.send->one_sided(), nullptr);
    EXPECT_EQ(link.recv->one_sided(), nullptr);
    std::vector<unsigned char> data(100);
    void* memory = link.send->register_memory(data.data(), data.size()).value();
    const auto key = expose_memory(memory);
    ASSERT_FALSE(key.has_value());
    EXPECT_EQ(key.error().code, Errc::unsupported);
    EXPECT_TRUE(drop_memory_handle(memory));
}

TEST(RemoteRegion, covers_only_what_lies_inside) {
    const RemoteRegion region{100, 50, 0};
    EXPECT_TRUE(region.covers(100, 50));
    EXPECT_TRUE(region.covers(150, 0));
    EXPECT_FALSE(region.covers(99, 1));
    EXPECT_FALSE(region.covers(101, 50));
    EXPECT_FALSE(region.covers(151, 0));
    EXPECT_FALSE(region.covers(120, ~std::uint64_t{0}));
    EXPECT_FALSE(region.covers(~std::uint64_t{0}, 2));
}

}  // namespace
}  // namespace duofi::net::comm_test
