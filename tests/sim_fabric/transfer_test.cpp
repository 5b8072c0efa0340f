// What a provider must do, as the manual pages tell it: fi_msg(3), fi_tagged(3), fi_rma(3), fi_cq(3), fi_mr(3).
// Units: sim_fabric/endpoint, sim_fabric/transmitter, sim_fabric/receiver, sim_fabric/post_calls, sim_fabric/queue,
// sim_fabric/domain, sim_fabric/port, sim_fabric/nic_thread, sim_fabric/options, sim_fabric/provider
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "tests/sim_fabric/fabric_ends.hpp"

namespace duofi::test {
namespace {

int contexts[8];

void fill(Region& region, std::uint8_t first) { std::iota(region.bytes.begin(), region.bytes.end(), first); }

TEST(Message, ArrivesWithLengthContextAndSource) {
    Pair pair;
    fill(pair.at_a, 7);
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, pair.at_a.bytes.size()}) {
        SCOPED_TRACE(bytes);
        std::fill(pair.at_b.bytes.begin(), pair.at_b.bytes.end(), std::uint8_t{0});
        ASSERT_EQ(fi_recv(pair.b.ep, pair.at_b.bytes.data(), pair.at_b.bytes.size(), pair.at_b.descriptor(), FI_ADDR_UNSPEC,
                          &contexts[0]), 0);
        ASSERT_EQ(post([&] { return fi_send(pair.a.ep, pair.at_a.bytes.data(), bytes, pair.at_a.descriptor(), pair.to_b, &contexts[1]); },
                       {&pair.a, &pair.b}), 0);
        const Event received = pair.b.next({&pair.a});
        EXPECT_EQ(received.error, 0);
        EXPECT_EQ(received.entry.op_context, &contexts[0]);
        EXPECT_EQ(received.entry.len, bytes);
        EXPECT_EQ(received.entry.flags & (FI_RECV | FI_MSG), FI_RECV | FI_MSG);
        EXPECT_EQ(received.source, pair.to_a);
        EXPECT_TRUE(std::equal(pair.at_a.bytes.begin(), pair.at_a.bytes.begin() + static_cast<long>(bytes), pair.at_b.bytes.begin()));
        const Event sent = pair.a.next({&pair.b});
        EXPECT_EQ(sent.entry.op_context, &contexts[1]);
        EXPECT_EQ(sent.entry.flags & (FI_SEND | FI_MSG), FI_SEND | FI_MSG);
    }
}

TEST(Message, WaitsForItsReceive) {
    Pair pair(300000);
    fill(pair.at_a, 1);
    ASSERT_EQ(post([&] { return fi_send(pair.a.ep, pair.at_a.bytes.data(), 300000, pair.at_a.descriptor(), pair.to_b, &contexts[0]); },
                   {&pair.a, &pair.b}), 0);
    EXPECT_EQ(pair.a.next({&pair.b}).error, 0) << "arrived as a whole, although nobody has asked for it";
    ASSERT_EQ(fi_recv(pair.b.ep, pair.at_b.bytes.data(), 300000, pair.at_b.descriptor(), FI_ADDR_UNSPEC, &contexts[1]), 0);
    EXPECT_EQ(pair.b.next().entry.len, 300000U);
    EXPECT_EQ(pair.at_a.bytes, pair.at_b.bytes);
}

