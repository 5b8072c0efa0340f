// The test entry on requests in every state (net contract 3.5).
#include "tests/unit/net_plugin/entry/fake_protocol.hpp"

namespace duofi::net::entry_test {
namespace {

class Requests : public EntryTest {
  protected:
    Request* post(int count = 1) { return fake.endpoint.post(count); }
    FakeOwner& owner() { return fake.endpoint.owner; }
    int done = 77;
    int sizes[Request::kMaxSizes + 1] = {-7, -7, -7, -7, -7, -7, -7, -7, -7};
};

TEST_F(Requests, pending_until_done_then_freed_once) {
    owner().progresses_until_done = 2;
    Request* request = post();
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(table.test(request, &done, sizes), ncclSuccess);
        EXPECT_EQ(done, 0);
        EXPECT_EQ(sizes[0], -7) << "sizes are written when done";
    }
    EXPECT_EQ(table.test(request, &done, sizes), ncclSuccess);
    EXPECT_EQ(done, 1);
    EXPECT_EQ(sizes[0], 100);
    EXPECT_EQ(calls(), list({"progress", "progress", "progress", "retire"}));
}

TEST_F(Requests, exactly_n_sizes_are_written) {
    for (int n = 1; n <= Request::kMaxSizes; ++n) {
        std::fill(std::begin(sizes), std::end(sizes), -7);
        EXPECT_EQ(table.test(post(n), &done, sizes), ncclSuccess);
        for (int i = 0; i <= Request::kMaxSizes; ++i)
            EXPECT_EQ(sizes[i], i < n ? 100 + i : -7) << n;
    }
}

TEST_F(Requests, sizes_may_be_null) {
    EXPECT_EQ(table.test(post(8), &done, nullptr), ncclSuccess);
    EXPECT_EQ(done, 1);
}

TEST_F(Requests, tested_after_done_is_told) {
    Request* request = post();
    EXPECT_EQ(table.test(request, &done, sizes), ncclSuccess);
    ASSERT_EQ(done, 1);
    (void)calls();
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(table.test(request, &done, sizes), ncclInvalidUsage);
        EXPECT_EQ(done, 0);
    }
    EXPECT_EQ(lines().size(), 2u);
    EXPECT_TRUE(calls().empty()) << "a stale request reaches nobody";
}

TEST_F(Requests, a_failed_one_is_told_once) {
    owner().outcome = ncclRemoteError;
    Request* request = post();
    EXPECT_EQ(table.test(request, &done, sizes), ncclRemoteError);
    EXPECT_EQ(done, 0);
    EXPECT_EQ(sizes[0], -7);
    EXPECT_EQ(calls(), list({"progress", "retire"}));
    EXPECT_EQ(table.test(request, &done, sizes), ncclInvalidUsage);
}

TEST_F(Requests, of_a_failed_comm_fail_on_every_test) {
    owner().failed = ncclRemoteError;
    owner().progresses_until_done = 9;
    Request* request = post();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(table.test(request, &done, sizes), ncclRemoteError);
    EXPECT_EQ(done, 0);
    EXPECT_TRUE(lines().empty()) << "the loss was told once, by its comm";
    request->finish();  // what was done before the loss, or is found out now, is done
    EXPECT_EQ(table.test(request, &done, sizes), ncclSuccess);
    EXPECT_EQ(done, 1);
}

TEST_F(Requests, null_arguments_are_named) {
    EXPECT_EQ(table.test(nullptr, &done, sizes), ncclInternalError);
    EXPECT_EQ(lines(), list({"NET/OFI test: argument request is NULL"}));
    Request* request = post();
    EXPECT_EQ(table.test(request, nullptr, sizes), ncclInternalError);
    EXPECT_EQ(lines(), list({"NET/OFI test: argument done is NULL"}));
    EXPECT_TRUE(calls().empty());
}

TEST_F(Requests, memory_never_used_reads_as_free) {
    Request fresh;
    EXPECT_EQ(table.test(&fresh, &done, sizes), ncclInvalidUsage);
    fresh.state = RequestState::pending;
    fresh.magic = 0;
    EXPECT_EQ(table.test(&fresh, &done, sizes), ncclInvalidUsage);
}

}  // namespace
}  // namespace duofi::net::entry_test
