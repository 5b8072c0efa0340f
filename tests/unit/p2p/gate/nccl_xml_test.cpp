// NCCL's description of a machine, both ways (V-18, p2p contract 3.6).
// Units: p2p/gate/nccl_xml, p2p/gate/nccl_xml_writer, p2p/gate/xml_document.
#include "p2p/gate/nccl_xml.hpp"

#include <gtest/gtest.h>

#include "p2p/gate/neuron_torus.hpp"
#include "p2p/gate/paths.hpp"

namespace duofi::p2p::test {
namespace {

/// Two GPUs with fast links on one switch, a third one beside the other CPU, a NIC.
constexpr char kMachine[] = R"(<system version="1">
  <cpu numaid="0" affinity="0000ffff" arch="x86_64" vendor="AuthenticAMD" familyid="143" modelid="49">
    <pci busid="0000:11:00.0" class="0x060400" link_speed="16 GT/s" link_width="16">
      <pci busid="0000:17:00.0" class="0x030200" link_speed="16 GT/s" link_width="16">
        <gpu dev="1" sm="80" rank="1" gdr="1">
          <nvlink target="0000:18:00.0" count="2" tclass="0x030200"/>
        </gpu>
      </pci>
      <pci busid="0000:18:00.0" class="0x030200" link_speed="8 GT/s" link_width="16">
        <gpu dev="0" sm="80" rank="0" gdr="1">
          <nvlink target="0000:17:00.0" count="2" tclass="0x030200"/>
        </gpu>
      </pci>
      <pci busid="0000:19:00.0" class="0x020700" link_speed="16 GT/s" link_width="16">
        <nic>
          <net name="mlx5_0" dev="0" speed="200000" port="1" guid="0x1" maxconn="262144" gdr="1"/>
        </nic>
      </pci>
    </pci>
  </cpu>
  <cpu numaid="1" affinity="ffff0000" arch="x86_64" vendor="AuthenticAMD" familyid="143" modelid="49">
    <pci busid="0000:81:00.0" class="0x030200" link_speed="" link_width="0">
      <gpu dev="2" sm="90"/>
    </pci>
  </cpu>
</system>
)";

FileResult<TopoModel> read(const std::string& text) {
    const auto root = parse_xml(text);
    if (!root) return tl::unexpected<FileFault>(root.error());
    return model_of_nccl_xml(*root);
}

std::string described(const TopoModel& machine) {
    std::string text = machine.cpu_vendor;
    const PathTable paths(machine, std::vector<bool>(machine.nodes.size(), true));
    for (const int a : machine.devices()) {
        const DeviceInfo& info = machine.node(a).device;
        text += "\n" + bus_text(machine.node(a).id) + " " + std::to_string(info.compute_cap) + " " +
                std::to_string(info.family) + " " + std::to_string(info.mla_index) + ":";
        for (std::size_t b = 0; b < machine.nodes.size(); ++b) {
            const NodeKind kind = machine.nodes[b].kind;
            if (kind != NodeKind::device && kind != NodeKind::nic) continue;
            const TopoPath& path = paths.between(a, static_cast<int>(b));
            text += std::string(" ") + bus_text(machine.nodes[b].id) + "=" + to_string(path.type) + "/" +
                    std::to_string(path.gigabytes) + "/" + std::to_string(path.hops);
        }
    }
    return text;
}

TEST(NcclXml, ReadsWhatNcclWrites) {
    const auto machine = read(kMachine);
    ASSERT_TRUE(machine) << machine.error().reason;
    const std::vector<int> devices = machine->devices();
    ASSERT_EQ(devices.size(), 3U);
    EXPECT_EQ(bus_text(machine->node(devices[0]).id), "0000:18:00.0") << "in the order of dev";
    const PathTable paths(*machine, std::vector<bool>(machine->nodes.size(), true));
    const TopoPath& fast = paths.between(devices[0], devices[1]);
    EXPECT_EQ(fast.type, PathType::nvl);
    EXPECT_EQ(fast.gigabytes, 2 * kFastLinkGigabytes) << "both ends write the same links down";
    EXPECT_EQ(paths.between(devices[0], devices[2]).type, PathType::sys);
    const int nic = machine->of_kind(NodeKind::nic).front();
    EXPECT_EQ(machine->node(nic).name, "mlx5_0");
    EXPECT_EQ(paths.between(devices[0], nic).type, PathType::pix);
    EXPECT_EQ(paths.between(devices[0], nic).gigabytes, 16) << "8 GT/s on 16 lanes";
    EXPECT_EQ(machine->node(devices[2]).device.compute_cap, 90);
    EXPECT_EQ(machine->node(devices[2]).device.numa_node, 1);
    EXPECT_EQ(machine->cpu_vendor, "AuthenticAMD");
}

TEST(NcclXml, WhatIsWrittenReadsTheSame) {
    const auto machine = read(kMachine);
    ASSERT_TRUE(machine);
    const std::string written = nccl_xml_of(*machine);
    const auto again = read(written);
    ASSERT_TRUE(again) << again.error().line << ": " << again.error().reason << "\n" << written;
    EXPECT_EQ(described(*again), described(*machine)) << written;
    EXPECT_EQ(nccl_xml_of(*again), written);
}

TEST(NcclXml, NeuronInstancesToo) {
    const auto machine = neuron_instance("trn1", 16);
    ASSERT_TRUE(machine);
    const auto again = read(nccl_xml_of(*machine));
    ASSERT_TRUE(again) << again.error().reason;
    EXPECT_EQ(described(*again), described(*machine));
}

TEST(NcclXml, SwitchesOfFastLinksAndLinksToCpus) {
    const auto machine = read(R"(<system version="1"><cpu numaid="0">
<pci busid="01:00.0" class="0x030200"><gpu dev="0"><nvlink target="ff:1f.0" count="6" tclass="0x068000"/><c2c/></gpu></pci>
<pci busid="02:00.0" class="0x030200"><gpu dev="1"><xgmi target="ff:1f.0" count="6" tclass="0x068000"/></gpu></pci>
<unknown/></cpu></system>)");
    ASSERT_TRUE(machine) << machine.error().reason;
    const std::vector<int> devices = machine->devices();
    const PathTable paths(*machine, std::vector<bool>(machine->nodes.size()));
    EXPECT_EQ(paths.between(devices[0], devices[1]).type, PathType::nvl);
    EXPECT_EQ(paths.between(devices[0], devices[1]).hops, 2);
    EXPECT_EQ(paths.between(devices[0], *machine->find(NodeKind::cpu, 0)).type, PathType::c2c);
    const auto again = read(nccl_xml_of(*machine));
    ASSERT_TRUE(again) << again.error().reason;
    EXPECT_EQ(described(*again), described(*machine));
}

struct Wrong {
    const char* from;
    const char* to;
    int line;
    const char* reason;
};

TEST(NcclXml, WrongFilesNameLineAndWhatWasExpected) {  // V-18
    const Wrong cases[] = {
        {"version=\"1\"", "version=\"2\"", 1, "<system> has version=\"2\", expected 1"},
        {" version=\"1\"", "", 1, "<system> has no version, expected 1"},
        {"numaid=\"0\"", "numaid=\"zero\"", 2, "<cpu> has numaid=\"zero\", expected a whole number from -1 to 4095"},
        {"numaid=\"1\"", "numaid=\"0\"", 21, "<cpu> has numaid=\"0\", expected a number of its own"},
        {"busid=\"0000:17:00.0\"", "busid=\"17\"", 4, "<pci> has busid=\"17\", expected a PCI address such as 0000:17:00.0"},
        {"class=\"0x020700\"", "class=\"net\"", 14, "<pci> has class=\"net\", expected a whole number"},
        {"dev=\"1\"", "", 5, "<gpu> has no dev, expected a whole number from 0 to 4095"},
        {"sm=\"90\"", "sm=\"9.0\"", 23, "<gpu> has sm=\"9.0\", expected a whole number from 0 to 1000"},
        {"count=\"2\"", "count=\"0\"", 6, "<nvlink> has count=\"0\", expected a whole number from 1 to 1024"},
        {"target=\"0000:18:00.0\"", "target=\"0000:99:00.0\"", 6,
         "a fast link leads to 0000:99:00.0, expected the address of a <gpu>"},
        {"busid=\"0000:81:00.0\"", "busid=\"0000:18:00.0\"", 23, "<gpu> has the address of another one"},
        {"name=\"mlx5_0\" dev=\"0\"", "name=\"mlx5_0\" dev=\"x\"", 16, "<net> has dev=\"x\", expected a whole number"},
        {"<nic>", "<nic", 16, "expected well-formed XML"}};
    for (const Wrong& wrong : cases) {
        std::string text = kMachine;
        const std::size_t at = text.find(wrong.from);
        ASSERT_NE(at, std::string::npos) << wrong.from;
        text.replace(at, std::string(wrong.from).size(), wrong.to);
        const auto machine = read(text);
        ASSERT_FALSE(machine) << wrong.to;
        EXPECT_EQ(machine.error().line, wrong.line) << machine.error().reason;
        EXPECT_NE(machine.error().reason.find(wrong.reason), std::string::npos) << machine.error().reason;
    }
    EXPECT_FALSE(read("<system version=\"1\"/>")) << "no CPU";
    EXPECT_FALSE(read("<machine/>"));
}

TEST(Xml, RefusesWhatCouldHurt) {
    std::string deep;
    for (int i = 0; i < 100; ++i) deep += "<a>";
    const auto nested = parse_xml(deep);
    ASSERT_FALSE(nested);
    EXPECT_EQ(nested.error().reason, "elements are nested too deeply");
    EXPECT_FALSE(parse_xml(""));
    EXPECT_FALSE(parse_xml("<a/><b/>"));
    EXPECT_FALSE(parse_xml("<!DOCTYPE a [<!ENTITY b \"c\">]><a/>"));
    EXPECT_EQ(xml_escaped("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&apos;");
    const auto text = parse_xml("<a b=\"&lt;&amp;\"/>");
    ASSERT_TRUE(text);
    EXPECT_EQ(*text->find("b"), "<&");
    EXPECT_EQ(text->find("c"), nullptr);
}

}  // namespace
}  // namespace duofi::p2p::test
