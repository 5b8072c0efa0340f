// The host-initiated side (rma contract 4.6): FIFOs by peer, head only, credits, groups, graphs,
// flush by a put onto itself.
// Units: common/gin/rma_proxy, common/gin/rma_lane, common/gin/rma_pass.
#include "common/gin/rma_proxy.hpp"

#include "tests/unit/gin/crew.hpp"
#include "tests/unit/gin/solo.hpp"

namespace duofi::gin::test {
namespace {

constexpr int kPeers = 3;

/// Rank 0 of three, passes by hand.
class RmaSolo : public ::testing::Test {
  protected:
    void open(RmaProxyOptions options = {}) {
        fake_.alone = true;
        options.limit = 50 * kMillisecond;
        auto opened =
            RmaProxy::open(fake_.table(), fake_.new_instance(), solo_exchange(kPeers), options);
        ASSERT_TRUE(opened) << opened.error().place;
        proxy_ = std::move(*opened);
        auto window = proxy_->register_window(memory_);
        ASSERT_TRUE(window);
        window_ = *window;
    }
    RmaItem item(int peer, std::uint64_t offset = 0) const {
        RmaItem made;
        made.peer = peer;
        made.dst = made.src = window_;
        made.src_offset = offset;
        made.bytes = 8;
        return made;
    }
    std::uint64_t put(int peer, std::uint64_t offset = 0) {
        const auto sequence = proxy_->put(0, item(peer, offset));
        EXPECT_TRUE(sequence);
        return sequence ? *sequence : 0;
    }
    RmaLane& lane() { return proxy_->lane(0); }

