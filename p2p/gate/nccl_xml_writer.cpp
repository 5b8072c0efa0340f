// nccl_xml_of: a model as the XML that model_of_nccl_xml reads.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "p2p/gate/nccl_xml.hpp"

namespace duofi::p2p {
namespace {

/// Transfers per second and lane (10^9) of the generations of PCIe, newest last.
constexpr std::array kSpeeds{2.5, 5.0, 8.0, 16.0, 32.0, 64.0};
constexpr std::array kWidths{16, 8, 4, 2, 1};

/// The link attributes of a <pci> that make its width again.
std::string link_text(double gigabytes) {
    for (const int lanes : kWidths)
        for (const double speed : kSpeeds)
            if (std::abs(speed * lanes / 8 - gigabytes) < 1e-6)
                return fmt::format("link_speed=\"{} GT/s\" link_width=\"{}\"", speed, lanes);
    return fmt::format("link_speed=\"{} GT/s\" link_width=\"8\"", gigabytes);
}

/// Target of links to a switch: the reader looks at the class only.
constexpr std::int64_t kAnySwitch = std::int64_t{0xfffff} << 12;

class Writer {
  public:
    explicit Writer(const TopoModel& model) : model_(model), number_(model.nodes.size()) {
        int next = 0;
        for (const int device : model.devices()) number_[static_cast<std::size_t>(device)] = next++;
    }

    std::string run() {
        out_ = "<system version=\"1\">\n";
        for (const int cpu : model_.of_kind(NodeKind::cpu)) {
            const TopoNode& node = model_.node(cpu);
            line(1, fmt::format("<cpu numaid=\"{}\" affinity=\"{}\" vendor=\"{}\">", node.id,
                                xml_escaped(node.affinity), xml_escaped(model_.cpu_vendor)));
            write_below(cpu, -1, 2);
            line(1, "</cpu>");
        }
        return out_ + "</system>\n";
    }

  private:
    void line(int depth, const std::string& text) {
        out_ += std::string(static_cast<std::size_t>(depth) * 2, ' ') + text + "\n";
    }

    /// Everything on PCIe below a node; `above` is where we came from.
    void write_below(int node, int above, int depth) {
        for (const TopoLink& link : model_.node(node).links) {
            const NodeKind kind = model_.node(link.to).kind;
            if (link.to == above || link.type < PathType::pix || kind == NodeKind::cpu) continue;
            write_card(link, node, depth);
        }
    }

    void write_card(const TopoLink& link, int above, int depth) {
        const TopoNode& node = model_.node(link.to);
        const int usual = node.kind == NodeKind::pci_switch ? 0x0604
                          : node.kind == NodeKind::nic      ? 0x0200
                                                            : 0x0302;
        line(depth, fmt::format("<pci busid=\"{}\" class=\"0x{:04x}00\" {}>", bus_text(node.id),
                                node.pci_class != 0 ? node.pci_class : usual,
                                link_text(link.gigabytes)));
        if (node.kind == NodeKind::device) write_device(link.to, depth + 1);
        if (node.kind == NodeKind::nic) write_nic(node, depth + 1);
        if (node.kind == NodeKind::pci_switch) write_below(link.to, above, depth + 1);
        line(depth, "</pci>");
    }

    void write_device(int index, int depth) {
        const TopoNode& node = model_.node(index);
        const DeviceInfo& info = node.device;
        std::string text = fmt::format("<gpu dev=\"{}\"", number_[static_cast<std::size_t>(index)]);
        if (info.compute_cap >= 0) text += fmt::format(" sm=\"{}\"", info.compute_cap);
        if (info.family != 0) text += fmt::format(" family=\"{}\"", info.family);
        if (info.mla_index >= 0) text += fmt::format(" mla=\"{}\"", info.mla_index);
        line(depth, text + ">");
        for (const TopoLink& link : node.links) write_fast(link, depth + 1);
        line(depth, "</gpu>");
    }

    void write_fast(const TopoLink& link, int depth) {
        const TopoNode& to = model_.node(link.to);
        const long count = std::max(1L, std::lround(link.gigabytes / kFastLinkGigabytes));
        if (link.type == PathType::c2c) line(depth, "<c2c/>");
        if (link.type != PathType::nvl) return;
        const bool joint = to.kind == NodeKind::fast_switch;
        line(depth, fmt::format("<nvlink target=\"{}\" count=\"{}\" tclass=\"{}\"/>",
                                bus_text(joint ? kAnySwitch : to.id), count,
                                joint ? "0x068000" : "0x030200"));
    }

    void write_nic(const TopoNode& node, int depth) {
        line(depth, "<nic>");
        line(depth + 1, fmt::format("<net name=\"{}\" dev=\"{}\"/>", xml_escaped(node.name), nics_++));
        line(depth, "</nic>");
    }

    const TopoModel& model_;
    std::vector<int> number_;  // of a device, by node
    int nics_ = 0;
    std::string out_;
};

}  // namespace

std::string nccl_xml_of(const TopoModel& model) {
    return Writer(model).run();
}

}  // namespace duofi::p2p
