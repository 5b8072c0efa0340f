// Batches and hints of the proxy's pass: the nine tests that the callers have (rma contract 4.5),
// under their names.
// Units: common/gin/proxy_pass, common/gin/proxy_context.
#include "tests/unit/gin/solo.hpp"

namespace duofi::gin::test {
namespace {

using PollBatch = Solo;
using Flags = std::vector<std::uint32_t>;

TEST_F(PollBatch, PollBatchDefaultsTo32) {
    EXPECT_EQ(kDefaultPollBatch, 32);
    EXPECT_EQ(ContextShape().poll_batch, 32);
}

TEST_F(PollBatch, DrainsAtMostPollBatchPerTick) {
    open(shape(4));
    post_puts(1, 10);
    EXPECT_EQ(proxy_->progress(), Pass::busy);
    EXPECT_EQ(fake_.calls().size(), 4U);
    proxy_->progress();
    EXPECT_EQ(fake_.calls().size(), 8U);
    proxy_->progress();
    EXPECT_EQ(fake_.calls().size(), 10U);
}

TEST_F(PollBatch, PollBatchOneIsSinglePullWithoutHint) {
    open(shape(1));
    post_puts(1, 3);
    for (std::size_t pass = 1; pass <= 3; ++pass) {
        proxy_->progress();
        EXPECT_EQ(fake_.calls().size(), pass);
    }
    EXPECT_EQ(flags(), (Flags{0, 0, 0}));
}

TEST_F(PollBatch, HintsAggregationWhileMoreAreQueued) {
    open(shape());
    post_puts(1, 5);
    proxy_->progress();
    EXPECT_EQ(flags(), (Flags{1, 1, 1, 1, 0}));
}

TEST_F(PollBatch, LastOpOfABatchIsNeverHinted) {
    open(shape(3));
    post_puts(1, 5);
    proxy_->progress();
    EXPECT_EQ(flags(), (Flags{1, 1, 0}));
    proxy_->progress();
    EXPECT_EQ(flags(), (Flags{1, 1, 0, 1, 0}));
}

TEST_F(PollBatch, HintReachesPutSignalAndGet) {
    open(shape());
    Device kernel = device();
    ASSERT_EQ(kernel.put(1, {window_, 0}, {window_, 8}, 8), GinStatus::done);
    ASSERT_EQ(kernel.put(1, {window_, 0}, {window_, 8}, 8, Signal::inc(0)), GinStatus::done);
    ASSERT_EQ(kernel.get(1, {window_, 0}, {window_, 8}, 8), GinStatus::done);
    post_put(1);
    proxy_->progress();
    const auto calls = fake_.calls();
    ASSERT_EQ(calls.size(), 4U);
    EXPECT_EQ(calls[0].kind, CallKind::iput);
    EXPECT_EQ(calls[1].kind, CallKind::iput_signal);
    EXPECT_EQ(calls[2].kind, CallKind::iget);
    EXPECT_EQ(flags(), (Flags{1, 1, 1, 0}));
}

TEST_F(PollBatch, FlushEndsAHintedRun) {
    open(shape());
    post_put(0);
    Descriptor flush;
    flush.op = op_flush;
    ASSERT_EQ(device().post(0, pack(flush)), GinStatus::done);
    proxy_->progress();
    const auto calls = fake_.calls();
    ASSERT_EQ(calls.size(), 2U);
    EXPECT_EQ(calls[0].flags, NCCL_RMA_OPT_FLAGS_AGGREGATE_REQUESTS);
    EXPECT_EQ(calls[1].kind, CallKind::iflush);
}

TEST_F(PollBatch, BatchAndHintArePerPeer) {
    open(shape(2));
    post_puts(1, 3);
    post_puts(2, 1);
    proxy_->progress();
    const auto calls = fake_.calls();
    ASSERT_EQ(calls.size(), 3U);
    EXPECT_EQ(calls[0].rank, 1U);
    EXPECT_EQ(calls[1].rank, 1U);
    EXPECT_EQ(calls[2].rank, 2U);
    EXPECT_EQ(flags(), (Flags{1, 0, 0}));
}

TEST_F(PollBatch, DrainedSlotsAreReleasedToTheProducer) {
    DeviceCommShape small = shape();
    small.shape.queue_size = 2;
    small.device.limit = 50 * kMillisecond;
    open(small);
    fake_.hold = true;
    post_puts(1, 2);
    for (int pass = 0; pass < 3; ++pass) proxy_->progress();
    EXPECT_EQ(rings().consumed(1), 0U) << "nothing is done yet";
    EXPECT_FALSE(rings().has_credit(1, rings().produced(1)));
    fake_.complete(fake_.calls()[0]);
    proxy_->progress();
    EXPECT_EQ(rings().consumed(1), 1U);
    fake_.complete_all();
    proxy_->progress();
    EXPECT_EQ(rings().consumed(1), 2U);
    post_puts(1, 2);  // the ring goes round
    proxy_->progress();
    EXPECT_EQ(fake_.calls().size(), 4U);
}

}  // namespace
}  // namespace duofi::gin::test
