// One list of devices behind both kinds of table, in every process and in copies of the module:
// user report A9, rma contract 1.6, L-20, architecture 2.
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "tests/integration/rma_integration.hpp"
#include "tests/support/namespaces.hpp"
#include "tests/support/plugin_module.hpp"

namespace duofi::test {
namespace {

struct Device {
    std::array<char, 64> name{};
    std::array<char, 256> path{};
    std::uint64_t guid = 0;
    int speed = 0, port = 0, kinds = 0, comms = 0;
    float latency = 0;
    bool operator==(const Device&) const = default;
};

struct List {
    int count = 0;
    std::array<Device, 16> devices{};
    bool operator==(const List&) const = default;
};

template <typename Properties>
Device device_of(const Properties& properties) {
    Device device;
    std::strncpy(device.name.data(), properties.name, device.name.size() - 1);
    if (properties.pciPath != nullptr)
        std::strncpy(device.path.data(), properties.pciPath, device.path.size() - 1);
    device.guid = properties.guid;
    device.speed = properties.speed;
    device.port = properties.port;
    device.kinds = properties.ptrSupport;
    device.comms = properties.maxComms;
    device.latency = properties.latency;
    return device;
}

List list_of(const Rma& rma) {
    List list;
    list.count = rma.devices();
    for (int dev = 0; dev < list.count; ++dev)
        list.devices.at(static_cast<std::size_t>(dev)) = device_of(rma.properties(dev));
    return list;
}

List list_of(const ncclNet_v6_t& table) {
    const Net net(table);
    List list;
    list.count = net.devices();
    for (int dev = 0; dev < list.count; ++dev)
        list.devices.at(static_cast<std::size_t>(dev)) = device_of(net.properties(dev));
    return list;
}

// Rank 0 initialises net and then RMA, rank 1 the other way round, others RMA alone. devices=N of the list, 0: any.
DUOFI_RANK_BODY(one_list_in_any_order) {
    RmaModule module(plugin_path());
    const ncclNet_v6_t& net = *module.net_v6();
    List mine;
    for (int version = kOldestRma; version <= kNewestRma; ++version) {
        const Rma rma(module.table(version), version);
        if (rank.index == 0 && version == kOldestRma)
            expect_success(net.init(&log_capture::record), "init of net");
        const RmaOwned instance = open_instance(rma, 1);
        const List list = list_of(rma);
        const int wanted = rank.number("devices", 0);
        require(wanted == 0 ? list.count > 0 : list.count == wanted, "{} devices", list.count);
        require(version == kOldestRma || list == mine, "table v{} has a list of its own", version);
        mine = list;
    }
    if (rank.index == 1) expect_success(net.init(&log_capture::record), "init of net");
    if (rank.index < 2) require(list_of(net) == mine, "net and RMA disagree");
    if (rank.number("nodes", 1) > 1)  // which the card belongs to is part of its number
        for (Device& device : mine.devices) device.guid = 0;
    for (const List& theirs : rank.all_gather(mine))
        require(theirs == mine, "two processes disagree about the devices");
}

// Links to one file may have been copied into four: each copy is whole, and all of them agree.
DUOFI_RANK_BODY(four_copies_of_the_module) {
    namespace fs = std::filesystem;
    const fs::path folder =
        fs::temp_directory_path() / ("duofi-copies-" + std::to_string(::getpid()));
    fs::create_directory(folder);
    std::vector<RmaModule> copies;
    for (const char* name : {"librccl-net-duofi.so", "librccl-rma-duofi.so", "libnccl-net-duofi.so",
                             "libnccl-rma-duofi.so"}) {
        fs::copy_file(plugin_path(), folder / name);
        copies.emplace_back((folder / name).string());
    }
    fs::remove_all(folder);
    List first;
    std::vector<std::unique_ptr<Rma>> tables;
    std::vector<std::unique_ptr<RmaAlone>> groups;
    for (const RmaModule& copy : copies) {
        expect_success(copy.net_v6()->init(&log_capture::record), "init of net");
        tables.push_back(std::make_unique<Rma>(copy.table(kNewestRma), kNewestRma));
        groups.push_back(std::make_unique<RmaAlone>(*tables.back()));
        const List list = list_of(*tables.back());
        if (tables.size() == 1) first = list;
        require(list == first && list_of(*copy.net_v6()) == first, "two copies disagree");
    }
    for (std::uint64_t round = 0; round < 3; ++round) {
        for (auto& group : groups) group->use(10000, round);
        const Net net(*copies[0].net_v6());
        Link link = connect_self(net);
        transfer_self(link, 20000, round);
    }
    groups.clear();
}

class RmaDevices : public OnProvider {};

TEST_P(RmaDevices, are_one_list) {
    run_group("one_list_in_any_order", rma_on_provider(GetParam(), 3));
}
// What a platform adds to the settings, here copies of each NIC and another speed, is in all lists.
TEST_P(RmaDevices, are_one_list_on_a_platform) {
    for (const char* product : {"p3dn.24xlarge", "p5en.48xlarge"}) {
        GroupOptions options = rma_on_provider(GetParam(), 3);
        options.env["OFI_NCCL_FORCE_PRODUCT_NAME"] = product;
        run_group("one_list_in_any_order", options);
    }
}
TEST_P(RmaDevices, are_the_same_in_copies) {
    run_group("four_copies_of_the_module", rma_on_provider(GetParam(), 1));
}

// Four interfaces that each node created in an order of its own: one list everywhere, as devices of one interface and of two.
TEST_P(RmaDevices, are_one_list_on_nodes_that_made_them_in_any_order) {
    if (GetParam() == std::string_view("shm")) GTEST_SKIP() << "shared memory has no interfaces";
    const JoinedNamespaces nodes(*parse_nodes_shape("4,scrambled"));
    if (!nodes.problem().empty()) GTEST_SKIP() << nodes.problem();
    for (const int rails : {1, 2, 4}) {
        GroupOptions options = rma_on_provider(GetParam(), 4);
        for (int rank = 0; rank < options.ranks; ++rank) options.prefixes.push_back(nodes.prefix(rank % 2, false));
        options.env["OFI_NCCL_PROTOCOL"] = "RDMA";
        options.env["DUOFI_NET_TCP_RAILS"] = std::to_string(rails);
        options.args["nodes"] = "2";
        options.args["devices"] = std::to_string(4 / rails);
        run_group("one_list_in_any_order", options);
    }
}

INSTANTIATE_TEST_SUITE_P(providers, RmaDevices, testing::Values("native", "shm"),
                         provider_test_name);

}  // namespace
}  // namespace duofi::test