TEST(Message, IsCutOffAndTheNextOneIsWhole) {
    Pair pair;
    fill(pair.at_a, 3);
    for (int i = 0; i < 2; ++i)
        ASSERT_EQ(fi_recv(pair.b.ep, pair.at_b.bytes.data() + 100 * i, 100, pair.at_b.descriptor(), FI_ADDR_UNSPEC, &contexts[i]), 0);
    for (const std::size_t bytes : {std::size_t{150}, std::size_t{100}})
        ASSERT_EQ(post([&] { return fi_send(pair.a.ep, pair.at_a.bytes.data(), bytes, pair.at_a.descriptor(), pair.to_b, nullptr); },
                       {&pair.a, &pair.b}), 0);
    const Event cut = pair.b.next({&pair.a});
    EXPECT_EQ(cut.error, FI_ETRUNC);
    EXPECT_EQ(cut.cut_off, 50U);
    EXPECT_EQ(cut.entry.op_context, &contexts[0]);
    const Event whole = pair.b.next({&pair.a});
    EXPECT_EQ(whole.error, 0);
    EXPECT_TRUE(std::equal(pair.at_a.bytes.begin(), pair.at_a.bytes.begin() + 100, pair.at_b.bytes.begin() + 100));
}

TEST(Message, KeepsOrderAndCarriesData) {
    Pair pair;
    constexpr int kMessages = 200;
    std::vector<std::uint32_t> in(kMessages), out(kMessages);
    for (int i = 0; i < kMessages; ++i)
        ASSERT_EQ(fi_recv(pair.b.ep, pair.at_b.bytes.data() + 4 * i, 4, pair.at_b.descriptor(), FI_ADDR_UNSPEC, nullptr), 0);
    for (std::uint32_t i = 0; i < kMessages; ++i) {
        std::memcpy(pair.at_a.bytes.data() + 4 * i, &i, 4);
        ASSERT_EQ(post([&] { return fi_senddata(pair.a.ep, pair.at_a.bytes.data() + 4 * i, 4, pair.at_a.descriptor(), 1000 + i, pair.to_b, nullptr); },
                       {&pair.a, &pair.b}), 0);
    }
    for (std::uint32_t i = 0; i < kMessages; ++i) {
        const Event received = pair.b.next({&pair.a});
        std::uint32_t value = 0;
        std::memcpy(&value, pair.at_b.bytes.data() + 4 * i, 4);
        ASSERT_EQ(value, i);
        ASSERT_EQ(received.entry.data, 1000 + i);
        ASSERT_NE(received.entry.flags & FI_REMOTE_CQ_DATA, 0U);
    }
}

TEST(Tagged, MatchesTagsWithIgnoredBits) {
    Pair pair;
    ASSERT_EQ(fi_trecv(pair.b.ep, pair.at_b.bytes.data(), 8, pair.at_b.descriptor(), FI_ADDR_UNSPEC, 0x10, 0, &contexts[0]), 0);
    ASSERT_EQ(fi_trecv(pair.b.ep, pair.at_b.bytes.data() + 8, 8, pair.at_b.descriptor(), FI_ADDR_UNSPEC, 0x20, 0x0f, &contexts[1]), 0);
    for (const std::uint64_t tag : {std::uint64_t{0x25}, std::uint64_t{0x10}}) {
        std::memcpy(pair.at_a.bytes.data(), &tag, 8);
        ASSERT_EQ(post([&] { return fi_tinject(pair.a.ep, pair.at_a.bytes.data(), 8, pair.to_b, tag); }, {&pair.a, &pair.b}), 0);
    }
    const Event first = pair.b.next({&pair.a});
    EXPECT_EQ(first.entry.op_context, &contexts[1]);
    EXPECT_EQ(first.entry.tag, 0x25U);
    EXPECT_NE(first.entry.flags & FI_TAGGED, 0U);
    EXPECT_EQ(pair.b.next({&pair.a}).entry.op_context, &contexts[0]);
    Event none;
    for (int i = 0; i < 100; ++i) ASSERT_FALSE(pair.a.poll(none)) << "an inject call has no completion";
}

TEST(Tagged, ReceiveIsCancelled) {
    Pair pair;
    ASSERT_EQ(fi_trecv(pair.b.ep, pair.at_b.bytes.data(), 8, pair.at_b.descriptor(), FI_ADDR_UNSPEC, 1, 0, &contexts[3]), 0);
    ASSERT_EQ(fi_cancel(&pair.b.ep->fid, &contexts[3]), 0);
    const Event cancelled = pair.b.next();
    EXPECT_EQ(cancelled.error, FI_ECANCELED);
    EXPECT_EQ(cancelled.entry.op_context, &contexts[3]);
}

