// Units: p2p/runtime/devices
#include "p2p/runtime/devices.hpp"

#include <thread>
#include <vector>

#include "p2p/runtime/host.hpp"
#include "tests/unit/p2p/runtime/runtime_fixture.hpp"

namespace duofi::p2p {
namespace {

using test::LogLines;

TEST(Devices, ListsOfNodes) {
    using devices::parse_node_list;
    EXPECT_EQ(parse_node_list("0"), (std::vector<int>{0}));
    EXPECT_EQ(parse_node_list("0-2,7"), (std::vector<int>{0, 1, 2, 7}));
    EXPECT_EQ(parse_node_list("1,1"), (std::vector<int>{1, 1}));
    for (const char* bad : {"", "x", "1,", ",1", "3-1", "-1", "1-", "0-1000000", "1;2"})
        EXPECT_TRUE(parse_node_list(bad).empty()) << bad;
}

TEST(Devices, BadListIsOneWarningAndTheMachine) {
    const LogLines log;
    EXPECT_FALSE(devices::device_nodes("zero").empty());
    EXPECT_EQ(log.warnings(), 1u);
    EXPECT_EQ(devices::device_nodes("0,0,0"), (std::vector<int>{0, 0, 0}));
    EXPECT_EQ(log.warnings(), 1u);
}

class DeviceTest : public test::RuntimeTest {
  protected:
    void SetUp() override {
        Settings settings = test::runtime_settings_of("host");
        settings.p2p_host_devices = "0,0,0";
        use(settings);
    }
};

// p2p contract 3.6: bus ids that no real device has.
TEST_F(DeviceTest, HaveMadeUpBusIds) {
    EXPECT_EQ(*runtime::device_count(), 3);
    for (int device = 0; device < 3; ++device) {
        const auto id = runtime::bus_id(device);
        ASSERT_TRUE(id);
        EXPECT_EQ(*id, 0xffff00000 + (device << 12));
        EXPECT_EQ(*runtime::device_by_bus_id(*id), device);
        EXPECT_EQ(runtime::device_info(device)->host_device, device);
        EXPECT_EQ(*runtime::numa_node(device), 0);
        EXPECT_EQ(*runtime::device_family(device), 0);
    }
    for (const std::int64_t stranger : {0xffff03000L, 0xffff00001L, 0x1000L, -1L})
        EXPECT_FALSE(runtime::device_by_bus_id(stranger)) << stranger;
}

TEST_F(DeviceTest, OnesThatDoNotExistAreRefused) {
    for (const int device : {-1, 3, 1 << 30}) {
        EXPECT_FALSE(runtime::set_device(device));
        EXPECT_FALSE(runtime::bus_id(device));
        EXPECT_FALSE(runtime::device_info(device));
        EXPECT_FALSE(runtime::can_access_peer(0, device));
        EXPECT_FALSE(runtime::can_access_peer(device, 0));
        EXPECT_FALSE(runtime::enable_peer_access(device));
    }
}

TEST_F(DeviceTest, AreChosenByThread) {
    ASSERT_TRUE(runtime::set_device(2));
    EXPECT_EQ(*runtime::device(), 2);
    int other = -1;
    std::thread([&] { other = *runtime::device(); }).join();
    EXPECT_EQ(other, 0);
    const auto memory = runtime::allocate(1);
    EXPECT_EQ(runtime::pointer_info(*memory)->device, 2);
    EXPECT_TRUE(runtime::free(*memory));
    ASSERT_TRUE(runtime::set_device(0));
}

TEST_F(DeviceTest, PeerAccessIsEnabledOnceAndDisabled) {
    EXPECT_EQ(host_runtime.device_enable_peer_access(1, 0), 0);
    EXPECT_EQ(host_runtime.device_enable_peer_access(1, 0), 704);
    EXPECT_TRUE(runtime::disable_peer_access(1));
    EXPECT_FALSE(runtime::disable_peer_access(1));
    EXPECT_TRUE(*runtime::can_access_peer(0, 2));
}

}  // namespace
}  // namespace duofi::p2p
