// Ownership, deadlines and broken promises of a table (rma contract 3.2 to 3.10).
#include "common/loader/rma_client.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/unit/gin/fake_rma.hpp"

namespace duofi::loader::test {
namespace {

using gin::test::FakeRma;

/// A group of one rank.
class RmaClientTest : public ::testing::Test {
  protected:
    void SetUp() override {
        instance_ = *client_.init(1, nullptr);
        NetHandle handle;
        handle.fill(std::byte{0xFF});
        auto listener = client_.listen(instance_.get(), 0, handle);
        ASSERT_TRUE(listener);
        EXPECT_EQ(handle[127], std::byte{0}) << "zeroed before the call";
        std::vector<NetHandle> handles{handle};
        auto group = client_.connect(nullptr, *listener, handles, 0);
        ASSERT_TRUE(group);
        group_ = std::move(*group);
        context_ = *client_.create_context(group_, 2);
        window_ = *client_.register_memory(group_, std::as_writable_bytes(std::span(memory_)));
    }
    RmaPut put() const { return {0, 0, window_.get(), 8, 64, window_.get(), 0, 0}; }
    std::ptrdiff_t count(const char* call) const {
        const auto calls = fake_.set_up();
        return std::count(calls.begin(), calls.end(), call);
    }

    FakeRma fake_;
    RmaClient client_{fake_.table()};
    std::vector<std::uint64_t> memory_ = std::vector<std::uint64_t>(32);
    RmaInstance instance_;
    RmaGroup group_;
    RmaContext context_;
    RmaWindow window_;
};

TEST_F(RmaClientTest, puts_signals_gets_and_flushes_complete) {
    const Deadline deadline(5 * kSecond);
    memory_[0] = 77;
    auto putting = client_.put(context_, put());
    auto signalling =
        client_.put_signal(context_, put(), {128, window_.get(), 5, NCCL_NET_SIGNAL_OP_ADD, true});
    auto getting = client_.get(context_, {1, 64, window_.get(), 8, 200, window_.get(), 0, 0});
    auto flushing = client_.flush(context_, 0, window_, 0);
    ASSERT_TRUE(putting && signalling && getting && flushing);
    std::vector<RmaOperation> all{*putting, *signalling, *getting, *flushing};
    ASSERT_TRUE(client_.wait_all(all, deadline));
    for (const RmaOperation& operation : all) EXPECT_EQ(operation.request, nullptr);
    EXPECT_EQ(memory_[8], 77U);
    EXPECT_EQ(memory_[16], 5U);
    EXPECT_EQ(memory_[25], 77U);
    EXPECT_TRUE(*client_.test(all[0])) << "an empty operation counts as done";
}

TEST_F(RmaClientTest, a_wait_ends_at_its_deadline_and_can_go_on) {
    fake_.hold = true;
    auto operation = client_.put(context_, put());
    ASSERT_TRUE(operation);
    const auto late = client_.wait(*operation, Deadline(10 * kMillisecond));
    ASSERT_FALSE(late);
    EXPECT_TRUE(late.error().timed_out);
    EXPECT_EQ(to_string(late.error()), "test did not finish before the deadline");
    EXPECT_NE(operation->request, nullptr);
    fake_.complete_all();
    EXPECT_TRUE(client_.wait(*operation, Deadline(5 * kSecond)));
}

TEST_F(RmaClientTest, a_failed_test_releases_the_operation) {
    auto operation = client_.put(context_, put());
    ASSERT_TRUE(operation);
    fake_.faults.test = ncclRemoteError;
    const auto failed = client_.wait(*operation, Deadline(kSecond));
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().result, ncclRemoteError);
    EXPECT_EQ(operation->request, nullptr) << "E-7: reported once";
}

TEST_F(RmaClientTest, success_without_a_request_is_an_error_except_for_a_flush) {
    fake_.faults.null_requests = true;
    const auto putting = client_.put(context_, put());
    ASSERT_FALSE(putting);
    EXPECT_EQ(putting.error().result, ncclInternalError);
    EXPECT_FALSE(client_.put_signal(context_, put(), {128, window_.get()}));
    EXPECT_FALSE(client_.get(context_, {0, 0, window_.get(), 8, 0, window_.get(), 0, 0}));
    auto flushing = client_.flush(context_, 0, window_, 0);
    ASSERT_TRUE(flushing);  // F-2
    EXPECT_TRUE(client_.wait(*flushing, Deadline(kSecond)));
}

TEST_F(RmaClientTest, refusals_carry_the_plugins_code_and_the_call) {
    fake_.faults.data = ncclInvalidArgument;
    EXPECT_EQ(to_string(client_.put(context_, put()).error()),
              "iput returned ncclInvalidArgument (4)");
    fake_.faults.listen = ncclSystemError;
    NetHandle handle;
    EXPECT_EQ(to_string(client_.listen(nullptr, 0, handle).error()),
              "listen returned ncclSystemError (2)");
}

TEST_F(RmaClientTest, owned_objects_are_ended_once) {
    RmaWindow moved = std::move(window_);
    EXPECT_FALSE(window_);
    EXPECT_TRUE(moved);
    EXPECT_EQ(moved.owner(), group_.get());
    EXPECT_EQ(moved.close(), ncclSuccess);
    EXPECT_EQ(moved.close(), ncclSuccess);
    EXPECT_EQ(count("deregMrSym"), 1);
    context_ = RmaContext();
    EXPECT_EQ(count("destroyContext"), 1);
    EXPECT_NE(group_.release(), nullptr);
    group_ = RmaGroup();
    EXPECT_EQ(count("closeColl"), 0) << "given up without a call";
}

}  // namespace
}  // namespace duofi::loader::test