TEST(OneSided, WriteAndRead) {
    Pair pair(500000);
    fill(pair.at_a, 11);
    ASSERT_EQ(post([&] { return fi_write(pair.a.ep, pair.at_a.bytes.data(), 400000, pair.at_a.descriptor(), pair.to_b,
                                         pair.at_b.address(1000), pair.at_b.key(), &contexts[0]); }, {&pair.a, &pair.b}), 0);
    const Event written = pair.a.next({&pair.b});
    ASSERT_EQ(written.error, 0);
    EXPECT_EQ(written.entry.op_context, &contexts[0]);
    EXPECT_EQ(written.entry.flags & (FI_RMA | FI_WRITE), FI_RMA | FI_WRITE);
    EXPECT_TRUE(std::equal(pair.at_a.bytes.begin(), pair.at_a.bytes.begin() + 400000, pair.at_b.bytes.begin() + 1000));
    ASSERT_EQ(post([&] { return fi_read(pair.b.ep, pair.at_b.bytes.data(), 300000, pair.at_b.descriptor(), pair.to_a,
                                        pair.at_a.address(5), pair.at_a.key(), &contexts[1]); }, {&pair.a, &pair.b}), 0);
    const Event read = pair.b.next({&pair.a});
    ASSERT_EQ(read.error, 0);
    EXPECT_EQ(read.entry.flags & (FI_RMA | FI_READ), FI_RMA | FI_READ);
    EXPECT_TRUE(std::equal(pair.at_b.bytes.begin(), pair.at_b.bytes.begin() + 300000, pair.at_a.bytes.begin() + 5));
}

TEST(OneSided, NeedsNoCallsOfTheTarget) {
    Pair pair;
    fill(pair.at_a, 2);
    ASSERT_EQ(post([&] { return fi_write(pair.a.ep, pair.at_a.bytes.data(), 1000, pair.at_a.descriptor(), pair.to_b, pair.at_b.address(),
                                         pair.at_b.key(), nullptr); }, {&pair.a}), 0);
    EXPECT_EQ(pair.a.next().error, 0);  // nobody reads b's queue
    EXPECT_EQ(pair.at_b.bytes[999], pair.at_a.bytes[999]);
}

TEST(OneSided, DataReachesTheTargetsQueue) {
    Pair pair;
    const bool takes_receive = provider_under_test() == "duofisim;verbs";
    if (takes_receive) {
        ASSERT_EQ(fi_recv(pair.b.ep, pair.at_b.bytes.data() + 60000, 8, pair.at_b.descriptor(), FI_ADDR_UNSPEC, &contexts[5]), 0);
    }
    const ssize_t code = post([&] { return fi_writedata(pair.a.ep, pair.at_a.bytes.data(), 2000, pair.at_a.descriptor(), 77, pair.to_b,
                                                        pair.at_b.address(), pair.at_b.key(), nullptr); }, {&pair.a, &pair.b});
    if (provider_under_test() == "duofisim;cxi") {
        EXPECT_EQ(code, -FI_EOPNOTSUPP);
        return;
    }
    ASSERT_EQ(code, 0);
    const Event told = pair.b.next({&pair.a});
    EXPECT_EQ(told.entry.flags & (FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA), FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA);
    EXPECT_EQ(told.entry.data, 77U);
    EXPECT_EQ(told.entry.len, 2000U);
    EXPECT_EQ(told.source, pair.to_a);
    EXPECT_EQ(told.entry.op_context, takes_receive ? &contexts[5] : nullptr);
}

