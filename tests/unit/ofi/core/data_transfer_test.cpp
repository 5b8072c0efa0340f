// Units: common/ofi/data_transfer.
// Large transfers of an endpoint: what the provider is given, and what its answers mean (P9).
#include <cstring>

#include "tests/unit/ofi/core/endpoint_fixture.hpp"

namespace duofi::test {
namespace {

using ofi::Posted;

struct Transfer : ofi::Operation {
    Transfer() {
        complete = [](ofi::Operation& self, const ofi::Completion& completion) noexcept {
            auto& transfer = static_cast<Transfer&>(self);
            ++transfer.ended;
            transfer.last = completion;
        };
    }
    int ended = 0;
    ofi::Completion last;
};

class DataTransfer : public EndpointTest {
  protected:
    void SetUp() override {
        open();
        to = &peer();
        endpoint_->add_user(*to, user);
    }
    void TearDown() override {
        endpoint_->remove_user(*to, user);
        fake_->hold_transfers(false);
        fake_->complete_transfers();
        EndpointTest::TearDown();
    }
    Posted write() { return endpoint_->post_write(*to, data, 32, &mark, 0x1000, 77, transfer); }
    Posted read() { return endpoint_->post_read(*to, data, 48, &mark, 0x2000, 78, transfer); }
    Posted tagged() { return endpoint_->post_tagged_send(*to, data, 16, &mark, 5, transfer); }

