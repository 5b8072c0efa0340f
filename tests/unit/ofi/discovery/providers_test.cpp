// Discovery against the running libfabric: user-reports A4, A21, A22; net contract 4.3, 4.4, 9.2
// T24.
#include <gtest/gtest.h>
#include <rdma/fi_cm.h>

#include <ctime>
#include <set>

#include "common/ofi/discovery.hpp"
#include "common/util/clock.hpp"
#include "tests/unit/ofi/discovery/discovery_report.hpp"

namespace duofi::ofi {
namespace {

using test::discovery_report;
using test::has_line;
using test::lines_of;
using Names = std::vector<std::string>;

Settings settings_for(const std::string& provider) {
    Settings settings;
    settings.ofi_provider = provider;
    return settings;
}

bool has_provider(const std::string& name) {
    return name != "net" || fi_version() < FI_VERSION(1, 18);
}

struct Expected {
    const char* asked;
    const char* provider;
    EndpointCost cost;
    bool has_interface;
};

class Provider : public testing::TestWithParam<Expected> {};

TEST_P(Provider, GivesUsableDevices) {
    const Expected& expected = GetParam();
    if (!has_provider(expected.asked)) GTEST_SKIP() << "not in this libfabric";
    const Settings settings = settings_for(expected.asked);
    const Requirements needs = tagged_requirements(settings);
    const auto list = discover(settings, needs);
    ASSERT_TRUE(list);
    ASSERT_GE(list->devices.size(), 1U);
    EXPECT_EQ(list->provider, expected.provider);
    EXPECT_EQ(list->libfabric_version, fi_version());
    EXPECT_LE(list->api_version, fi_version());

    std::set<std::string> names;
    for (const DeviceInfo& device : list->devices) {
        EXPECT_TRUE(names.insert(device.name).second) << device.name << " is not unique";
        EXPECT_EQ(device.name, "duofi_" + device.domain_name);
        EXPECT_EQ(device.provider, expected.provider);
        EXPECT_EQ(device.caps & (FI_MSG | FI_TAGGED | FI_RMA), FI_MSG | FI_TAGGED | FI_RMA);
        EXPECT_GE(device.max_msg_size, std::uint64_t{1} << 30);
        EXPECT_GT(device.speed_mbps, 0);
        EXPECT_NE(device.guid, 0U);
        EXPECT_EQ(device.endpoint_cost, expected.cost);
        EXPECT_FALSE(device.address.empty());
        ASSERT_TRUE(device.info);
        EXPECT_EQ(device.info->next, nullptr);
        EXPECT_EQ(device.info->domain_attr->threading, FI_THREAD_SAFE);
        EXPECT_TRUE(expected.has_interface || !device.pci_path);
    }
}

/// Opens what the device's entry describes and closes it again through the owners.
TEST_P(Provider, TheEntryOpens) {
    if (!has_provider(GetParam().asked)) GTEST_SKIP() << "not in this libfabric";
    const Settings settings = settings_for(GetParam().asked);
    const auto list = discover(settings, tagged_requirements(settings));
    ASSERT_TRUE(list);
    fi_info& info = *list->devices.front().info;
    FabricPtr fabric;
    DomainPtr domain;
    ASSERT_EQ(
        open_into(fabric, [&](auto** out) { return fi_fabric(info.fabric_attr, out, nullptr); }),
        0);
    ASSERT_EQ(
        open_into(domain, [&](auto** out) { return fi_domain(fabric.get(), &info, out, nullptr); }),
        0);
    AddressVectorPtr addresses;
    CompletionQueuePtr queue;
    EndpointPtr endpoint;
    fi_av_attr av{};
    fi_cq_attr cq{};
    cq.format = FI_CQ_FORMAT_TAGGED;
    EXPECT_EQ(
        open_into(addresses, [&](auto** o) { return fi_av_open(domain.get(), &av, o, nullptr); }),
        0);
    EXPECT_EQ(open_into(queue, [&](auto** o) { return fi_cq_open(domain.get(), &cq, o, nullptr); }),
              0);
    ASSERT_EQ(
        open_into(endpoint, [&](auto** o) { return fi_endpoint(domain.get(), &info, o, nullptr); }),
        0);
    EXPECT_EQ(fi_ep_bind(endpoint.get(), &addresses->fid, 0), 0);
    EXPECT_EQ(fi_ep_bind(endpoint.get(), &queue->fid, FI_SEND | FI_RECV), 0);
    EXPECT_EQ(fi_enable(endpoint.get()), 0);
}

TEST_P(Provider, CanBeAskedAgainWithBasicRegistration) {
    if (!has_provider(GetParam().asked)) GTEST_SKIP() << "not in this libfabric";
    const Settings settings = settings_for(GetParam().asked);
    const auto list = discover(settings, tagged_requirements(settings));
    ASSERT_TRUE(list);
    Requirements basic = tagged_requirements(settings);
    basic.mr_mode = 1;  // P6
    const auto info = info_for(list->devices.front(), basic);
    ASSERT_TRUE(info);
    EXPECT_EQ((*info)->domain_attr->name, list->devices.front().domain_name);
    EXPECT_NE((*info)->domain_attr->mr_mode, 0);

    Requirements impossible = tagged_requirements(settings);
    impossible.required_caps |= FI_MULTICAST;
    const auto none = info_for(list->devices.front(), impossible);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Errc::no_data);
}

const EndpointCost kTcpLayered = EndpointCost::expensive;
const EndpointCost kCheap = EndpointCost::cheap;
const Expected kProviders[] = {{"net", "net", kCheap, true},
                               {"tcp;ofi_rxm", "tcp;ofi_rxm", kTcpLayered, true},
                               {"shm", "shm", kCheap, false},
                               {"sockets", "sockets", kCheap, true}};
INSTANTIATE_TEST_SUITE_P(Live, Provider, testing::ValuesIn(kProviders), [](const auto& test) {
    std::string name = test.param.asked;
    for (char& c : name)
        if (c == ';') c = '_';
    return name;
});

TEST(Discovery, OneDevicePerInterfaceAndTheNativeProvider) {
    const Settings settings;
    const auto list = discover(settings, tagged_requirements(settings));
    ASSERT_TRUE(list);
    std::set<std::string> domains;
    for (const DeviceInfo& device : list->devices)
        EXPECT_TRUE(domains.insert(device.domain_name).second);
    EXPECT_FALSE(list->devices.size() > 1 && domains.count("lo") == 1)
        << "loopback among real NICs";
    for (const Refusal& refusal : list->refusals) EXPECT_NE(refusal.reason, "");
}

TEST(Discovery, AnUnknownProviderIsAQuietQuickAnswerWithTheReasons) {
    // A4 wants less than a second; on a busy machine only processor time can be held to that.
    const Deadline deadline(5 * kSecond);
    const std::clock_t start = std::clock();
    const std::string report = discovery_report(settings_for("nonexistent"));
    EXPECT_LT(std::clock() - start, CLOCKS_PER_SEC);
    EXPECT_FALSE(deadline.passed());
    EXPECT_EQ(lines_of(report, "error"), Names{"no_data 61"}) << report;
    EXPECT_TRUE(lines_of(report, "warn").empty()) << report;
    EXPECT_TRUE(has_line(report, "info", "No eligible providers were found")) << report;
    EXPECT_TRUE(has_line(report, "info", "DUOFI_OFI_PROVIDER=nonexistent")) << report;
    EXPECT_TRUE(has_line(report, "info", "sockets")) << "what there is: " << report;
}

TEST(Discovery, FailuresAreWarningsForThoseWhoNamedUs) {
    Settings settings = settings_for("nonexistent");
    settings.nccl_net = "duofi";
    ASSERT_TRUE(settings.named_by_user());
    const std::string report = discovery_report(settings);
    EXPECT_TRUE(has_line(report, "warn", "No eligible providers were found")) << report;
}

TEST(Discovery, FailingFirstDoesNotSpoilTheNextTry) {
    EXPECT_FALSE(discover(settings_for("nonexistent"), tagged_requirements(Settings{})));
    EXPECT_TRUE(discover(Settings{}, tagged_requirements(Settings{})));
}

TEST(Discovery, AListOfProvidersIsUnderstood) {
    const auto list =
        discover(settings_for("^net,tcp,udp,sockets"), tagged_requirements(Settings{}));
    EXPECT_FALSE(list) << "shm must be named to be taken";
    const auto named = discover(settings_for("nonexistent,shm"), tagged_requirements(Settings{}));
    ASSERT_TRUE(named);
    EXPECT_EQ(named->provider, "shm");
}

TEST(Discovery, WithoutSysfsAndProcThereAreStillDevices) {
    const topology::Sysfs none("/nonexistent-root");
    const auto list = discover(Settings{}, tagged_requirements(Settings{}), none);
    ASSERT_TRUE(list);
    for (const DeviceInfo& device : list->devices) {
        EXPECT_FALSE(device.pci_path);
        EXPECT_NE(device.guid, 0U);
        EXPECT_EQ(device.speed_mbps, 10000);
    }
}

}  // namespace
}  // namespace duofi::ofi
