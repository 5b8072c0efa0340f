// Devices of several NICs (net contract 6.1, 6.2).
// Units: common/ofi/rail_groups.
#include "common/ofi/rail_groups.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <climits>

#include "common/util/unique_fd.hpp"
#include "tests/unit/topology/machines.hpp"
#include "tests/unit/util/log_lines.hpp"

namespace duofi::ofi {
namespace {

using duofi::test::LogLines;

struct Machine {
    DeviceList list;
    duofi::test::MadeTree made;
    RailRules rules;
    Machine() {
        rules.written = true;
        rules.tree = [this] { return Result<topology::IoTree>(made.tree); };
    }
    void device(const std::string& name, const char* address = nullptr, const char* provider = "net") {
        DeviceInfo info;
        info.name = name;
        info.domain_name = name;
        info.provider = provider;
        if (address != nullptr) info.pci = topology::PciAddress::parse(address);
        list.devices.push_back(info);
    }
    std::string groups(const Settings& settings = {}) {
        const auto made_groups = rail_groups(list, settings, rules);
        if (!made_groups) return "error";
        std::string text;
        for (const RailInfos& group : *made_groups) {
            text += text.empty() ? "" : " ";
            for (const DeviceInfo* rail : group) text += rail->name;
        }
        return text;
    }
};

/// Two switches with two NICs and an accelerator each, and a network interface without a place.
struct TwoSwitches : Machine {
    TwoSwitches() {
        const int host = made.host();
        for (const char* bus : {"1", "2"}) {
            const std::string at = bus;
            const int bridge = made.bridge(host, ("0000:0" + at + ":00.0").c_str());
            made.nic(bridge, ("0000:1" + at + ":00.0").c_str());
            made.nic(bridge, ("0000:1" + at + ":00.1").c_str());
            made.gpu(bridge, ("0000:2" + at + ":00.0").c_str());
        }
        device("a", "0000:12:00.1");
        device("b", "0000:11:00.0");
        device("c", "0000:12:00.0");
        device("d", "0000:11:00.1");
        device("e");
    }
};

TEST(RailGroups, nics_beside_one_accelerator_are_one_device) {
    TwoSwitches machine;
    EXPECT_EQ(machine.groups(), "bd ca e");
    machine.rules.accelerators = false;
    EXPECT_EQ(machine.groups(), "a b c d e");
}

TEST(RailGroups, are_for_rdma_and_not_for_copies_of_nics) {
    TwoSwitches machine;
    Settings settings;
    settings.nic_dup_conns = 2;
    EXPECT_EQ(machine.groups(settings), "a b c d e");
    machine.rules.written = false;
    EXPECT_EQ(machine.groups(), "a b c d e");
}

TEST(RailGroups, are_limited_by_the_user) {
    TwoSwitches machine;
    Settings settings;
    settings.force_num_rails = 1;
    EXPECT_EQ(machine.groups(settings), "a b c d e");
}

TEST(RailGroups, a_limit_without_effect_is_told) {
    const auto told = [](Machine& machine, const Settings& settings) {
        LogLines log(duofi::log::Level::info);
        (void)machine.groups(settings);
        return log.with("OFI_NCCL_FORCE_NUM_RAILS=2 has no effect").size();
    };
    TwoSwitches machine;
    Machine interfaces;
    interfaces.device("a");
    interfaces.device("b");
    Settings settings;
    settings.force_num_rails = 2;
    EXPECT_EQ(told(machine, settings), 0u);
    EXPECT_EQ(told(interfaces, settings), 1u);
    settings.nic_dup_conns = 2;
    EXPECT_EQ(told(machine, settings), 1u);
    settings.nic_dup_conns = 0;
    machine.rules.written = false;
    EXPECT_EQ(told(machine, settings), 1u);
    settings.force_num_rails = 0;
    EXPECT_EQ(told(machine, settings), 0u);
}

TEST(RailGroups, too_many_nics_are_told_with_the_way_out) {
    Machine machine;
    const int bridge = machine.made.bridge(machine.made.host(), "0000:01:00.0");
    for (int i = 0; i < 5; ++i) {
        const std::string address = "0000:0" + std::to_string(i + 2) + ":00.0";
        machine.made.nic(bridge, address.c_str());
        machine.device(std::string(1, static_cast<char>('a' + i)), address.c_str());
    }
    machine.made.gpu(bridge, "0000:09:00.0");
    LogLines log;
    EXPECT_EQ(machine.groups(), "error");
    EXPECT_EQ(log.with("OFI_NCCL_FORCE_NUM_RAILS").size(), 1u) << log.dump();
    Settings settings;
    settings.force_num_rails = 4;
    EXPECT_EQ(machine.groups(settings), "abc de");
}

TEST(RailGroups, interfaces_are_joined_on_request_and_carry_several_connections) {
    Machine machine;
    for (const char* name : {"a", "b", "c"}) machine.device(name);
    Settings settings;
    settings.tcp_rails = 2;
    EXPECT_EQ(machine.groups(settings), "ab cc");
    settings.tcp_rails = 4;
    EXPECT_EQ(machine.groups(settings), "abca");
    LogLines log(duofi::log::Level::info);
    machine.rules.written = false;
    EXPECT_EQ(machine.groups(settings), "a b c");
    EXPECT_EQ(log.with("DUOFI_NET_TCP_RAILS=4 has no effect").size(), 1u) << log.dump();
}

TEST(RailGroups, those_of_one_place_are_not_widened) {
    TwoSwitches machine;
    Settings settings;
    settings.tcp_rails = 4;
    EXPECT_EQ(machine.groups(settings), "bd ca eeee");
}

TEST(RailGroups, are_as_fast_as_their_nics_together) {
    TwoSwitches machine;
    for (DeviceInfo& device : machine.list.devices) device.speed_mbps = 25000;
    const RailInfos two = {&machine.list.devices[0], &machine.list.devices[1]};
    EXPECT_EQ(speed_of(two), 50000);
    const RailInfos twice = {&machine.list.devices[0], &machine.list.devices[0], &machine.list.devices[1]};
    EXPECT_EQ(speed_of(twice), 50000) << "several rails of a NIC are no faster";
    machine.list.devices[1].speed_mbps = 100000;
    EXPECT_EQ(speed_of(two), 125000);
    machine.list.devices[1].domain_name = machine.list.devices[0].domain_name;
    EXPECT_EQ(speed_of(two), 25000) << "two devices of one NIC";
    machine.list.devices[1].domain_name = "other";
    for (DeviceInfo& device : machine.list.devices) device.speed_mbps = INT_MAX;
    EXPECT_EQ(speed_of(two), INT_MAX);
}

TEST(RailGroups, a_list_that_was_shown_before_the_network_decided_otherwise_is_told) {
    LogLines log;
    EXPECT_EQ(settled_writes(), std::nullopt);
    settle_writes(true);
    EXPECT_EQ(settled_writes(), true);
    show_writes(true);
    settle_writes(true);
    EXPECT_TRUE(log.all().empty()) << log.dump();
    settle_writes(false);
    EXPECT_EQ(settled_writes(), false);
    EXPECT_EQ(log.with("initialise the network first").size(), 1u) << log.dump();
}

TEST(RailGroups, comms_are_counted_alike_by_all_tables) {  // 3.8
    EXPECT_EQ(most_comms(true), 32768);
    EXPECT_EQ(most_comms(false), 65536);
}

TEST(RailGroups, writes_are_planned_by_user_then_platform_then_provider) {
    Settings settings;
    topology::Platform platform;
    settings.protocol = "RDMA";
    platform.protocol = "SENDRECV";
    EXPECT_TRUE(writes_planned(settings, platform));
    settings.protocol.clear();
    EXPECT_FALSE(writes_planned(settings, platform));
    platform.protocol = "RDMA";
    EXPECT_TRUE(writes_planned(settings, platform));
    platform.protocol = "";
    settings.ofi_provider = "shm";
    EXPECT_FALSE(writes_planned(settings, platform));
}

TEST(RailGroups, a_machine_that_cannot_be_read_is_told_and_has_none) {
    TwoSwitches machine;
    machine.rules.tree = [] { return Result<topology::IoTree>(fail(Errc::system, "hwloc_topology_load", 2)); };
    LogLines log;
    EXPECT_EQ(machine.groups(), "a b c d e");
    EXPECT_EQ(log.with("hwloc_topology_load, error 2").size(), 1u) << log.dump();
}

TEST(RailGroups, shared_memory_has_one_endpoint_in_a_process) {
    Machine machine;
    machine.device("a", nullptr, "shm");
    Settings settings;
    settings.tcp_rails = 4;
    EXPECT_EQ(machine.groups(settings), "a");
}

TEST(RailGroups, tell_nccl_how_wide_they_are) {
    TwoSwitches machine;
    const auto groups = rail_groups(machine.list, {}, machine.rules);
    const std::string path = publish_topology(*groups, machine.rules);
    ASSERT_TRUE(path.starts_with("/proc/self/fd/")) << path;
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    char text[4096] = {};
    ASSERT_GT(::read(file.get(), text, sizeof(text) - 1), 0);
    EXPECT_NE(std::string(text).find("0000:11:00.0"), std::string::npos) << text;
    EXPECT_EQ(std::string(text).find("0000:11:00.1"), std::string::npos) << "only leaders";
    ::close(std::stoi(path.substr(path.rfind('/') + 1)));
    machine.rules.accelerators = false;
    EXPECT_EQ(publish_topology(*rail_groups(machine.list, {}, machine.rules), machine.rules), "") << "nobody is wide";
}

}  // namespace
}  // namespace duofi::ofi