    ofi::Peer* to = nullptr;
    FakeUser user;
    Transfer transfer;
    std::byte data[64] = {};
    int mark = 0;
};

TEST_F(DataTransfer, names_the_peers_memory_as_the_caller_says) {
    fake_->hold_transfers(true);
    EXPECT_EQ(write(), Posted::yes);
    EXPECT_EQ(read(), Posted::yes);
    EXPECT_EQ(to->data_in_flight, 2u);
    const auto seen = fake_->transfers();
    ASSERT_EQ(seen.size(), 2u);
    EXPECT_FALSE(seen[0].read);
    EXPECT_TRUE(seen[1].read);
    for (const FakeTransfer& one : seen) {
        EXPECT_EQ(one.remote, kRemote);
        EXPECT_EQ(one.data, data);
        EXPECT_EQ(one.descriptor, &mark);
        EXPECT_EQ(one.context, &transfer.context);
    }
    EXPECT_EQ(seen[0].size, 32u);
    EXPECT_EQ(seen[0].address, 0x1000u);
    EXPECT_EQ(seen[0].key, 77u);
    EXPECT_EQ(seen[1].size, 48u);
    EXPECT_EQ(seen[1].address, 0x2000u);
    EXPECT_EQ(seen[1].key, 78u);
}

TEST_F(DataTransfer, ends_each_operation_exactly_once) {
    fake_->hold_transfers(true);
    Transfer second;
    ASSERT_EQ(write(), Posted::yes);
    ASSERT_EQ(endpoint_->post_read(*to, data, 8, nullptr, 0, 1, second), Posted::yes);
    poll(3);
    EXPECT_EQ(transfer.ended, 0);
    fake_->complete_transfer(1, -FI_EIO);  // shm reports the wrong sign (P5)
    poll(2);
    EXPECT_EQ(second.ended, 1);
    EXPECT_EQ(second.last.error, FI_EIO);
    EXPECT_EQ(transfer.ended, 0);
    fake_->complete_transfers();
    poll(3);
    EXPECT_EQ(transfer.ended, 1);
    EXPECT_EQ(transfer.last.error, 0);
    EXPECT_EQ(second.ended, 1);
    EXPECT_EQ(user.lost, 0) << "what an error means is for its owner to say";
    EXPECT_EQ(to->data_in_flight, 2u) << "the owner counts them down";
    to->data_in_flight = 0;
}

TEST_F(DataTransfer, owes_progress_while_one_is_in_flight) {
    poll(2);
    EXPECT_FALSE(endpoint_->owes_progress());
    fake_->hold_transfers(true);
    ASSERT_EQ(write(), Posted::yes);
    EXPECT_TRUE(endpoint_->owes_progress());
    to->data_in_flight = 0;
    EXPECT_FALSE(endpoint_->owes_progress());
}

TEST_F(DataTransfer, refused_for_now_is_no_loss) {
    for (const int code : {-FI_EAGAIN, -FI_ENOMEM}) {
        fake_->refuse_transfers(2, code);
        EXPECT_EQ(write(), Posted::again);
        const Nanoseconds since = to->blocked_since;
        EXPECT_NE(since, 0) << code;
        EXPECT_EQ(read(), Posted::again);
        EXPECT_EQ(to->blocked_since, since) << "of an unbroken row";
        EXPECT_EQ(to->data_in_flight, 0u);
        EXPECT_EQ(read(), Posted::yes);
        EXPECT_EQ(to->blocked_since, 0);
        --to->data_in_flight;
        poll();
    }
    EXPECT_EQ(user.lost, 0);
}

TEST_F(DataTransfer, refused_for_good_loses_the_peer) {
    fake_->refuse_transfers(1, -FI_ECONNREFUSED);
    EXPECT_EQ(write(), Posted::lost);
    EXPECT_EQ(user.lost, 1);
    EXPECT_TRUE(to->lost);
    EXPECT_EQ(log_.with("peer lost").size(), 1u) << log_.dump();
    EXPECT_EQ(transfer.ended, 0) << "an operation that was not taken does not end";
}

TEST_F(DataTransfer, a_provider_that_knows_no_delivery_complete_is_asked_once) {
    const auto placed = [&] { return endpoint_->post_placed_write(*to, data, 32, &mark, 0x1000, 77, false, transfer); };
    EXPECT_EQ(placed(), Posted::yes);
    EXPECT_TRUE(fake_->transfers().back().confirmed);
    fake_->refuse_transfers(1, -FI_EOPNOTSUPP);
    EXPECT_EQ(placed(), Posted::yes);
    EXPECT_FALSE(fake_->transfers().back().confirmed);
    EXPECT_EQ(placed(), Posted::yes);
    EXPECT_FALSE(fake_->transfers().back().confirmed) << "it is known by now";
}

TEST_F(DataTransfer, a_bad_write_does_not_cost_delivery_complete) {
    fake_->refuse_transfers(2, -FI_EINVAL);
    EXPECT_EQ(endpoint_->post_placed_write(*to, data, 32, &mark, 0x1000, 77, false, transfer), Posted::lost);
    ofi::Peer& other = peer(kRemote + 1);
    EXPECT_EQ(endpoint_->post_placed_write(other, data, 32, &mark, 0x1000, 77, false, transfer), Posted::yes);
    EXPECT_TRUE(fake_->transfers().back().confirmed);
}

TEST_F(DataTransfer, to_a_peer_that_is_gone_never_reaches_the_provider) {
    say(ofi::MessageKind::goodbye);
    poll();
    ASSERT_TRUE(to->departed);
    EXPECT_EQ(write(), Posted::lost);
    EXPECT_EQ(read(), Posted::lost);
    EXPECT_EQ(tagged(), Posted::lost);
    EXPECT_EQ(fake_->transfer_attempts(), 0u);
}

TEST_F(DataTransfer, tagged_sends_are_bounded_per_peer) {
    fake_->hold_sends(true);
    for (std::uint32_t i = 0; i < ofi::Endpoint::kMaxInFlight; ++i) ASSERT_EQ(tagged(), Posted::yes) << i;
    const std::size_t attempts = fake_->send_attempts();
    EXPECT_EQ(tagged(), Posted::again);
    EXPECT_EQ(fake_->send_attempts(), attempts);
    ofi::Peer& other = peer(kRemote + 1);
    EXPECT_EQ(endpoint_->post_tagged_send(other, data, 16, nullptr, 5, transfer), Posted::yes);
    to->data_in_flight = other.data_in_flight = 0;
}

}  // namespace
}  // namespace duofi::test
