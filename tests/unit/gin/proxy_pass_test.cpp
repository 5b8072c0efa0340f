// What one pass of the proxy does beyond batches: arguments, completions, counters, inline values
// (rma contract 4.4).
// Units: common/gin/proxy_pass, common/gin/proxy_context.
#include "tests/unit/gin/solo.hpp"

namespace duofi::gin::test {
namespace {

class ProxyPass : public Solo {
  protected:
    void SetUp() override {
        Solo::SetUp();
        DeviceCommShape made = shape();
        made.shape.contexts = 2;
        open(made);
    }
    FakeCall only_call() {
        proxy_->progress();
        const auto calls = fake_.calls();
        EXPECT_EQ(calls.size(), 1U);
        return calls.empty() ? FakeCall() : calls.front();
    }
};

TEST_F(ProxyPass, sets_a_context_up_as_the_callers_do) {
    // 2 contexts x (4 signals + 3 words of barriers) x 8 bytes; 3 rings of 32 inline values.
    const std::vector<std::string> expected{"listen 0",
                                            "getProperties 0",
                                            "connect 3",
                                            "closeListen",
                                            "regMrSym 4096 flags 0",
                                            "createContext 2",
                                            "getRmaProperties",
                                            "regMrSym 112 flags 3",
                                            "regMrSym 768 flags 0",
                                            "regMrSym 768 flags 0"};
    EXPECT_EQ(fake_.set_up(), expected);
    ASSERT_TRUE(proxy_->close());
    const auto all = fake_.set_up();
    const std::vector<std::string> end(all.begin() + static_cast<std::ptrdiff_t>(expected.size()),
                                       all.end());
    EXPECT_EQ(end, (std::vector<std::string>{"destroyContext", "deregMrSym", "deregMrSym",
                                             "deregMrSym", "deregMrSym", "closeColl"}));
}

TEST_F(ProxyPass, a_put_reaches_the_table_as_it_was_posted) {
    ASSERT_EQ(device(1).put(2, {window_, 24}, {window_, 16}, 40), GinStatus::done);
    const FakeCall call = only_call();
    EXPECT_EQ(call.kind, CallKind::iput);
    EXPECT_EQ(call.context, 1);
    EXPECT_EQ(call.rank, 2U);
    EXPECT_EQ(call.bytes, 40U);
    EXPECT_EQ(call.src_offset, 16U);
    EXPECT_EQ(call.dst_offset, 24U);
    EXPECT_EQ(call.src, window_.handles[0]);
    EXPECT_EQ(call.dst, window_.handles[0]);
}

TEST_F(ProxyPass, an_indexed_signal_is_a_word_of_its_context) {
    Signal signal = Signal::plus(3, 0x123456789ABCDEF0);
    signal.strong = false;
    ASSERT_EQ(device(1).put(1, {window_, 0}, {window_, 0}, 8, signal), GinStatus::done);
    const FakeCall call = only_call();
    EXPECT_EQ(call.kind, CallKind::iput_signal);
    EXPECT_EQ(call.signal_offset, (3U + 7U) * 8U);
    EXPECT_EQ(call.op, static_cast<std::uint32_t>(NCCL_NET_SIGNAL_OP_ADD));
    EXPECT_EQ(call.value, 0x123456789ABCDEF0U);
    EXPECT_FALSE(call.strong);
}

TEST_F(ProxyPass, a_signal_by_address_has_no_data_and_no_handles) {
    ASSERT_EQ(device().signal(1, Signal::plus_at(window_, 80, 5)), GinStatus::done);
    const FakeCall call = only_call();
    EXPECT_EQ(call.kind, CallKind::iput_signal);
    EXPECT_EQ(call.src, nullptr);
    EXPECT_EQ(call.dst, nullptr);
    EXPECT_EQ(call.bytes, 0U);
    EXPECT_EQ(call.signal, window_.handles[0]);
    EXPECT_EQ(call.signal_offset, 80U);
    EXPECT_EQ(call.value, 5U);
    EXPECT_TRUE(call.strong);
}

TEST_F(ProxyPass, a_get_names_the_remote_side_first) {
    ASSERT_EQ(device().get(1, {window_, 8}, {window_, 96}, 16), GinStatus::done);
    const FakeCall call = only_call();
    EXPECT_EQ(call.kind, CallKind::iget);
    EXPECT_EQ(call.src_offset, 8U);
    EXPECT_EQ(call.dst_offset, 96U);
    EXPECT_EQ(call.bytes, 16U);
}

TEST_F(ProxyPass, inline_values_come_from_a_cell_of_their_slot) {
    Device kernel = device();
    ASSERT_EQ(kernel.put_value<std::uint8_t>(2, {window_, 0}, 0x5A), GinStatus::done);
    ASSERT_EQ(kernel.put_value<std::uint16_t>(2, {window_, 8}, 0xA55A), GinStatus::done);
    ASSERT_EQ(kernel.put_value<std::uint32_t>(2, {window_, 16}, 0xDEADBEEF), GinStatus::done);
    ASSERT_EQ(kernel.put_value<std::uint64_t>(2, {window_, 24}, 0x1122334455667788),
              GinStatus::done);
    proxy_->progress();
    const auto calls = fake_.calls();
    ASSERT_EQ(calls.size(), 4U);
    const std::uint64_t values[] = {0x5A, 0xA55A, 0xDEADBEEF, 0x1122334455667788};
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(calls[i].bytes, std::size_t{1} << i);
        EXPECT_EQ(calls[i].first_word, values[i]);
        EXPECT_EQ(calls[i].src_offset, 8 * (2 * 32 + i)) << "cell of peer 2, slot " << i;
        EXPECT_EQ(calls[i].dst_offset, 8 * i);
    }
}

TEST_F(ProxyPass, a_request_is_first_tested_in_the_pass_after_its_own) {
    post_put(1);
    proxy_->progress();
    EXPECT_TRUE(fake_.tested().empty());
    proxy_->progress();
    EXPECT_EQ(fake_.tested().size(), 1U);
    EXPECT_EQ(proxy_->progress(), Pass::idle);
    EXPECT_EQ(fake_.tested().size(), 1U) << "a request that is done is dead (E-2)";
    EXPECT_EQ(fake_.progress_calls(), 3);
}

TEST_F(ProxyPass, the_consumer_index_waits_for_the_head_and_never_goes_back) {
    fake_.hold = true;
    post_puts(1, 3);
    proxy_->progress();
    const auto calls = fake_.calls();
    fake_.complete(calls[2]);
    fake_.complete(calls[1]);
    proxy_->progress();
    EXPECT_EQ(rings().consumed(1), 0U) << "done out of order, but the head is not";
    fake_.complete(calls[0]);
    const std::size_t tests_before = fake_.tested().size();
    proxy_->progress();
    EXPECT_EQ(rings().consumed(1), 3U) << "the head takes the finished ones along";
    EXPECT_EQ(fake_.tested().size(), tests_before + 1);
}

TEST_F(ProxyPass, counters_count_each_completion_once) {
    fake_.hold = true;
    for (int i = 0; i < 5; ++i) post_put(1, 0, 2);
    post_put(2, 0, 2);
    post_put(2, 0, 3);
    for (int pass = 0; pass < 3; ++pass) proxy_->progress();
    EXPECT_EQ(device().read_counter(2), 0U);
    fake_.complete(fake_.calls()[3]);  // behind an open head: counted all the same
    proxy_->progress();
    EXPECT_EQ(device().read_counter(2), 1U);
    fake_.complete_all();
    for (int pass = 0; pass < 3; ++pass) proxy_->progress();
    EXPECT_EQ(device().read_counter(2), 6U);
    EXPECT_EQ(device().read_counter(3), 1U);
    EXPECT_EQ(device(1).read_counter(2), 0U) << "contexts have their own";
    device().reset_counter(2);
    EXPECT_EQ(device().read_counter(2), 0U);
}

TEST_F(ProxyPass, a_flush_without_a_request_is_done_at_once) {
    fake_.null_flush = true;
    Descriptor flush;
    flush.op = op_flush;
    ASSERT_EQ(device().post(0, pack(flush)), GinStatus::done);
    proxy_->progress();
    proxy_->progress();
    EXPECT_EQ(rings().consumed(0), 1U);
    EXPECT_TRUE(fake_.tested().empty());
    EXPECT_FALSE(proxy_->failed());
}

TEST_F(ProxyPass, the_version_decides_how_a_signal_is_read) {
    Descriptor old;
    old.op = op_put | op_signal_inc;
    old.version = 1;
    ASSERT_EQ(device().post(1, pack(old)), GinStatus::done);
    EXPECT_TRUE(only_call().strong);
}

}  // namespace
}  // namespace duofi::gin::test