    FakeRma fake_;
    std::vector<std::byte> memory_ = std::vector<std::byte>(4096);
    std::unique_ptr<RmaProxy> proxy_;
    Window window_;
};

TEST_F(RmaSolo, sets_up_as_the_callers_do) {
    open();
    const std::vector<std::string> expected{"listen 0",
                                            "connect 3",
                                            "getProperties 0",
                                            "closeListen",
                                            "createContext 1",
                                            "regMrSym 32 flags 3",
                                            "regMrSym 32 flags 1",
                                            "regMrSym 24 flags 1",
                                            "regMrSym 4096 flags 0"};
    EXPECT_EQ(fake_.set_up(), expected);
}

TEST_F(RmaSolo, a_put_signals_the_word_of_its_source_strongly) {
    open();
    put(2, 16);
    proxy_->progress();
    const auto calls = fake_.calls();
    ASSERT_EQ(calls.size(), 1U);
    EXPECT_EQ(calls[0].kind, CallKind::iput_signal);
    EXPECT_EQ(calls[0].context, 0);
    EXPECT_EQ(calls[0].op, static_cast<std::uint32_t>(NCCL_NET_SIGNAL_OP_ADD));
    EXPECT_EQ(calls[0].value, 1U);
    EXPECT_EQ(calls[0].signal_offset, 0U) << "own rank";
    EXPECT_TRUE(calls[0].strong);
    EXPECT_EQ(calls[0].flags, NCCL_RMA_OPT_FLAGS_DEFAULT) << "never hinted";
}

TEST_F(RmaSolo, only_the_head_of_a_peers_fifo_is_tested) {
    open();
    fake_.hold = true;
    put(1, 0);
    put(1, 8);
    put(2, 0);
    proxy_->progress();
    const auto calls = fake_.calls();
    ASSERT_EQ(calls.size(), 3U);
    fake_.complete(calls[1]);
    proxy_->progress();
    EXPECT_EQ(fake_.tested(), (std::vector<void*>{calls[0].request, calls[2].request}));
    EXPECT_EQ(lane().done(1), 0U) << "the second is done, but behind the head";
    fake_.complete(calls[0]);
    proxy_->progress();
    EXPECT_EQ(lane().done(1), 2U);
    EXPECT_EQ(lane().done(2), 0U);
}

TEST_F(RmaSolo, nothing_starts_before_its_release_and_all_start_in_order) {
    open();
    ASSERT_EQ(lane().enqueue({item(1, 0)}), 1U);
    ASSERT_EQ(lane().enqueue({item(1, 8)}), 2U);
    ASSERT_EQ(lane().enqueue({item(1, 16)}), 3U);
    proxy_->progress();
    EXPECT_TRUE(fake_.calls().empty());
    lane().release(1, 2);
    lane().release(1, 1);  // a release never goes back
    proxy_->progress();
    const auto calls = fake_.calls();
    ASSERT_EQ(calls.size(), 2U);
    EXPECT_EQ(calls[0].src_offset, 0U);
    EXPECT_EQ(calls[1].src_offset, 8U);
}

TEST_F(RmaSolo, credits_bound_what_is_in_flight_and_the_ring_what_waits) {
    RmaProxyOptions options;
    options.queue_size = 4;
    open(options);
    EXPECT_EQ(lane().depth(), 4U);
    fake_.hold = true;
    for (int i = 0; i < 4; ++i) put(1);
    proxy_->progress();
    EXPECT_EQ(fake_.calls().size(), 4U);
    for (int i = 0; i < 4; ++i) put(1);
    proxy_->progress();
    EXPECT_EQ(fake_.calls().size(), 4U) << "no credit";
    const auto full = lane().enqueue({item(1)});
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().code, Errc::no_memory);
    EXPECT_EQ(proxy_->put(0, item(1)).error().code, Errc::timed_out);
    put(2);
    proxy_->progress();
    EXPECT_EQ(fake_.calls().size(), 5U) << "other peers have their own";
    fake_.complete(fake_.calls()[0]);
    proxy_->progress();
    EXPECT_EQ(fake_.calls().size(), 6U);
}

TEST_F(RmaSolo, a_group_is_done_when_all_of_it_is_and_issues_more_as_credit_comes) {
    RmaProxyOptions options;
    options.queue_size = 2;
    open(options);
    fake_.hold = true;
    RmaItem quiet = item(2);
    quiet.signals = false;
    ASSERT_EQ(lane().enqueue({item(1), item(1), item(1), quiet}), 1U);
    lane().release(1, 1);
    proxy_->progress();
    ASSERT_EQ(fake_.calls().size(), 2U);
    fake_.complete(fake_.calls()[1]);  // any of a group may come first
    proxy_->progress();
    ASSERT_EQ(fake_.calls().size(), 4U);
    EXPECT_EQ(fake_.calls()[3].kind, CallKind::iput);
    EXPECT_EQ(lane().done(1), 0U);
    fake_.complete_all();
    proxy_->progress();
    EXPECT_EQ(lane().done(1), 1U);
}

TEST_F(RmaSolo, the_flush_is_a_put_onto_itself_with_test_alone) {
    open();
    RmaGraph graph;
    graph.waits = {{0, 0}};
    const auto captured = lane().capture(graph);
    ASSERT_TRUE(captured);
    ASSERT_TRUE(lane().launch(*captured));
    proxy_->progress();
    const auto calls = fake_.calls();
    ASSERT_EQ(calls.size(), 1U);
    EXPECT_EQ(calls[0].kind, CallKind::iput);
    EXPECT_EQ(calls[0].bytes, 8U);
    EXPECT_EQ(calls[0].src, calls[0].dst);
    EXPECT_EQ(calls[0].src_offset, calls[0].dst_offset);
    EXPECT_EQ(calls[0].rank, 0U);
    EXPECT_EQ(fake_.progress_calls(), 1);
    EXPECT_EQ(lane().launches_done(*captured), 1U);
}

TEST_F(RmaSolo, a_flush_that_is_never_done_stops_the_proxy_at_its_limit) {
    open();
    fake_.faults.never_done = true;
    RmaGraph graph;
    graph.waits = {{0, 0}};
    ASSERT_TRUE(lane().launch(*lane().capture(graph)));
    EXPECT_EQ(proxy_->progress(), Pass::failed);
    EXPECT_STREQ(lane().failure().call, "flush");
}

TEST_F(RmaSolo, failures_stop_it_and_every_lane) {
    const auto failure = [this](auto break_it) {
        fake_.faults = {};
        RmaProxyOptions options;
        options.contexts = 2;
        open(options);
        put(1);
        break_it();
        static_cast<void>(proxy_->progress());
        EXPECT_EQ(proxy_->progress(), Pass::failed);
        EXPECT_TRUE(proxy_->failed());
        EXPECT_TRUE(proxy_->lane(1).failed());
        EXPECT_EQ(proxy_->wait_done(0, 1, 1), GinStatus::failed);
        const ProxyFailure found = lane().failure();
        proxy_.reset();
        return std::string(found.call) + " " + std::to_string(found.result);
    };
    EXPECT_EQ(failure([&] { fake_.faults.data = ncclInvalidArgument; }), "iputSignal 4");
    EXPECT_EQ(failure([&] { fake_.faults.null_requests = true; }), "iputSignal 3");
    EXPECT_EQ(failure([&] { fake_.faults.test = ncclRemoteError; }), "test 6");
    EXPECT_EQ(failure([&] { fake_.faults.progress = ncclSystemError; }), "rmaProgress 2");
}

TEST_F(RmaSolo, bad_peers_and_graphs_are_refused) {
    open();
    EXPECT_FALSE(lane().enqueue({}));
    EXPECT_FALSE(lane().enqueue({item(kPeers)}));
    RmaGraph graph;
    graph.items = {item(-1)};
    EXPECT_FALSE(lane().capture(graph));
    EXPECT_FALSE(lane().launch(0));
    EXPECT_EQ(lane().done(17), 0U);
    EXPECT_EQ(lane().arrivals(17), 0U);
    EXPECT_FALSE(proxy_->deregister_window(Window()));
}

TEST(RmaRanks, puts_arrive_with_their_counts) {
    constexpr int kRanks = 3;
    constexpr std::uint64_t kRounds = 200;
    FakeRma fake;
    run_ranks(kRanks, [&](const Exchange& exchange) {
        RmaProxyOptions options;
        options.contexts = 2;
        options.connect_instance = nullptr;  // C-3
        auto proxy = RmaProxy::open(fake.table(), fake.new_instance(), exchange, options);
        ASSERT_TRUE(proxy);
        std::vector<std::uint64_t> memory(kRanks + 1);
        auto window = (*proxy)->register_window(std::as_writable_bytes(std::span(memory)));
        ASSERT_TRUE(window);
        (*proxy)->start();
        for (std::uint64_t round = 1; round <= kRounds; ++round) {
            memory[kRanks] = round;
            std::vector<std::uint64_t> sequences;
            for (int peer = 0; peer < kRanks; ++peer) {
                RmaItem item;
                item.peer = peer;
                item.dst = item.src = *window;
                item.dst_offset = 8 * static_cast<std::uint64_t>(exchange.rank);
                item.src_offset = 8 * kRanks;
                item.bytes = 8;
                const auto sequence = (*proxy)->put(static_cast<int>(round % 2), item);
                ASSERT_TRUE(sequence);
                sequences.push_back(*sequence);
            }
            for (int peer = 0; peer < kRanks; ++peer) {
                const int lane = static_cast<int>(round % 2);
                ASSERT_EQ(
                    (*proxy)->wait_done(lane, peer, sequences[static_cast<std::size_t>(peer)]),
                    GinStatus::done);
                ASSERT_EQ((*proxy)->wait_arrivals(lane, peer, (round + lane) / 2), GinStatus::done);
                EXPECT_GE(memory[static_cast<std::size_t>(peer)], round);
            }
        }
        EXPECT_TRUE((*proxy)->close());
    });
}

TEST(RmaRanks, graphs_run_again_and_again) {
    constexpr std::uint64_t kLaunches = 50;
    FakeRma fake;
    run_ranks(2, [&](const Exchange& exchange) {
        auto proxy = RmaProxy::open(fake.table(), fake.new_instance(), exchange, {});
        ASSERT_TRUE(proxy);
        const int peer = 1 - exchange.rank;
        RmaGraph graph;
        RmaItem signal;
        signal.peer = peer;
        graph.items = {signal, signal};
        graph.waits = {{peer, 2}};
        const auto captured = (*proxy)->lane(0).capture(graph);
        ASSERT_TRUE(captured);
        (*proxy)->start();
        for (std::uint64_t n = 1; n <= kLaunches; ++n) {
            ASSERT_TRUE((*proxy)->lane(0).launch(*captured));
            ASSERT_EQ((*proxy)->wait_graph(0, *captured, n), GinStatus::done);
        }
        EXPECT_EQ((*proxy)->lane(0).arrivals(peer), 0U) << "graphs count elsewhere";
        // The other rank may still wait for what this one has issued.
        std::vector<std::byte> all(2);
        const std::vector<std::byte> mine(1);
        ASSERT_TRUE(exchange.all_gather(mine, all));
        EXPECT_TRUE((*proxy)->close());
    });
}

}  // namespace
}  // namespace duofi::gin::test
