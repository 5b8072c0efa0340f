// Units: net_plugin/comms/device.
// Which callers share an endpoint (architecture 4.4).
#include <thread>

#include "tests/support/fake_fabric.hpp"
#include "tests/unit/net_plugin/sendrecv/fabric.hpp"

namespace duofi::net::comm_test {
namespace {

struct Sharing {
    const char* name;
    const char* provider;
    ofi::EndpointCost cost;
    bool domain_per_thread;
    std::size_t endpoints;  ///< of two threads
};

class Endpoints : public ::testing::TestWithParam<Sharing> {};

TEST_P(Endpoints, OfTwoThreads) {
    const Sharing& tested = GetParam();
    test::FakeFabric fabric;
    const Settings settings;
    ofi::DeviceInfo info = fabric.device();  // the objects are the fake's, whatever the provider is called
    info.provider = tested.provider;
    info.endpoint_cost = tested.cost;
    FabricDevice device({&info}, settings, DeviceProperties{}, tested.domain_per_thread);
    std::vector<Endpoint*> taken;
    const auto take = [&] {
        const auto endpoint = device.get_endpoint();
        ASSERT_TRUE(endpoint.has_value());
        taken.push_back(*endpoint);
    };
    take();
    take();
    std::thread(take).join();
    ASSERT_EQ(taken.size(), 3u);
    EXPECT_EQ(taken[0], taken[1]) << "a thread has one";
    EXPECT_EQ(taken[2] == taken[0], tested.endpoints == 1);
    EXPECT_EQ(device.open_endpoints(), tested.endpoints);
    EXPECT_EQ(fabric.open_objects("ep"), static_cast<int>(tested.endpoints));
    EXPECT_EQ(fabric.open_objects("domain"), tested.domain_per_thread ? 2 : 1);
    for (Endpoint* endpoint : taken) endpoint->release();
    EXPECT_EQ(device.open_endpoints(), 0u);
    EXPECT_EQ(fabric.open_objects(), 0);
}

constexpr auto kCheap = ofi::EndpointCost::cheap;
constexpr auto kExpensive = ofi::EndpointCost::expensive;

INSTANTIATE_TEST_SUITE_P(
    Providers, Endpoints,
    ::testing::Values(Sharing{"cheap", "net", kCheap, false, 2}, Sharing{"expensive", "net", kExpensive, false, 1},
                      Sharing{"in_the_peers_memory", "shm", kCheap, false, 1},
                      Sharing{"expensive_domains_per_thread", "net", kExpensive, true, 2},
                      Sharing{"in_the_peers_memory_domains_per_thread", "shm", kCheap, true, 2}),
    [](const auto& tested) { return std::string(tested.param.name); });

// Callers of one process must not reach into each other's memory on shm: the real provider's device.
TEST(EndpointsOfShm, AreOneForTheProcess) {
    const ofi::DeviceInfo* info = find_device("shm");
    if (info == nullptr) GTEST_SKIP() << "no device of provider shm";
    const Settings settings;
    FabricDevice device({info}, settings, DeviceProperties{}, false);
    Endpoint* first = *device.get_endpoint();
    Endpoint* second = nullptr;
    std::thread([&] { second = *device.get_endpoint(); }).join();
    EXPECT_EQ(first, second);
    EXPECT_EQ(device.open_endpoints(), 1u);
    first->release();
    second->release();
}

}  // namespace
}  // namespace duofi::net::comm_test
