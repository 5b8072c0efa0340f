// The matrix as text and picture (p2p contract 3.7).
// Units: p2p/gate/matrix, p2p/gate/matrix_text.
#include "p2p/gate/matrix.hpp"

#include <gtest/gtest.h>

#include "p2p/gate/xml_document.hpp"
#include "tests/unit/p2p/gate/records.hpp"

namespace duofi::p2p::test {
namespace {

Matrix matrix_of(const char* name, int chips, bool relay = true) {
    std::vector<ncclPeerInfo> ranks;
    ncclTopoSystem topo = gate_on(*neuron_instance(name, chips), ranks);
    topo.relay = relay;
    return make_matrix(topo, ranks);
}

TEST(Matrix, TextOfARowOfATorus) {
    EXPECT_EQ(matrix_text(matrix_of("trn1", 4), true),
              "       DEV0   DEV1   DEV2   DEV3   CPU affinity NUMA MLA  pod/node\n"
              "DEV0     X    NVL-I  NVB-R  NVL-I  -            0    0    -\n"
              "DEV1   NVL-I    X    NVL-I  NVB-R  -            0    1    -\n"
              "DEV2   NVB-R  NVL-I    X    NVL-I  -            0    2    -\n"
              "DEV3   NVL-I  NVB-R  NVL-I    X    -            0    3    -\n"
              "edge: D direct pointer, I IPC, R relay via a rank, N falls to NET, - none\n"
              "path: LOC NVL NVB C2C PIX PXB P2C PXN PHB SYS NET DIS, from near to far\n"
              "level in force: SYS (default) | source: description trn1:4\n"
              "why:\n"
              "  DEV0-DEV1  path NVL, level SYS, oracle 1 -> IPC\n"
              "  DEV0-DEV2  path NVB via DEV1, level SYS, relay on -> relay\n"
              "  DEV0-DEV3  path NVL, level SYS, oracle 1 -> IPC\n"
              "  DEV1-DEV2  path NVL, level SYS, oracle 1 -> IPC\n"
              "  DEV1-DEV3  path NVB via DEV0, level SYS, relay on -> relay\n"
              "  DEV2-DEV3  path NVL, level SYS, oracle 1 -> IPC\n");
}

TEST(Matrix, ReasonsOfRefusalsNameTheStep) {
    const Matrix matrix = matrix_of("trn1", 16, false);
    EXPECT_EQ(edge_text(matrix.rows[0].edges[2]), "NVB-N");
    EXPECT_EQ(matrix.rows[0].edges[2].why,
              "path NVB via DEV1, level SYS, relay off: needs a relay, and relays are off -> NET");
    EXPECT_EQ(edge_text(matrix.rows[0].edges[6]), "PHB-N");
    EXPECT_EQ(matrix.rows[0].edges[6].why,
              "path PHB, level SYS, oracle 0: the devices do not reach each other -> NET");
    const std::string text = matrix_text(matrix, true);
    EXPECT_NE(text.find("why (pairs without P2P):\n"), std::string::npos);
    EXPECT_EQ(text.find("DEV0-DEV1  "), std::string::npos) << "that pair has P2P";
    EXPECT_NE(text.find("  DEV0-DEV2  path NVB"), std::string::npos);
}

TEST(Matrix, EveryStepHasWords) {
    for (int step = static_cast<int>(GateStep::disabled); step <= static_cast<int>(GateStep::passed); ++step)
        EXPECT_STRNE(to_string(static_cast<GateStep>(step)), "") << step;
}

TEST(Matrix, DirectPointersReadModeAndNics) {
    TopoModel machine;
    for (int i = 0; i < 2; ++i) {
        TopoNode node;
        node.id = (i + 1) << 12;
        node.device.compute_cap = 80;
        node.device.host_device = i;
        machine.connect_pci(machine.add(std::move(node)), machine.cpu(0), 16);
    }
    machine.connect(*machine.find(NodeKind::device, 1 << 12), *machine.find(NodeKind::device, 2 << 12),
                    PathType::nvl, 50);
    TopoNode nic;
    nic.kind = NodeKind::nic;
    nic.id = 0x50000;
    machine.connect_pci(machine.add(std::move(nic)), machine.cpu(0), 16);
    std::vector<ncclPeerInfo> ranks;
    ncclTopoSystem topo = gate_on(machine, ranks);
    ranks[1].pidHash = ranks[0].pidHash;
    const Matrix matrix = make_matrix(topo, ranks);
    EXPECT_EQ(edge_text(matrix.rows[0].edges[1]), "NVL-D");
    EXPECT_TRUE(matrix.rows[0].edges[1].read);
    EXPECT_NE(matrix.rows[0].edges[1].why.find("-> direct pointer/read"), std::string::npos);
    ASSERT_EQ(matrix.nics, (std::vector<std::string>{"0000:50:00.0"}));
    EXPECT_EQ(matrix.rows[0].nics, (std::vector<PathType>{PathType::phb}));
}

TEST(Matrix, ThePictureIsWellFormedAndHasOneSquareForEachPair) {
    const std::string svg = matrix_svg(matrix_of("trn1", 16));
    const auto root = parse_xml(svg);
    ASSERT_TRUE(root) << root.error().reason;
    EXPECT_EQ(root->name, "svg");
    std::size_t squares = 0, reasons = 0;
    for (const XmlElement& element : root->children) {
        if (element.name != "g") continue;
        ++squares;
        for (const XmlElement& part : element.children) reasons += part.name == "title" ? 1 : 0;
    }
    EXPECT_EQ(squares, 256U);
    EXPECT_EQ(reasons, 240U);
}

}  // namespace
}  // namespace duofi::p2p::test
