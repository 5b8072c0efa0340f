// Tables that fail, and descriptors that never become whole: the proxy stops, waiters learn of it,
// closing works.
// Units: common/gin/proxy_pass, common/gin/proxy_context, common/gin/gin_proxy.
#include <thread>

#include "tests/unit/gin/solo.hpp"

namespace duofi::gin::test {
namespace {

class ProxyFailureTest : public Solo {
  protected:
    void expect_stopped(ncclResult_t result, const char* call) {
        EXPECT_EQ(proxy_->progress(), Pass::failed);
        ASSERT_TRUE(proxy_->failed());
        EXPECT_EQ(comm_->part(0).failure().result, result);
        EXPECT_STREQ(comm_->part(0).failure().call, call);
        const std::size_t calls = fake_.calls().size();
        EXPECT_EQ(proxy_->progress(), Pass::failed);
        EXPECT_EQ(fake_.calls().size(), calls) << "nothing is called any more";
        EXPECT_EQ(device().put(1, {window_, 0}, {window_, 0}, 8), GinStatus::failed);
        EXPECT_TRUE(proxy_->close());
    }
};

TEST_F(ProxyFailureTest, a_refused_put_stops_the_proxy) {
    open(shape());
    fake_.faults.data = ncclInvalidArgument;
    post_put(1);
    expect_stopped(ncclInvalidArgument, "iput");
}

TEST_F(ProxyFailureTest, a_failed_test_stops_the_proxy) {
    open(shape());
    post_put(1);
    proxy_->progress();
    fake_.faults.test = ncclRemoteError;
    expect_stopped(ncclRemoteError, "test");
}

TEST_F(ProxyFailureTest, success_without_a_request_stops_the_proxy) {
    open(shape());
    fake_.faults.null_requests = true;
    post_put(1);
    expect_stopped(ncclInternalError, "iput");
}

TEST_F(ProxyFailureTest, the_callers_pass_a_missing_request_to_test) {
    DeviceCommShape made = shape();
    made.shape.strict = false;
    open(made);
    fake_.faults.null_requests = true;
    post_put(1);
    EXPECT_EQ(proxy_->progress(), Pass::busy);
    expect_stopped(ncclInternalError, "test");
    EXPECT_EQ(fake_.tested(), std::vector<void*>{nullptr});
}

TEST_F(ProxyFailureTest, what_rmaProgress_returns_is_ignored) {
    open(shape());
    fake_.faults.progress = ncclSystemError;
    post_put(1);
    proxy_->progress();
    proxy_->progress();
    EXPECT_FALSE(proxy_->failed());
    EXPECT_EQ(rings().consumed(1), 1U);
}

TEST_F(ProxyFailureTest, a_counter_or_signal_out_of_range_is_refused_on_both_sides) {
    open(shape());
    Device kernel = device();
    EXPECT_EQ(kernel.put(1, {window_, 0}, {window_, 0}, 8, {}, 4), GinStatus::bad_argument);
    EXPECT_EQ(kernel.put(1, {window_, 0}, {window_, 0}, 8, Signal::inc(7)),
              GinStatus::bad_argument);
    EXPECT_EQ(kernel.put(kPeers, {window_, 0}, {window_, 0}, 8), GinStatus::bad_argument);
    EXPECT_EQ(kernel.wait_counter(9, 1), GinStatus::bad_argument);
    Descriptor bad;
    bad.op = op_put | op_counter;
    bad.counter = 4;
    ASSERT_EQ(kernel.post(1, pack(bad)), GinStatus::done);
    expect_stopped(ncclInvalidArgument, "counter");
}

TEST_F(ProxyFailureTest, an_unknown_operation_stops_the_proxy) {
    open(shape());
    ASSERT_EQ(device().post(1, pack(Descriptor())), GinStatus::done);
    expect_stopped(ncclInternalError, "descriptor");
}

TEST_F(ProxyFailureTest, a_descriptor_that_stays_half_written_ends_at_the_limit) {
    DeviceCommShape made = shape();
    made.shape.write_limit = 20 * kMillisecond;
    open(made);
    PackedDescriptor torn = pack(Descriptor());
    torn.words[9] = 0;
    ASSERT_EQ(device().post(1, torn), GinStatus::done);
    expect_stopped(ncclInternalError, "descriptor");
}

TEST_F(ProxyFailureTest, a_descriptor_may_become_whole_while_the_proxy_waits) {
    open(shape());
    PackedDescriptor whole = pack({});
    whole.words[7] |= std::uint64_t{op_put} << 8;
    PackedDescriptor torn = whole;
    torn.words[7] = 0;
    const std::uint32_t index = rings().reserve(1);
    rings().write(1, index, torn);
    std::thread late([&] { rings().write(1, index, whole); });
    EXPECT_EQ(proxy_->progress(), Pass::busy);
    late.join();
    EXPECT_EQ(fake_.calls().size(), 1U);
}

TEST_F(ProxyFailureTest, requests_that_are_never_done_end_waits_at_their_limit) {
    DeviceCommShape made = shape();
    made.device.limit = 30 * kMillisecond;
    open(made);
    fake_.faults.never_done = true;
    proxy_->start();
    post_put(1);
    EXPECT_EQ(device().flush(1), GinStatus::timed_out);
    EXPECT_FALSE(proxy_->failed());
    EXPECT_TRUE(proxy_->close()) << "also with an operation in flight (X-5)";
    EXPECT_EQ(fake_.open_requests(), 1U);
}

TEST_F(ProxyFailureTest, a_full_ring_ends_the_wait_for_credit_at_its_limit) {
    DeviceCommShape made = shape();
    made.shape.queue_size = 1;
    made.device.limit = 20 * kMillisecond;
    open(made);
    post_put(1);
    EXPECT_EQ(device().put(1, {window_, 0}, {window_, 0}, 8), GinStatus::timed_out);
}

TEST_F(ProxyFailureTest, waiters_learn_that_the_threads_have_stopped) {
    GinOptions options;
    options.connections = 2;
    options.threads = 1;
    DeviceCommShape made = shape();
    made.shape.contexts = 2;
    open(made, options);
    fake_.faults.data = ncclSystemError;
    proxy_->start();
    post_put(1);
    EXPECT_EQ(device(0).flush(1), GinStatus::failed);
    EXPECT_EQ(device(1).wait_signal(0, 1), GinStatus::failed) << "served by the same thread";
    auto later = proxy_->create(shape());
    ASSERT_TRUE(later);
    EXPECT_TRUE((*later)->failed()) << "nobody serves it";
}

TEST_F(ProxyFailureTest, the_plugins_own_error_is_visible) {
    open(shape());
    EXPECT_FALSE(comm_->plugin_reports_error());
    fake_.faults.last_error = true;
    EXPECT_TRUE(comm_->plugin_reports_error());
}

}  // namespace
}  // namespace duofi::gin::test
