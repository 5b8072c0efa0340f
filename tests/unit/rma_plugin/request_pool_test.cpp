// Units: common/util/slot_pool.
// Requests of a context and the queues they stand in.
#include "rma_plugin/request_pool.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "rma_plugin/context.hpp"

namespace duofi::rma {
namespace {

class Pool : public ::testing::Test {
  protected:
    Request& acquire(RequestPool& pool) { return pool.acquire(*context, 42); }
    RequestSlab slab;
    int place = 0;
    Context* context = reinterpret_cast<Context*>(&place);  // only its address is kept
};

TEST_F(Pool, grows_as_long_as_requests_are_wanted) {
    RequestPool pool(slab);
    std::set<Request*> all;
    for (int i = 0; i < 5000; ++i) all.insert(&acquire(pool));
    EXPECT_EQ(all.size(), 5000u);
    EXPECT_GE(slab.in_use() * RequestChunk::kSlots, 5000u);
    EXPECT_LT(slab.in_use() * RequestChunk::kSlots, 5100u);
    std::size_t pending = 0, slots = 0;
    pool.for_each_pending([&](Request&) { ++pending; });
    pool.for_each_slot([&](Request&) { ++slots; });
    EXPECT_EQ(pending, 5000u);
    EXPECT_EQ(slots, slab.in_use() * RequestChunk::kSlots);
}

TEST_F(Pool, gives_back_what_was_released_and_does_not_grow_for_it) {
    RequestPool pool(slab);
    std::set<Request*> first;
    for (std::size_t i = 0; i < RequestChunk::kSlots; ++i) first.insert(&acquire(pool));
    for (Request* request : first) pool.release(*request);
    for (std::size_t i = 0; i < RequestChunk::kSlots; ++i) EXPECT_EQ(first.count(&acquire(pool)), 1u);
    EXPECT_EQ(slab.in_use(), 1u);
}

TEST_F(Pool, starts_every_request_anew) {
    RequestPool pool(slab);
    Request& used = acquire(pool);
    EXPECT_EQ(used.magic, Request::kMagic);
    EXPECT_TRUE(used.pending());
    used.stall_told = used.get = used.in_flight = used.cut_short = used.applied = used.retired = true;
    used.size = used.posted = 10;
    used.sequence = 7;
    used.signal.wanted = true;
    used.lane = reinterpret_cast<Lane*>(&place);
    pool.release(used);
    EXPECT_EQ(used.state.load(), RequestState::free);
    Request& again = acquire(pool);
    ASSERT_EQ(&again, &used);
    EXPECT_FALSE(again.stall_told || again.get || again.in_flight || again.cut_short || again.applied || again.retired);
    EXPECT_EQ(again.size, 0u);
    EXPECT_EQ(again.posted, 0u);
    EXPECT_EQ(again.sequence, 0u);
    EXPECT_FALSE(again.signal.wanted);
    EXPECT_EQ(again.lane, nullptr);
    EXPECT_EQ(again.context, context);
    EXPECT_EQ(again.started, 42);
    EXPECT_TRUE(again.pending());
}

TEST_F(Pool, ends_its_requests_with_itself_and_gives_the_memory_back) {
    Request* request = nullptr;
    {
        RequestPool pool(slab);
        request = &acquire(pool);
        EXPECT_EQ(slab.in_use(), 1u);
    }
    EXPECT_EQ(slab.in_use(), 0u);
    EXPECT_EQ(request->state.load(), RequestState::free) << "readable, and told from one in use";
}

TEST_F(Pool, keeps_memory_that_the_provider_may_still_write_to) {
    Request* request = nullptr;
    {
        RequestPool pool(slab);
        request = &acquire(pool);
        pool.keep_memory();
    }
    EXPECT_EQ(slab.in_use(), 1u);
    EXPECT_EQ(request->state.load(), RequestState::free);
    for (int i = 0; i < 20; ++i) {
        RequestPool other(slab);
        for (int j = 0; j < 200; ++j) ASSERT_NE(&acquire(other), request);
    }
}

class Queue : public ::testing::Test {
  protected:
    [[nodiscard]] std::vector<std::uint64_t> drained() {
        std::vector<std::uint64_t> order;
        while (!queue.empty()) {
            order.push_back(queue.head()->sequence);
            queue.pop();
        }
        return order;
    }
    void push(std::initializer_list<std::size_t> which) {
        for (const std::size_t i : which) {
            requests[i].sequence = i;
            queue.push(requests[i]);
        }
    }
    using Order = std::vector<std::uint64_t>;
    Request requests[6];
    RequestQueue queue;
};

TEST_F(Queue, is_first_in_first_out) {
    EXPECT_TRUE(queue.empty());
    push({3, 1, 2});
    EXPECT_EQ(drained(), (Order{3, 1, 2}));
    EXPECT_EQ(queue.head(), nullptr);
    push({4});
    EXPECT_EQ(drained(), Order{4}) << "also after it has been empty";
}

TEST_F(Queue, takes_out_what_is_named_and_keeps_the_order) {
    const auto odd = [](const Request& request) { return request.sequence % 2 == 1; };
    push({1, 2, 3, 4, 5});
    queue.remove_if(odd);
    push({0});
    EXPECT_EQ(drained(), (Order{2, 4, 0}));
    push({1, 3});
    queue.remove_if(odd);
    EXPECT_TRUE(queue.empty());
    push({2});
    queue.remove_if(odd);
    EXPECT_EQ(drained(), Order{2});
    queue.remove_if(odd);
    EXPECT_TRUE(queue.empty());
}

TEST_F(Queue, forgets_all) {
    push({1, 2});
    queue.clear();
    EXPECT_TRUE(queue.empty());
    push({3});
    EXPECT_EQ(drained(), Order{3});
}

}  // namespace
}  // namespace duofi::rma
