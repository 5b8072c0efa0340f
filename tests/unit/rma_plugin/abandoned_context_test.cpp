// Units: rma_plugin/context, rma_plugin/lane, rma_plugin/request_pool.
// Contexts that end with operations under way: nothing of them leaves later, nothing that comes back hits anybody.
#include <algorithm>
#include <functional>
#include <mutex>

#include "tests/unit/rma_plugin/scripted_group.hpp"

namespace duofi::rma::unit {
namespace {

class Abandoned : public ScriptedGroup {
  protected:
    void destroy() {
        const Nanoseconds begin = now_ns();
        ASSERT_EQ(destroy_context(caller()), ncclSuccess);
        EXPECT_LT(now_ns() - begin, duofi::test::patience(2 * kSecond));
        context = &group->add_context(1);
    }
    /// Destroys contexts and makes new ones, so that their memory is used again, until `f` says true to a put of the
    /// newest one; false if that never happens.
    bool until_a_put(std::uint32_t rank, const std::function<bool(Request*)>& f) {
        for (int i = 0; i < 40; ++i) {
            Request* request = put(rank, 0);
            if (f(request)) return true;
            EXPECT_EQ(ask(request), kDone);
            destroy();
        }
        return false;
    }
    [[nodiscard]] std::uint32_t held(std::uint32_t rank) {
        const std::scoped_lock lock(endpoint->mutex());
        return group->lane(rank)->peer()->data_in_flight;
    }
};

TEST_F(Abandoned, transfers_in_flight_belong_to_nobody) {
    join();
    fake->hold_transfers(true);
    std::vector<Request*> requests{put(kHigh, 10), put_signal(kHigh, 20), get(kHigh, 30), put(kLow, 40)};
    destroy();
    EXPECT_EQ(log.with("4 operations were not finished").size(), 1u) << log.dump();
    EXPECT_EQ(held(kHigh), 3u) << "the lane looks after them";
    for (Request* request : requests) EXPECT_EQ(ask(request), kStale);
    EXPECT_FALSE(until_a_put(kLow, [&](Request* request) {
        return std::find(requests.begin(), requests.end(), request) != requests.end();
    })) << "the provider may still write there";
    fake->complete_transfer(0);
    fake->complete_transfer(0, FI_ECANCELED);
    fake->complete_transfers();
    poll(2);
    EXPECT_TRUE(log.with("peer lost").empty());
    EXPECT_EQ(held(kHigh), 0u) << "counted once";
    EXPECT_EQ(held(kLow), 0u);
    say(kHigh, MessageKind::rma_applied, 0, 2);
    expect_works(kHigh);
    expect_works(kLow);
}

// A read that nobody waits for any more still comes from there: the rank may not close its region yet.
TEST_F(Abandoned, a_read_holds_back_the_answer_to_a_withdrawal) {
    join();
    fake->hold_transfers(true);
    ASSERT_NE(get(kHigh, 30), nullptr);
    const std::uint32_t id = window(memory).id();
    destroy();
    say(kHigh, MessageKind::rma_window_close, id);
    poll(2);
    EXPECT_TRUE(said(kHigh, MessageKind::rma_window_closed).empty());
    fake->complete_transfers();
    poll(2);
    EXPECT_EQ(said(kHigh, MessageKind::rma_window_closed).size(), 1u);
}

TEST_F(Abandoned, what_has_not_left_never_leaves) {
    join();
    Context& other = group->add_context(1);
    fake->refuse_transfers(duofi::test::FakeEndpoint::kForEver);
    ASSERT_NE(put_signal(kHigh, 10), nullptr);
    ASSERT_NE(put(kHigh, 20), nullptr);
    void* kept = nullptr;
    ASSERT_EQ(iput(other.handle, 0, 0, memory, 30, 0, memory, kHigh, 0, &kept), ncclSuccess);
    destroy();
    fake->refuse_transfers(0);
    poll();
    ASSERT_EQ(fake->transfers().size(), 1u);
    EXPECT_EQ(fake->transfers()[0].size, 30u) << "of the other context";
    EXPECT_TRUE(said(kHigh, MessageKind::rma_signal).empty());
    say(kHigh, MessageKind::rma_applied, 0, 1);
    EXPECT_EQ(ask(static_cast<Request*>(kept)), kDone);
    expect_works(kHigh);
}

TEST_F(Abandoned, pieces_end_with_the_one_in_flight) {
    settings.rma_segment = 64;
    join();
    fake->hold_transfers(true);
    ASSERT_NE(put_signal(kHigh, 200), nullptr);
    ASSERT_NE(get(kHigh, 200), nullptr);
    destroy();
    fake->complete_transfers();
    poll(3);
    EXPECT_EQ(fake->transfers().size(), 1u);
    EXPECT_TRUE(said(kHigh, MessageKind::rma_signal).empty());
    expect_works(kHigh);
}

TEST_F(Abandoned, answers_for_it_hit_nobody) {
    join();
    Request* old = put(kHigh, 10);
    destroy();
    Request* next = nullptr;
    ASSERT_TRUE(until_a_put(kLow, [&](Request* request) {
        if (request != old) return false;
        EXPECT_EQ(ask(request), kDone);
        next = put(kLow, 10);
        return true;
    }));
    ASSERT_EQ(next, old) << "the same place, for another rank";
    say(kHigh, MessageKind::rma_applied, 0, 1);
    poll();
    EXPECT_EQ(ask(next), kNotYet);
    say(kLow, MessageKind::rma_applied, 0, 1);
    EXPECT_EQ(ask(next), kDone);
}

}  // namespace
}  // namespace duofi::rma::unit
