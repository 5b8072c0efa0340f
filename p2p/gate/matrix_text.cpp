// matrix_text and matrix_svg: a matrix for terminals and for pages.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "p2p/gate/matrix.hpp"
#include "p2p/gate/xml_document.hpp"

namespace duofi::p2p {
namespace {

constexpr std::size_t kMostReasons = 64;

std::string or_dash(const std::string& text) {
    return text.empty() ? "-" : text;
}

std::string number_or_dash(int value) {
    return value < 0 ? "-" : fmt::format("{}", value);
}

std::string pod_text(const MatrixRow& row) {
    return row.pod_node < 0 ? "-" : fmt::format("{:x}/{}", row.pod_id, row.pod_node);
}

std::string cell(const std::string& text, std::size_t width) {
    return fmt::format(" {:<{}}", text, width);
}

/// Without the blank in front of the first cell and those behind the last one.
std::string trimmed_line(std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    return line.substr(1) + "\n";
}

std::size_t affinity_width(const Matrix& matrix) {
    std::size_t width = 12;
    for (const MatrixRow& row : matrix.rows) width = std::max(width, row.affinity.size());
    return width;
}

std::string header(const Matrix& matrix) {
    std::string line = cell("", 6);
    for (std::size_t column = 0; column < matrix.rows.size(); ++column)
        line += cell(fmt::format("DEV{}", column), 6);
    for (std::size_t nic = 0; nic < matrix.nics.size(); ++nic)
        line += cell(fmt::format("NIC{}", nic), 5);
    line += cell("CPU affinity", affinity_width(matrix)) + cell("NUMA", 4) + cell("MLA", 4);
    return trimmed_line(line + cell("pod/node", 8));
}

std::string row_text(const Matrix& matrix, std::size_t index) {
    const MatrixRow& row = matrix.rows[index];
    std::string line = cell(fmt::format("DEV{}", index), 6);
    for (const MatrixEdge& edge : row.edges)
        line += cell(edge.kind == EdgeKind::self ? "  X" : edge_text(edge), 6);
    for (const PathType type : row.nics) line += cell(to_string(type), 5);
    line += cell(or_dash(row.affinity), affinity_width(matrix));
    line += cell(number_or_dash(row.numa), 4) + cell(number_or_dash(row.mla), 4);
    return trimmed_line(line + cell(pod_text(row), 8));
}

std::string reasons_text(const Matrix& matrix) {
    const std::size_t ranks = matrix.rows.size();
    const bool all = ranks * (ranks - 1) / 2 <= kMostReasons;
    std::string text = all ? "why:\n" : "why (pairs without P2P):\n";
    for (std::size_t row = 0; row < ranks; ++row)
        for (std::size_t column = row + 1; column < ranks; ++column) {
            const MatrixEdge& edge = matrix.rows[row].edges[column];
            if (all || !joined(edge.kind))
                text += fmt::format("  DEV{}-DEV{}  {}\n", row, column, edge.why);
        }
    return text;
}

/// Near paths are dark, far ones pale.
constexpr std::array<const char*, kPathTypes> kColours{
    "#08306b", "#08519c", "#2171b5", "#4292c6", "#41ab5d", "#78c679",
    "#addd8e", "#d9f0a3", "#fec44f", "#fe9929", "#d94801", "#969696"};
constexpr int kSquare = 46, kLeft = 60, kTop = 64;

std::string square(const MatrixEdge& edge, std::size_t row, std::size_t column) {
    const int x = kLeft + static_cast<int>(column) * kSquare;
    const int y = kTop + static_cast<int>(row) * kSquare;
    const bool dark = edge.path <= PathType::c2c;
    const bool refused = edge.kind != EdgeKind::self && !joined(edge.kind);
    std::string text = fmt::format(
        "<g><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"{}/>", x, y, kSquare - 2,
        kSquare - 2, edge.kind == EdgeKind::self ? "#eeeeee" : kColours[static_cast<std::size_t>(edge.path)],
        refused ? " fill-opacity=\"0.25\" stroke=\"#d94801\" stroke-dasharray=\"4 2\"" : "");
    text += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"{}\">{}</text>",
                        x + kSquare / 2 - 1, y + kSquare / 2 + 4,
                        dark && !refused && edge.kind != EdgeKind::self ? "#ffffff" : "#222222",
                        edge_text(edge));
    if (!edge.why.empty())
        text += fmt::format("<title>DEV{}-DEV{}: {}</title>", row, column, xml_escaped(edge.why));
    return text + "</g>\n";
}

std::string label(int x, int y, const char* anchor, const std::string& text) {
    return fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                       xml_escaped(text));
}

std::string level_line(const Matrix& matrix) {
    return fmt::format("level in force: {} ({}) | source: {}", to_string(matrix.level),
                       matrix.level_set ? "NCCL_P2P_LEVEL" : "default", or_dash(matrix.source));
}

constexpr char kEdgeLegend[] =
    "edge: D direct pointer, I IPC, R relay via a rank, N falls to NET, - none";

}  // namespace

std::string matrix_text(const Matrix& matrix, bool reasons) {
    std::string text = header(matrix);
    for (std::size_t row = 0; row < matrix.rows.size(); ++row) text += row_text(matrix, row);
    for (std::size_t nic = 0; nic < matrix.nics.size(); ++nic)
        text += fmt::format("NIC{}: {}\n", nic, matrix.nics[nic]);
    text += std::string(kEdgeLegend) + "\n";
    text += "path: LOC NVL NVB C2C PIX PXB P2C PXN PHB SYS NET DIS, from near to far\n";
    text += level_line(matrix) + "\n";
    if (reasons && matrix.rows.size() > 1) text += reasons_text(matrix);
    return text;
}

std::string matrix_svg(const Matrix& matrix) {
    const int side = static_cast<int>(matrix.rows.size()) * kSquare;
    const int width = std::max(kLeft + side + 20, 640), height = kTop + side + 40;
    std::string text = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
        "font-family=\"sans-serif\" font-size=\"11\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        width, height);
    text += label(8, 20, "start", "P2P between " + std::to_string(matrix.rows.size()) + " devices; " +
                                      level_line(matrix));
    text += label(8, 36, "start", kEdgeLegend);
    for (std::size_t i = 0; i < matrix.rows.size(); ++i) {
        const int middle = static_cast<int>(i) * kSquare + kSquare / 2;
        text += label(kLeft + middle, kTop - 8, "middle", fmt::format("DEV{}", i));
        text += label(kLeft - 8, kTop + middle + 4, "end", fmt::format("DEV{}", i));
        for (std::size_t j = 0; j < matrix.rows.size(); ++j)
            text += square(matrix.rows[i].edges[j], i, j);
    }
    return text + "</svg>\n";
}

}  // namespace duofi::p2p
