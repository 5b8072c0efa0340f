// Devices of several simulated cards, grouped by their places in the tree of another machine (net contract 6.1, 6.2; L-20). hwloc
// reads that tree from a file.
// Units: common/ofi/rail_groups, common/topology/nic_groups, common/topology/topo_file.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/sim_fabric/sim_groups.hpp"
#include "tests/support/log_capture.hpp"
#include "tests/support/net_link.hpp"
#include "tests/support/plugin_module.hpp"
#include "tests/support/rma_driver.hpp"

namespace duofi::test {
namespace {

std::string text_of(const char* path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

// Two devices of four cards each; RMA, where it is offered, shows the same two.
DUOFI_RANK_BODY(devices_by_place) {
    PluginModule module;
    const Net net(module.net_v6());
    require(net->init(&log_capture::record) == ncclSuccess, "init\n{}", log_capture::dump());
    require(net.devices() == 2, "{} devices\n{}", net.devices(), log_capture::dump());
    const char* file = std::getenv("NCCL_TOPO_FILE");
    require(file != nullptr, "no topology file");
    const std::string tree = text_of(file);
    for (int dev = 0; dev < 2; ++dev) {
        const auto properties = net.properties(dev);
        require(properties.speed == 400000, "device {}: {} Mbit/s", dev, properties.speed);
        const std::string leader = dev == 0 ? "0000:13:00.0" : "0000:93:00.0";
        require(tree.find(leader) != std::string::npos, "{} is not in\n{}", leader, tree);
    }
    require(tree.find("0000:14:00.0") == std::string::npos, "a card that leads none is in\n{}", tree);
    if (rank.number("rma", 0) == 0) return;
    RmaModule rma_module(plugin_path());
    const Rma rma(rma_module.table(kNewestRma), kNewestRma);
    const RmaOwned instance = open_instance(rma, 1);
    require(rma.devices() == 2, "RMA has {} devices", rma.devices());
    for (int dev = 0; dev < 2; ++dev) {
        const auto shown = rma.properties(dev);
        const auto wanted = net.properties(dev);
        require(std::string(shown.name) == wanted.name &&
                    shown.speed == wanted.speed && shown.guid == wanted.guid,
                "RMA shows {}, {} Mbit/s", shown.name, shown.speed);
    }
}

GroupOptions on_eight_cards(const std::string& personality) {
    GroupOptions options = on_personality(
        personality, 1,
        {{"NICS", "0000:95:00.0@100,0000:13:00.0@100,0000:94:00.0@100,0000:16:00.0@100,0000:93:00.0@100,0000:14:00.0@100,"
                  "0000:96:00.0@100,0000:15:00.0@100"}});
    options.env["HWLOC_XMLFILE"] = DUOFI_MACHINES "/four_nics_per_switch.xml";
    options.env["OFI_NCCL_PROTOCOL"] = "RDMA";
    options.env["DUOFI_RMA"] = "1";
    return options;
}

TEST(SimGroups, cards_beside_one_accelerator_are_one_device) {
    for (const char* personality : {"efa", "verbs", "ideal"}) {
        GroupOptions options = on_eight_cards(personality);
        options.args["rma"] = personality == std::string_view("efa") ? "0" : "1";
        SCOPED_TRACE(personality);
        run_group("devices_by_place", options);
    }
}

}  // namespace
}  // namespace duofi::test
