// Random pauses and what a kernel's time-outs say (rma contract 4.7), and the exchange over a store.
// Units: common/gin/random_pauses, common/gin/warnings, common/gin/store_exchange,
// common/gin/device.
#include <mutex>
#include <set>

#include "common/bootstrap/tcp_store.hpp"
#include "common/gin/store_exchange.hpp"
#include "common/gin/warnings.hpp"
#include "tests/unit/gin/crew.hpp"
#include "tests/unit/gin/solo.hpp"

namespace duofi::gin::test {
namespace {

/// The warnings of one test.
class Warned : public Solo {
  protected:
    void SetUp() override {
        Solo::SetUp();
        set_warning_sink([this](const std::string& text) {
            const std::lock_guard lock(mutex_);
            lines_.push_back(text);
        });
    }
    void TearDown() override {
        set_warning_sink({});
        Solo::TearDown();
    }
    /// The only warning so far has all of it.
    void expect_line(const std::vector<std::string>& parts) {
        const std::lock_guard lock(mutex_);
        ASSERT_EQ(lines_.size(), 1U);
        for (const std::string& part : parts)
            EXPECT_NE(lines_[0].find(part), std::string::npos) << lines_[0];
    }

    std::mutex mutex_;
    std::vector<std::string> lines_;
};

TEST_F(Warned, a_flush_of_all_that_times_out_names_the_peer) {
    DeviceCommShape made = shape();
    made.device.limit = 30 * kMillisecond;
    open(made);
    fake_.hold = true;
    for (const int peer : {0, 1, 2}) post_put(peer);
    post_put(2, 8);
    while (proxy_->progress() == Pass::busy && fake_.calls().size() < 4) {}
    for (const FakeCall& call : fake_.calls())
        if (call.rank != 2) fake_.complete(call);
    proxy_->progress();
    EXPECT_EQ(device().flush(), GinStatus::timed_out);
    expect_line({"flush timed out", "peer=2", "rank=0", "context=0", "outstanding=2", "limit=30ms"});
    fake_.complete_all();
    proxy_->progress();
}

TEST_F(Warned, a_put_without_credit_names_the_peer) {
    DeviceCommShape made = shape();
    made.shape.queue_size = 1;
    made.device.limit = 20 * kMillisecond;
    open(made);
    post_put(1);
    EXPECT_EQ(device().put(1, {window_, 0}, {window_, 0}, 8), GinStatus::timed_out);
    expect_line({"credit timed out", "peer=1"});
}

TEST_F(Warned, a_barrier_names_who_did_not_come) {
    DeviceCommShape made = shape();
    made.device.limit = 20 * kMillisecond;
    open(made);
    comm_->part(0).signal(0, made.shape.signals + 1).store(1);  // rank 1 has come
    EXPECT_EQ(device().barrier(false), GinStatus::timed_out);
    expect_line({"barrier timed out", "peer=2"});
}

TEST_F(Warned, a_failed_proxy_is_no_time_out) {
    open(shape());
    fake_.faults.data = ncclRemoteError;
    post_put(1);
    EXPECT_EQ(proxy_->progress(), Pass::failed);
    EXPECT_EQ(device().flush(1), GinStatus::failed);
    expect_line({"stopped", "operation=iput", "peer=1"});
}

TEST(RandomPauses, are_the_same_for_the_same_seed) {
    std::set<Nanoseconds> sleeps;
    int yields = 0, others = 0;
    for (std::uint64_t call = 0; call < 6400; ++call) {
        const RandomPauses::Choice first = RandomPauses::choice(7, call);
        EXPECT_EQ(first, RandomPauses::choice(7, call));
        yields += first.yields ? 1 : 0;
        others += first == RandomPauses::choice(8, call) ? 0 : 1;
        if (first.sleep != 0) sleeps.insert(first.sleep);
    }
    EXPECT_NEAR(yields, 800, 200);
    EXPECT_NEAR(static_cast<double>(sleeps.size()), 100, 50);
    EXPECT_LE(*sleeps.rbegin(), 200 * kMicrosecond);
    EXPECT_GT(others, 500) << "another seed chooses otherwise";
}

TEST(RandomPauses, do_nothing_without_a_seed) {
    RandomPauses none(0), some(1);
    for (int i = 0; i < 100; ++i) {
        none.maybe();
        some.maybe();
    }
    EXPECT_EQ(none.calls(), 0U);
    EXPECT_EQ(some.calls(), 100U);
}

TEST(RandomPauses, leave_results_as_they_are) {
    constexpr int kRanks = 3;
    constexpr std::uint64_t kRounds = 100;
    FakeRma fake;
    run_ranks(kRanks, [&](const Exchange& exchange) {
        DeviceCommShape shape = crew_shape();
        shape.shape.queue_size = 2;
        shape.shape.pause_seed = static_cast<std::uint64_t>(exchange.rank) + 1;
        Rank own(fake, exchange, shape, {}, 8 * kRanks);
        ASSERT_TRUE(own.good());
        Device kernel = own.comm->device(0);
        const auto mine = static_cast<std::uint64_t>(exchange.rank);
        for (std::uint64_t round = 1; round <= kRounds; ++round) {
            for (int peer = 0; peer < kRanks; ++peer)
                ASSERT_EQ(kernel.put_value(peer, {own.window, 8 * mine}, 1000 * mine + round,
                                           Signal::inc(0)),
                          GinStatus::done);
            ASSERT_EQ(kernel.wait_signal(0, kRanks * round), GinStatus::done);
            for (std::uint64_t from = 0; from < kRanks; ++from) {
                std::uint64_t value = 0;
                std::memcpy(&value, &own.memory[8 * from], sizeof value);
                ASSERT_EQ(value, 1000 * from + round);
            }
            ASSERT_EQ(kernel.barrier(), GinStatus::done);
        }
        EXPECT_GT(own.comm->part(0).pauses().calls(), 2 * kRanks * kRounds);
        own.close();
    });
    EXPECT_EQ(fake.open_requests(), 0U);
}

TEST(StoreExchange, gives_every_rank_all_blocks_and_refuses_unequal_ones) {
    constexpr int kRanks = 2;
    auto server = bootstrap::TcpStoreServer::start("127.0.0.1", 0, kRanks);
    ASSERT_TRUE(server);
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < kRanks; ++rank)
        ranks.emplace_back([&, rank] {
            auto store = bootstrap::TcpStore::connect("127.0.0.1", (*server)->port(), rank, kRanks,
                                                      Deadline(10 * kSecond));
            ASSERT_TRUE(store);
            const Exchange exchange = store_exchange(**store, 10 * kSecond);
            EXPECT_EQ(exchange.rank, rank);
            EXPECT_EQ(exchange.size, kRanks);
            const std::vector<std::byte> mine(3, static_cast<std::byte>(rank + 1));
            std::vector<std::byte> all(mine.size() * kRanks);
            ASSERT_TRUE(exchange.all_gather(mine, all));
            for (std::size_t i = 0; i < all.size(); ++i)
                EXPECT_EQ(all[i], static_cast<std::byte>(i / 3 + 1));
            const std::size_t own = rank == 0 ? 3 : 2;
            const Status unequal = exchange.all_gather(std::span(mine).first(own),
                                                       std::span(all).first(own * kRanks));
            ASSERT_FALSE(unequal);
            EXPECT_EQ(unequal.error().code, Errc::invalid_argument);
        });
    for (std::thread& rank : ranks) rank.join();
}

}  // namespace
}  // namespace duofi::gin::test
