// Who reaches whom and how, for people (p2p contract 3.7). Asks judge() as transports do (C-34). Pure
// functions; any thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "p2p/gate/can_connect.hpp"

namespace duofi::p2p {

/// How an edge is carried.
enum class EdgeKind : char {
    self = 'X',
    direct = 'D',
    ipc = 'I',
    relay = 'R',
    net = 'N',  ///< falls to the network
    none = '-', ///< nothing is left: connecting fails
};

/// True where P2P joins the two.
[[nodiscard]] constexpr bool joined(EdgeKind kind) noexcept {
    return kind == EdgeKind::direct || kind == EdgeKind::ipc || kind == EdgeKind::relay;
}

struct MatrixEdge {
    EdgeKind kind = EdgeKind::self;
    PathType path = PathType::loc;
    bool read = false;
    int middle = -1;  ///< rank on the device in the middle of an NVB path
    GateStep step = GateStep::passed;
    std::string why;  ///< "path NVB via DEV1, level SYS, oracle 0, relay on -> relay"
};

struct MatrixRow {
    int rank = 0;
    std::int64_t bus_id = 0;
    std::string affinity;  ///< CPUs of its NUMA node, "" when not known
    int numa = -1;
    int mla = -1;
    int pod_node = -1;
    std::uint64_t pod_id = 0;
    std::vector<MatrixEdge> edges;  ///< by column
    std::vector<PathType> nics;
};

struct Matrix {
    std::string source;
    PathType level = PathType::sys;
    bool level_set = false;
    std::vector<std::string> nics;  ///< names, or bus ids of NICs without one
    std::vector<MatrixRow> rows;
};

/// Of these ranks, in their order; column n is rank n of the list. The machine's NICs are those of the
/// first rank's server.
[[nodiscard]] Matrix make_matrix(const ncclTopoSystem& topo, std::span<const ncclPeerInfo> ranks);

/// "NVL-D", "PHB-N", "X".
[[nodiscard]] std::string edge_text(const MatrixEdge& edge);

/// Table, legend, level and source; with `reasons` one line for each pair, or for each pair without
/// P2P only when there are more than 64 pairs.
[[nodiscard]] std::string matrix_text(const Matrix& matrix, bool reasons);

/// The same as a picture: one square per pair, coloured by path, with its reason as tooltip.
[[nodiscard]] std::string matrix_svg(const Matrix& matrix);

}  // namespace duofi::p2p
