// Machines from hwloc's files, live and from sysfs: V-18, T-14.
// Units: p2p/gate/machine_model.
#include "p2p/gate/machine_model.hpp"

#include <gtest/gtest.h>

#include "tests/unit/p2p/gate/hwloc_file.hpp"
#include "tests/unit/p2p/gate/records.hpp"
#include "tests/unit/util/log_lines.hpp"

namespace duofi::p2p::test {
namespace {

/// Path types between all devices, row by row: "LOC PIX / PIX LOC".
std::string types_of(const TopoModel& machine) {
    const PathTable paths(machine, std::vector<bool>(machine.nodes.size(), true));
    std::string text;
    for (const int a : machine.devices()) {
        if (!text.empty()) text += " / ";
        for (const int b : machine.devices())
            text += std::string(b == machine.devices().front() ? "" : " ") + to_string(paths.between(a, b).type);
    }
    return text;
}

TopoModel machine_in(const std::string& text) {
    const TextFile file(text);
    auto model = model_of_file(file.path());
    EXPECT_TRUE(model) << model.error().line << ": " << model.error().reason << "\n" << text;
    return model ? *model : TopoModel{};
}

TEST(HwlocModel, OneSwitch) {  // V-18
    HwlocFile f;
    const TopoModel machine = machine_in(f.machine({f.host(f.bridge(
        "0000:00:01.0", f.pci_switch("02", {f.card("0000:04:00.0"), f.card("0000:05:00.0"),
                                            f.card("0000:06:00.0", "0200")})))}));
    EXPECT_EQ(types_of(machine), "LOC PIX / PIX LOC");
    EXPECT_EQ(machine.cpu_vendor, "AuthenticAMD");
    EXPECT_TRUE(machine.complete);
    ASSERT_EQ(machine.of_kind(NodeKind::nic).size(), 1U);
    const PathTable paths(machine, std::vector<bool>(machine.nodes.size()));
    EXPECT_EQ(paths.between(machine.devices()[0], machine.of_kind(NodeKind::nic)[0]).type, PathType::pix);
    EXPECT_EQ(machine.numa_of(machine.devices()[1]), 0);
}

TEST(HwlocModel, SwitchBelowSwitch) {  // V-18
    HwlocFile f;
    const TopoModel machine = machine_in(f.machine({f.host(f.bridge(
        "0000:00:01.0",
        f.pci_switch("02", {f.card("0000:04:00.0"),
                            f.pci_switch("10", {f.card("0000:12:00.0"), f.card("0000:13:00.0")})})))}));
    EXPECT_EQ(types_of(machine), "LOC PXB PXB / PXB LOC PIX / PXB PIX LOC");
}

TEST(HwlocModel, TwoSockets) {  // V-18
    HwlocFile f;
    const TopoModel machine = machine_in(f.machine(
        {f.host(f.bridge("0000:00:01.0", f.card("0000:01:00.0")) + f.bridge("0000:00:02.0", f.card("0000:02:00.0"))),
         f.host(f.bridge("0000:80:01.0", f.card("0000:81:00.0")))}));
    EXPECT_EQ(types_of(machine), "LOC PHB SYS / PHB LOC SYS / SYS SYS LOC");
    EXPECT_EQ(machine.node(machine.devices()[2]).device.numa_node, 1);
    EXPECT_EQ(machine.node(*machine.find(NodeKind::cpu, 1)).affinity, "1");
}

TEST(HwlocModel, CardsOfOneRootPort) {  // the common ancestor is a bridge, with nothing between
    HwlocFile f;
    EXPECT_EQ(types_of(machine_in(f.machine({f.host(
                  f.bridge("0000:00:01.0", f.card("0000:01:00.0") + f.card("0000:01:00.1")))}))),
              "LOC PIX / PIX LOC");
}

TEST(HwlocModel, FlatVirtualMachine) {  // V-18: one host bridge above all nodes
    HwlocFile f;
    const std::string cards = f.card("0000:00:04.0") + f.card("0000:00:05.0");
    EXPECT_EQ(types_of(machine_in(f.machine({f.host(cards)}))), "LOC PHB / PHB LOC");
    const TopoModel two = machine_in(f.machine({"", ""}, f.host(cards)));
    EXPECT_EQ(types_of(two), "LOC PHB / PHB LOC") << "equal sets of nodes";
    EXPECT_EQ(two.node(two.devices()[0]).device.numa_node, -1);
    EXPECT_EQ(types_of(machine_in(f.machine({"", f.host(f.card("0000:80:01.0"))}, f.host(cards)))),
              "LOC PHB SYS / PHB LOC SYS / SYS SYS LOC") << "different sets of nodes";
}

TEST(HwlocModel, NoPciAtAll) {  // V-18
    HwlocFile f;
    const TopoModel machine = machine_in(f.machine({"", ""}));
    EXPECT_TRUE(machine.devices().empty());
    EXPECT_EQ(machine.of_kind(NodeKind::cpu).size(), 2U);
}

TEST(HwlocModel, ADeviceThatIsNotThere) {  // V-18
    HwlocFile f;
    std::vector<ncclPeerInfo> ranks;
    ncclTopoSystem topo = gate_on(machine_in(f.machine({f.host(f.card("0000:00:04.0") + f.card("0000:00:05.0"))})), ranks);
    EXPECT_EQ(gate(topo, ranks[0], ranks[1]), GateStep::passed);
    ranks[1].busId = *parse_bus_text("0000:00:06.0");
    EXPECT_EQ(gate(topo, ranks[0], ranks[1]), GateStep::path);
}

struct Broken {
    const char* what;
    std::string from, to;  // in a good file
    int line;              // 0: of the file as a whole
    std::string reason;
};

TEST(HwlocModel, BrokenFilesGiveOneClearLine) {  // V-18
    HwlocFile f;
    const std::string good = f.machine({f.host(f.card("0000:00:04.0"))});
    const Broken cases[] = {
        {"cut off", "</topology>\n", "", 14, "expected well-formed XML"},
        {"not closed", "</object>\n</topology>", "</topology>", 13, "mismatched tag"},
        {"address", "0000:00:04.0", "0000:00:4", 10,
         "<object> has pci_busid=\"0000:00:4\", expected a PCI address such as 0000:17:00.0"},
        {"no address", "pci_busid", "busid", 10, "has no pci_busid"},
        {"no type", "type=\"PCIDev\"", "", 10, "<object> has no type, expected one such as PCIDev"},
        {"root", "topology", "topologie", 2, "<topologie> is the root, expected <topology> of hwloc or <system> of NCCL"},
        {"entity", "<topology version", "<!DOCTYPE t [<!ENTITY a \"b\">]>\n<topology version", 2,
         "the document defines entities, expected none"},
        {"empty", good, "", 1, "expected well-formed XML"}};
    for (const Broken& broken : cases) {
        std::string text = good;
        for (std::size_t at = 0; (at = text.find(broken.from, at)) != std::string::npos; at += broken.to.size())
            text.replace(at, broken.from.size(), broken.to);
        const TextFile file(text);
        duofi::test::LogLines lines;
        const auto model = load_model("NCCL_TOPO_FILE", file.path());
        ASSERT_FALSE(model) << broken.what;
        EXPECT_EQ(model.error().code, Errc::invalid_argument);
        ASSERT_EQ(lines.all().size(), 1U) << broken.what << "\n" << lines.dump();
        const std::string start = "P2P NCCL_TOPO_FILE: " + file.path() + ":" + std::to_string(broken.line) + ": ";
        EXPECT_EQ(lines.last().rfind(start, 0), 0U) << broken.what << "\n" << lines.last() << "\n" << text;
        EXPECT_NE(lines.last().find(broken.reason), std::string::npos) << broken.what << "\n" << lines.last();
    }
}

TEST(HwlocModel, AFileThatCannotBeRead) {
    duofi::test::LogLines lines;
    EXPECT_FALSE(load_model("--xml", "/nonexistent/machine.xml"));
    EXPECT_TRUE(lines.warn("P2P --xml: /nonexistent/machine.xml:0: cannot be read (No such file or "
                           "directory), expected a readable file"))
        << lines.dump();
    EXPECT_FALSE(load_model("--xml", "/"));
}

TEST(HwlocModel, AFileThatOnlyHwlocRefuses) {
    duofi::test::LogLines lines;
    const TextFile file("<topology version=\"2.0\"><object type=\"Nonsense\"/></topology>");
    EXPECT_FALSE(load_model("--xml", file.path()));
    EXPECT_EQ(lines.with(":1: hwloc does not accept it").size(), 1U) << lines.dump();
}

TEST(HwlocModel, ThisMachine) {  // V-18
    const TopoModel machine = model_of_this_machine(Accelerators::all);
    EXPECT_EQ(machine.source, "hwloc live");
    EXPECT_FALSE(machine.of_kind(NodeKind::cpu).empty());
    const topology::IoTree tree = topology::read_io_tree(topology::Sysfs());
    const TopoModel other = model_of_tree(tree, Accelerators::all);
    EXPECT_EQ(other.devices().size(), machine.devices().size());
    EXPECT_EQ(other.of_kind(NodeKind::nic).size(), machine.of_kind(NodeKind::nic).size());
    EXPECT_EQ(types_of(other), types_of(machine)) << "sysfs and hwloc tell the same";
}

TEST(HwlocModel, WhatCountsAsAnAccelerator) {
    topology::IoObject card;
    const auto is = [&](std::uint16_t kind, std::uint16_t vendor) {
        card.pci_class = kind;
        card.vendor = vendor;
        return is_accelerator(card);
    };
    EXPECT_TRUE(is(0x0302, 0x10de) && is(0x1200, 0x1d0f) && is(0x0880, 0x1d0f) && is(0x0300, 0x1002));
    EXPECT_FALSE(is(0x0300, 0x1234) || is(0x0880, 0x8086) || is(0x0200, 0x10de));
}

}  // namespace
}  // namespace duofi::p2p::test
