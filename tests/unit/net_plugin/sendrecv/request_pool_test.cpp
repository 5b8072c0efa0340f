// Requests of one comm: a bound, chunks that go back to the slab, slots that read as free.
#include "net_plugin/request_pool.hpp"

#include <gtest/gtest.h>

#include <set>

#include "net_plugin/comms/recv_request.hpp"
#include "net_plugin/comms/send_request.hpp"
#include "net_plugin/comms/wire.hpp"

namespace duofi::net {
namespace {

class NoOwner : public RequestOwner {
  public:
    void progress(Request&) override {}
    void retire(Request&) noexcept override {}
    [[nodiscard]] ncclResult_t failure() const noexcept override { return ncclSuccess; }
};

template <typename T>
class RequestPoolTest : public ::testing::Test {
  protected:
    RequestSlab<T> slab;
    NoOwner owner;
};
using Kinds = ::testing::Types<SendRequest, RecvRequest>;
TYPED_TEST_SUITE(RequestPoolTest, Kinds);

TYPED_TEST(RequestPoolTest, answers_not_now_at_the_bound) {
    RequestPool<TypeParam> pool(this->slab, 48);
    std::set<TypeParam*> given;
    for (int i = 0; i < 48; ++i) {
        TypeParam* request = pool.acquire(this->owner, 5);
        ASSERT_NE(request, nullptr) << i;
        EXPECT_TRUE(request->pending());
        EXPECT_EQ(request->started, 5);
        EXPECT_TRUE(given.insert(request).second) << "given out twice";
    }
    EXPECT_EQ(pool.acquire(this->owner, 5), nullptr);
    TypeParam* one = *given.begin();
    pool.release(*one);
    EXPECT_EQ(pool.acquire(this->owner, 5), one);
    EXPECT_EQ(pool.acquire(this->owner, 5), nullptr);
}

TYPED_TEST(RequestPoolTest, freed_requests_read_as_free) {
    TypeParam* request = nullptr;
    int done = 1;
    {
        RequestPool<TypeParam> pool(this->slab, 16);
        request = pool.acquire(this->owner, 0);
        request->size_count = 3;
        pool.release(*request);
        EXPECT_EQ(test_request(request, &done, nullptr), ncclInvalidUsage);
        request = pool.acquire(this->owner, 0);
        EXPECT_EQ(request->size_count, 0) << "nothing of its earlier life";
        EXPECT_FALSE(request->stall_told);
    }  // the comm ends with the request pending
    EXPECT_EQ(test_request(request, &done, nullptr), ncclInvalidUsage);
    EXPECT_EQ(done, 0);
}

TYPED_TEST(RequestPoolTest, chunks_are_used_again_by_later_comms) {
    std::set<TypeParam*> seen;
    for (int comm = 0; comm < 200; ++comm) {
        RequestPool<TypeParam> pool(this->slab, 64);
        for (int i = 0; i < 17; ++i) seen.insert(pool.acquire(this->owner, 0));  // two chunks
    }
    EXPECT_EQ(this->slab.in_use(), 0u);
    EXPECT_LE(seen.size(), 17u * 8u) << "memory grows with the number of comms";
}

TYPED_TEST(RequestPoolTest, kept_memory_is_never_used_again) {
    std::set<TypeParam*> kept;
    {
        RequestPool<TypeParam> pool(this->slab, 16);
        for (int i = 0; i < 16; ++i) kept.insert(pool.acquire(this->owner, 0));
        pool.keep_memory();
    }
    EXPECT_EQ(this->slab.in_use(), 1u);
    for (int comm = 0; comm < 50; ++comm) {
        RequestPool<TypeParam> pool(this->slab, 16);
        for (int i = 0; i < 16; ++i) EXPECT_EQ(kept.count(pool.acquire(this->owner, 0)), 0u);
    }
}

TYPED_TEST(RequestPoolTest, those_given_back_late_are_used_again) {
    RequestPool<TypeParam> pool(this->slab, 16);
    std::set<TypeParam*> given, again;
    for (int i = 0; i < 16; ++i) given.insert(pool.acquire(this->owner, 0));
    EXPECT_EQ(pool.acquire(this->owner, 0), nullptr);
    for (TypeParam* request : given) {
        request->state = RequestState::free;
        pool.release_late(*request);
    }
    for (int i = 0; i < 16; ++i) again.insert(pool.acquire(this->owner, 0));
    EXPECT_EQ(again, given);
    EXPECT_EQ(pool.acquire(this->owner, 0), nullptr);
}

TYPED_TEST(RequestPoolTest, visits_exactly_the_pending_ones) {
    RequestPool<TypeParam> pool(this->slab, 32);
    std::set<TypeParam*> pending;
    for (int i = 0; i < 20; ++i) pending.insert(pool.acquire(this->owner, 0));
    TypeParam* finished = *pending.begin();
    pending.erase(pending.begin());
    finished->finish();
    std::set<TypeParam*> seen;
    pool.for_each_pending([&](TypeParam& request) { seen.insert(&request); });
    EXPECT_EQ(seen, pending);
    std::size_t slots = 0;
    pool.for_each_slot([&](TypeParam&) { ++slots; });
    EXPECT_EQ(slots, 32u);
}

TEST(RequestBounds, leave_room_for_what_callers_keep_outstanding) {
    EXPECT_GE(kMaxRecvRequests, 32u);  // net contract 3.4
    EXPECT_GE(kMaxSendRequests, 32u * 8u);
    EXPECT_EQ(kMaxSendRequests % RequestChunk<SendRequest>::kSlots, 0u)
        << "the bound is in whole chunks";
    EXPECT_EQ(kMaxRecvRequests % RequestChunk<RecvRequest>::kSlots, 0u);
}

}  // namespace
}  // namespace duofi::net