TEST(OneSided, WrongKeyRangeAndEndOfRegistrationAreErrors) {
    Pair pair;
    const auto write = [&](std::uint64_t address, std::uint64_t key) {
        EXPECT_EQ(post([&] { return fi_write(pair.a.ep, pair.at_a.bytes.data(), 100, pair.at_a.descriptor(), pair.to_b, address, key, nullptr); },
                       {&pair.a, &pair.b}), 0);
        return pair.a.next({&pair.b});
    };
    const std::uint64_t key = pair.at_b.key();
    EXPECT_NE(write(pair.at_b.address(), key + 1).error, 0);
    EXPECT_NE(write(pair.at_b.address(pair.at_b.bytes.size() - 99), key).error, 0);
    EXPECT_NE(write(pair.at_b.address(), key ^ 0x80).provider_error, 0);
    EXPECT_EQ(write(pair.at_b.address(pair.at_b.bytes.size() - 100), key).error, 0);
    const std::uint64_t address = pair.at_b.address();
    pair.at_b.close();
    EXPECT_NE(write(address, key).error, 0);
}

TEST(Atomic, AddsAndFetches) {
    Pair pair;
    auto* word = reinterpret_cast<std::uint64_t*>(pair.at_b.bytes.data());
    *word = 40;
    std::uint64_t add = 2, old = 0;
    ASSERT_EQ(post([&] { return fi_atomic(pair.a.ep, &add, 1, nullptr, pair.to_b, pair.at_b.address(), pair.at_b.key(), FI_UINT64, FI_SUM, nullptr); },
                   {&pair.a, &pair.b}), 0);
    EXPECT_EQ(pair.a.next({&pair.b}).error, 0);
    EXPECT_EQ(*word, 42U);
    ASSERT_EQ(post([&] { return fi_fetch_atomic(pair.a.ep, &add, 1, nullptr, &old, nullptr, pair.to_b, pair.at_b.address(), pair.at_b.key(),
                                                FI_UINT64, FI_SUM, nullptr); }, {&pair.a, &pair.b}), 0);
    EXPECT_NE(pair.a.next({&pair.b}).entry.flags & FI_ATOMIC, 0U);
    EXPECT_EQ(old, 42U);
    EXPECT_EQ(*word, 44U);
    std::size_t count = 0;
    EXPECT_EQ(fi_atomicvalid(pair.a.ep, FI_UINT64, FI_SUM, &count), 0);
    EXPECT_GE(count, 1U);
    EXPECT_NE(fi_atomicvalid(pair.a.ep, FI_DOUBLE, FI_SUM, &count), 0);
}

TEST(Peer, ThatIsClosedIsUnreachable) {
    Pair pair;
    pair.at_b.close();
    pair.b.close_endpoint();
    for (int i = 0; i < 2; ++i) {
        ASSERT_EQ(post([&] { return fi_send(pair.a.ep, pair.at_a.bytes.data(), 10, pair.at_a.descriptor(), pair.to_b, &contexts[2]); }, {&pair.a}), 0);
        const Event failed = pair.a.next();
        EXPECT_NE(failed.error, 0);
        EXPECT_EQ(failed.entry.op_context, &contexts[2]);
    }
}

TEST(Peer, IsTheEndpointItself) {
    Pair pair;
    const fi_addr_t self = pair.a.insert(pair.a.name());
    fill(pair.at_a, 9);
    ASSERT_EQ(post([&] { return fi_read(pair.a.ep, pair.at_a.bytes.data() + 1000, 8, pair.at_a.descriptor(), self, pair.at_a.address(1),
                                        pair.at_a.key(), nullptr); }, {&pair.a}), 0);
    EXPECT_EQ(pair.a.next().error, 0);
    EXPECT_TRUE(std::equal(pair.at_a.bytes.begin() + 1, pair.at_a.bytes.begin() + 9, pair.at_a.bytes.begin() + 1000));
}

}  // namespace
}  // namespace duofi::test
