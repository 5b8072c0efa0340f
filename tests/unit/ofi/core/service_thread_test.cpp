// One service thread from the first open endpoint to the last close (architecture 4.7, 4.9).
#include "common/ofi/service_thread.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

#include "common/ofi/endpoint.hpp"
#include "tests/support/failure.hpp"
#include "tests/support/process_facts.hpp"
#include "tests/unit/ofi/core/packet_text.hpp"
#include "tests/unit/ofi/core/provider_device.hpp"

namespace duofi::test {
namespace {

using ofi::Endpoint;

class Service : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        if (!device_.find(GetParam())) GTEST_SKIP() << GetParam() << " is not in this libfabric";
    }
    std::shared_ptr<Endpoint> open() {
        auto domain = ofi::Domain::open(device_.device(), device_.settings());
        if (!domain) return nullptr;
        auto endpoint = Endpoint::open(std::move(*domain));
        return endpoint ? std::move(*endpoint) : nullptr;
    }
    ProviderDevice device_;
};

TEST_P(Service, StartAndStopAgainAndAgainLeavesNoThread) {
    { const auto warm = open(); }  // what the library itself keeps
    const int before = ProcessFacts::now().threads;
    // Endpoints of the expensive kind take a tenth of a second each.
    const int rounds = device_.device().endpoint_cost == ofi::EndpointCost::expensive ? 10 : 200;
    for (int i = 0; i < rounds; ++i) {
        const auto endpoint = open();
        ASSERT_NE(endpoint, nullptr) << i;
        ASSERT_GT(ProcessFacts::now().threads, before) << i;
    }
    EXPECT_EQ(ProcessFacts::now().threads, before) << ProcessFacts::now().to_string();
}

TEST_P(Service, ManyEndpointsShareOneThread) {
    const auto first = open();
    ASSERT_NE(first, nullptr);
    const auto second = open();
    ASSERT_NE(second, nullptr);
    const int two = ProcessFacts::now().threads;
    ofi::service_abandon();
    EXPECT_EQ(ProcessFacts::now().threads, two - 1) << "abandon joins the one thread";
    ofi::service_wake();  // nobody to wake: harmless
    const auto third = open();
    ASSERT_NE(third, nullptr);
    EXPECT_GE(ProcessFacts::now().threads, two) << "a later endpoint starts it again";
}

/// Nobody polls: the thread alone moves the messages of both sides, and ticks go on.
TEST_P(Service, MovesWhatNobodyPolls) {
    struct Counter final : ofi::PortOwner {
        void on_message(const ofi::Message& message) noexcept override {
            values.push_back(message.header.value);
        }
        std::vector<std::uint64_t> values;
    } counter;
    const auto from = open(), to = open();
    ASSERT_TRUE(from != nullptr && to != nullptr);
    constexpr std::uint64_t kMessages = 500;
    std::uint32_t port = 0;
    {
        const std::scoped_lock lock(to->mutex());
        port = to->ports().open(&counter);
    }
    {
        const std::scoped_lock lock(from->mutex());
        ofi::Peer* peer = from->acquire_peer(to->name());
        ASSERT_NE(peer, nullptr);
        for (std::uint64_t i = 0; i < kMessages; ++i) {
            ofi::MessageHeader header;
            header.kind = static_cast<std::uint16_t>(ofi::MessageKind::net_eager);
            header.port = port;
            header.value = i;
            ASSERT_TRUE(from->send_message(*peer, header, Bytes(200)));
        }
    }
    ofi::service_wake();
    const Deadline deadline(20 * kSecond);
    std::size_t arrived = 0;
    while (arrived < kMessages && !deadline.passed()) {
        const std::scoped_lock lock(to->mutex());
        arrived = counter.values.size();
    }
    const std::scoped_lock lock(to->mutex());
    ASSERT_EQ(counter.values.size(), kMessages);
    for (std::uint64_t i = 0; i < kMessages; ++i) ASSERT_EQ(counter.values[i], i);
    to->ports().close(port);
}

/// Whoever closes last must not send into what the other has given up (on shm its memory is unmapped, P15).
TEST_P(Service, TwoEndpointsOfOneProcessCloseAtTheSameTime) {
    if (ofi::quirk_for(device_.device().provider, fi_version()).same_node_only)
        GTEST_SKIP() << "its progress reaches into the memory of a closed endpoint; the plugin opens one per process";
    const int rounds = device_.device().endpoint_cost == ofi::EndpointCost::expensive ? 5 : 100;
    for (int round = 0; round < rounds; ++round) {
        auto first = open(), second = open();
        ASSERT_TRUE(first != nullptr && second != nullptr);
        const ofi::EndpointName names[] = {first->name(), second->name()};
        ofi::MessageHeader header;
        header.kind = static_cast<std::uint16_t>(ofi::MessageKind::net_eager);
        header.port = 0xffff;  // nobody there
        const auto talk = [&](Endpoint& from, const ofi::EndpointName& to) {
            const std::scoped_lock lock(from.mutex());
            ofi::Peer* peer = from.acquire_peer(to);
            ASSERT_NE(peer, nullptr);
            from.identify(*peer, from.identity(), 9000);  // as a handshake does
            for (int i = 0; i < 100; ++i) ASSERT_TRUE(from.send_message(*peer, header, Bytes(4000)));
        };
        talk(*first, names[1]);
        talk(*second, names[0]);
        const Nanoseconds start = now_ns();
        std::thread other([&] { first.reset(); });
        second.reset();
        other.join();
        EXPECT_LT(now_ns() - start, patience(2 * kSecond)) << round;
    }
}

INSTANTIATE_TEST_SUITE_P(Providers, Service, testing::ValuesIn(kTestProviders), provider_word);

}  // namespace
}  // namespace duofi::test
