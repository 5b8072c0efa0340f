// Discovery in networks made for it, with real interfaces: user-reports A3, A6, A7, A8, A9.
#include <gtest/gtest.h>

#include <optional>

#include "tests/support/scoped_env.hpp"
#include "tests/unit/ofi/discovery/discovery_report.hpp"
#include "tests/unit/ofi/discovery/network_namespace.hpp"

namespace duofi::test {
namespace {

using Names = std::vector<std::string>;

/// Runs discovery in the network; skips the test where the machine does not allow one.
#define DISCOVER(reports, setup, settings, processes)                   \
    const NamespaceRun run = run_in_network(                            \
        setup, [&] { return discovery_report(settings); }, processes);  \
    if (!run.not_permitted.empty()) GTEST_SKIP() << run.not_permitted;  \
    ASSERT_EQ(run.failure, "");                                         \
    ASSERT_EQ(run.reports.size(), static_cast<std::size_t>(processes)); \
    const std::vector<std::string>& reports = run.reports

/// A pair `name` <-> `peer_<name>`, both up.
void add_veth(Names& setup, const std::string& name, const std::string& address) {
    const std::string peer = "p_" + name;
    setup.push_back("link add " + name + " type veth peer name " + peer);
    if (!address.empty()) setup.push_back("addr add " + address + " dev " + name);
    setup.push_back("link set " + peer + " up");
    setup.push_back("link set " + name + " up");
}

TEST(Namespaces, A6LoopbackIsUsedWhenItIsAllThereIs) {
    for (const Names& setup : {Names{}, Names{"link set lo up"}}) {
        DISCOVER(reports, setup, Settings{}, 1);
        EXPECT_EQ(device_names(reports[0]), Names{"duofi_lo"}) << reports[0];
        EXPECT_TRUE(has_line(reports[0], "device", "127.0.0.1")) << reports[0];
        EXPECT_TRUE(has_line(reports[0], "info", "loopback")) << reports[0];
    }
}

TEST(Namespaces, A6WithOneVethUpLoopbackIsNoDevice) {
    Names setup = {"link set lo up"};
    add_veth(setup, "net0", "10.1.1.1/24");
    DISCOVER(reports, setup, Settings{}, 1);
    EXPECT_EQ(device_names(reports[0]), Names{"duofi_net0"}) << reports[0];
    EXPECT_TRUE(has_line(reports[0], "info", "Left out interface lo")) << reports[0];
    EXPECT_TRUE(lines_of(reports[0], "warn").empty()) << reports[0];
}

Names docker_like_network() {
    Names setup = {"link set lo up"};
    int subnet = 0;
    for (const char* name : {"net0", "docker0", "br-1", "virbr0", "veth1234"})
        add_veth(setup, name, "10.7." + std::to_string(++subnet) + ".1/24");
    return setup;
}

TEST(Namespaces, A7VirtualInterfacesAreLeftOutWithTheReason) {
    DISCOVER(reports, docker_like_network(), Settings{}, 1);
    EXPECT_EQ(device_names(reports[0]), Names{"duofi_net0"}) << reports[0];
    for (const char* name : {"docker0", "br-1", "virbr0", "veth1234"})
        EXPECT_TRUE(has_line(reports[0], "info", std::string("Left out interface ") + name))
            << name;
}

TEST(Namespaces, A7AnOwnListReplacesTheDefaultWithoutLoopback) {
    Settings settings;
    settings.exclude_tcp_if = "^docker0";
    DISCOVER(reports, docker_like_network(), settings, 1);
    EXPECT_EQ(device_names(reports[0]),
              (Names{"duofi_br-1", "duofi_net0", "duofi_veth1234", "duofi_virbr0"}))
        << reports[0];
}

TEST(Namespaces, A8TwoAddressesOnOneNicAreOneDevice) {
    Names setup = {"link set lo up"};
    add_veth(setup, "net0", "10.1.1.1/24");
    setup.push_back("addr add 10.1.1.2/24 dev net0");
    setup.push_back("addr add fd00:1::1/64 dev net0 nodad");
    Settings settings;
    settings.use_ipv6_tcp = true;
    DISCOVER(reports, setup, settings, 1);
    ASSERT_EQ(device_names(reports[0]), Names{"duofi_net0"}) << reports[0];
    EXPECT_TRUE(has_line(reports[0], "device", " 10.1.1.1 ")) << reports[0];
}

TEST(Namespaces, A8CopiesHaveNamesOfTheirOwnAndOneGuid) {
    Names setup;
    add_veth(setup, "net0", "10.1.1.1/24");
    Settings settings;
    settings.nic_dup_conns = 3;
    DISCOVER(reports, setup, settings, 1);
    EXPECT_EQ(device_names(reports[0]), (Names{"duofi_net0", "duofi_net0_1", "duofi_net0_2"}));
    const Names lines = lines_of(reports[0], "device");
    for (const std::string& line : lines)
        EXPECT_EQ(line.substr(line.find(' ')), lines[0].substr(lines[0].find(' '))) << reports[0];
}

TEST(Namespaces, A9TheListIsOrderedAndEqualInTwoProcesses) {
    Names setup;
    for (const char* name : {"nicc", "nica", "nicd", "nicb"})
        add_veth(setup, name, std::string("10.2.") + std::to_string(name[3]) + ".1/24");
    DISCOVER(reports, setup, Settings{}, 2);
    EXPECT_EQ(device_names(reports[0]),
              (Names{"duofi_nica", "duofi_nicb", "duofi_nicc", "duofi_nicd"}));
    EXPECT_EQ(lines_of(reports[0], "device"), lines_of(reports[1], "device"));
}

TEST(Namespaces, Ipv6OnlyNicNeedsTheSetting) {
    Names setup = {"link set lo up"};
    add_veth(setup, "net0", "");
    setup.push_back("addr add fd00:1::1/64 dev net0 nodad");
    {
        DISCOVER(reports, setup, Settings{}, 1);
        EXPECT_EQ(device_names(reports[0]), Names{"duofi_lo"}) << reports[0];
        EXPECT_TRUE(has_line(reports[0], "info", "OFI_NCCL_USE_IPV6_TCP")) << reports[0];
    }
    Settings settings;
    settings.use_ipv6_tcp = true;
    DISCOVER(reports, setup, settings, 1);
    EXPECT_EQ(device_names(reports[0]), Names{"duofi_net0"}) << reports[0];
    EXPECT_TRUE(has_line(reports[0], "device", " fd00:1::1 ")) << reports[0];
}

TEST(Namespaces, A3TheInterfaceOfTheProvidersVariableCountsForEveryTcpProvider) {
    Names setup = {"link set lo up"};
    add_veth(setup, "net0", "10.1.1.1/24");
    add_veth(setup, "docker0", "10.1.2.1/24");
    {
        const ScopedEnv named("FI_TCP_IFACE", "docker0");
        DISCOVER(reports, setup, Settings{}, 1);
        EXPECT_EQ(device_names(reports[0]), Names{"duofi_docker0"}) << reports[0];
    }
    const ScopedEnv mistyped("FI_TCP_IFACE", "nosuch");
    DISCOVER(reports, setup, Settings{}, 1);
    EXPECT_EQ(lines_of(reports[0], "error"), Names{"no_data 61"}) << reports[0];
    EXPECT_TRUE(has_line(reports[0], "info", "FI_TCP_IFACE/FI_NET_IFACE=nosuch")) << reports[0];
}

}  // namespace
}  // namespace duofi::test
