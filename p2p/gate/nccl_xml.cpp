#include "p2p/gate/nccl_xml.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <sstream>

namespace duofi::p2p {
namespace {

constexpr long kSwitchClass = 0x0680;  // all switches of fast links count as one
constexpr std::string_view kNetElement = std::string_view("<net>").substr(1, 3);
constexpr int kMostDeviceNumber = 4095;

using Check = FileResult<void>;

#define DUOFI_XML_TRY(expr)                                                        \
    do {                                                                           \
        if (auto duofi_done = (expr); !duofi_done)                                 \
            return tl::unexpected<FileFault>(std::move(duofi_done.error()));       \
    } while (false)

std::string about(const XmlElement& element, std::string_view attribute, std::string_view expected) {
    const std::string* value = element.find(attribute);
    if (value == nullptr)
        return fmt::format("<{}> has no {}, expected {}", element.name, attribute, expected);
    return fmt::format("<{}> has {}=\"{}\", expected {}", element.name, attribute, *value, expected);
}

FileResult<long> whole_number(const XmlElement& element, std::string_view attribute, long low,
                              long high, int base = 10) {
    const std::string* text = element.find(attribute);
    long value = 0;
    bool good = false;
    if (text != nullptr) {
        std::string_view digits = *text;
        if (base == 16 && digits.rfind("0x", 0) == 0) digits.remove_prefix(2);
        const auto [end, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
        good = error == std::errc{} && end == digits.data() + digits.size() && !digits.empty();
    }
    if (good && value >= low && value <= high) return value;
    return file_fault(element.line,
                      about(element, attribute, fmt::format("a whole number from {} to {}", low, high)));
}

/// Of an attribute that may be left out.
FileResult<long> optional_number(const XmlElement& element, std::string_view attribute, long low,
                                 long high, long otherwise, int base = 10) {
    const std::string* text = element.find(attribute);
    if (text == nullptr || text->empty()) return otherwise;
    return whole_number(element, attribute, low, high, base);
}

FileResult<std::int64_t> bus_id(const XmlElement& element, std::string_view attribute) {
    const std::string* text = element.find(attribute);
    const auto id = text != nullptr ? parse_bus_text(*text) : std::nullopt;
    if (id) return *id;
    return file_fault(element.line,
                      about(element, attribute, "a PCI address such as 0000:17:00.0"));
}

/// "16 GT/s" times lanes, 8 bits per byte; unknown speeds count as one usual link.
double pci_gigabytes(const XmlElement& element, long lanes) {
    const std::string* speed = element.find("link_speed");
    double transfers = 0;
    if (speed != nullptr) std::istringstream(*speed) >> transfers;
    return transfers > 0 && lanes > 0 ? transfers * static_cast<double>(lanes) / 8
                                      : kPciLinkGigabytes;
}

/// A fast link that is made when all devices are known.
struct FastLink {
    int line = 0;
    int from = -1;
    std::int64_t target = 0;
    long target_class = 0;
    long count = 1;
};

class Reader {
  public:
    FileResult<TopoModel> run(const XmlElement& root) {
        if (root.name != "system")
            return file_fault(root.line, fmt::format("<{}> is the root, expected <system>", root.name));
        const std::string* version = root.find("version");
        if (version == nullptr || *version != "1")
            return file_fault(root.line, about(root, "version", "1"));
        for (const XmlElement& element : root.children)
            if (element.name == "cpu") DUOFI_XML_TRY(read_cpu(element));
        if (model_.of_kind(NodeKind::cpu).empty())
            return file_fault(root.line, "<system> has no <cpu>, expected at least one");
        model_.connect_cpus();
        for (const FastLink& link : fast_links_) DUOFI_XML_TRY(connect_fast(link));
        return std::move(model_);
    }

  private:
    Check read_cpu(const XmlElement& element) {
        const auto numa = whole_number(element, "numaid", -1, 4095);
        if (!numa) return tl::unexpected<FileFault>(numa.error());
        if (model_.find(NodeKind::cpu, *numa))
            return file_fault(element.line, about(element, "numaid", "a number of its own"));
        const int cpu = model_.cpu(static_cast<int>(*numa));
        if (const std::string* mask = element.find("affinity"))
            model_.nodes[static_cast<std::size_t>(cpu)].affinity = *mask;
        if (const std::string* vendor = element.find("vendor")) model_.cpu_vendor = *vendor;
        return read_children(element, cpu, cpu, 0, kPciLinkGigabytes);
    }

    /// `above`: the node that a card in `element` hangs on, over a link that wide; `id`: its address.
    Check read_children(const XmlElement& element, int above, int cpu, std::int64_t id,
                        double gigabytes) {
        for (const XmlElement& child : element.children) {
            if (child.name == "pci") DUOFI_XML_TRY(read_pci(child, above, cpu));
            if (child.name == "nic") DUOFI_XML_TRY(read_nic(child, above, id, gigabytes));
        }
        return {};
    }

    Check read_pci(const XmlElement& element, int above, int cpu) {
        const auto id = bus_id(element, "busid");
        if (!id) return tl::unexpected<FileFault>(id.error());
        const auto kind = optional_number(element, "class", 0, 0xffffff, 0, 16);
        if (!kind) return tl::unexpected<FileFault>(kind.error());
        const auto lanes = optional_number(element, "link_width", 0, 64, 16);
        if (!lanes) return tl::unexpected<FileFault>(lanes.error());
        const double gigabytes = pci_gigabytes(element, *lanes);
        int below = above;
        const bool is_switch = *kind >> 8 == 0x0604 || std::ranges::any_of(element.children, [](const auto& child) {
                                   return child.name == "pci";
                               });
        if (is_switch) {
            if (model_.find(NodeKind::pci_switch, *id)) return twice(element);
            TopoNode node;
            node.kind = NodeKind::pci_switch;
            node.id = *id;
            node.pci_class = static_cast<int>(*kind >> 8);
            below = model_.add(std::move(node));
            model_.connect_pci(below, above, gigabytes);
        }
        for (const XmlElement& child : element.children)
            if (child.name == "gpu")
                DUOFI_XML_TRY(read_gpu(child, below, cpu, *id, static_cast<int>(*kind >> 8), gigabytes));
        return read_children(element, below, cpu, *id, gigabytes);
    }

    static Check twice(const XmlElement& element) {
        return file_fault(element.line, about(element, "busid", "an address that no other one has"));
    }

    Check read_gpu(const XmlElement& element, int above, int cpu, std::int64_t id, int kind,
                   double gigabytes) {
        const auto number = whole_number(element, "dev", 0, kMostDeviceNumber);
        if (!number) return tl::unexpected<FileFault>(number.error());
        const auto capability = optional_number(element, "sm", 0, 1000, -1);
        if (!capability) return tl::unexpected<FileFault>(capability.error());
        if (model_.find(NodeKind::device, id))
            return file_fault(element.line, "<gpu> has the address of another one, expected one for each");
        TopoNode made;
        made.id = id;
        made.pci_class = kind;
        made.device.host_device = static_cast<std::int32_t>(*number);
        made.device.compute_cap = static_cast<std::int32_t>(*capability);
        made.device.numa_node = static_cast<std::int32_t>(model_.node(cpu).id);
        DUOFI_XML_TRY(read_neuron(element, made.device));
        const int device = model_.add(std::move(made));
        model_.connect_pci(device, above, gigabytes);
        for (const XmlElement& child : element.children) DUOFI_XML_TRY(read_link(child, device, cpu));
        return {};
    }

    /// Our own attributes: which chip of which family it is.
    static Check read_neuron(const XmlElement& element, DeviceInfo& info) {
        const auto family = optional_number(element, "family", 0, 1000, 0);
        if (!family) return tl::unexpected<FileFault>(family.error());
        const auto mla = optional_number(element, "mla", 0, kMostDeviceNumber, -1);
        if (!mla) return tl::unexpected<FileFault>(mla.error());
        info.family = static_cast<std::int32_t>(*family);
        info.mla_index = static_cast<std::int32_t>(*mla);
        info.routing_id = info.mla_index;
        return {};
    }

    Check read_link(const XmlElement& element, int device, int cpu) {
        if (element.name == "c2c") {
            model_.connect(device, cpu, PathType::c2c, kFastLinkGigabytes);
            return {};
        }
        if (element.name != "nvlink" && element.name != "xgmi") return {};
        const auto count = whole_number(element, "count", 1, 1024);
        if (!count) return tl::unexpected<FileFault>(count.error());
        const auto kind = optional_number(element, "tclass", 0, 0xffffff, 0x030200, 16);
        if (!kind) return tl::unexpected<FileFault>(kind.error());
        FastLink link{element.line, device, 0, *kind, *count};
        if (link.target_class >> 8 != kSwitchClass) {
            const auto target = bus_id(element, "target");
            if (!target) return tl::unexpected<FileFault>(target.error());
            link.target = *target;
        }
        fast_links_.push_back(link);
        return {};
    }

    Check read_nic(const XmlElement& element, int above, std::int64_t id, double gigabytes) {
        TopoNode made;
        made.kind = NodeKind::nic;
        made.id = id;
        for (const XmlElement& child : element.children) {
            if (child.name != kNetElement) continue;
            const auto number = whole_number(child, "dev", 0, kMostDeviceNumber);
            if (!number) return tl::unexpected<FileFault>(number.error());
            if (const std::string* name = child.find("name"); name && made.name.empty())
                made.name = *name;
        }
        model_.connect_pci(model_.add(std::move(made)), above, gigabytes);
        return {};
    }

    Check connect_fast(const FastLink& link) {
        const double gigabytes = kFastLinkGigabytes * static_cast<double>(link.count);
        if (link.target_class >> 8 == kSwitchClass) {
            auto joint = model_.find(NodeKind::fast_switch, 0);
            if (!joint) joint = add_joint();
            model_.connect(link.from, *joint, PathType::nvl, gigabytes);
            return {};
        }
        const auto to = model_.find(NodeKind::device, link.target);
        if (!to)
            return file_fault(link.line, fmt::format("a fast link leads to {}, expected the address of a <gpu>",
                                                     bus_text(link.target)));
        // Both ends write it down; count it once.
        const auto& links = model_.node(link.from).links;
        const bool known = std::ranges::any_of(links, [&](const TopoLink& other) {
            return other.to == *to && other.type == PathType::nvl;
        });
        if (!known) model_.connect(link.from, *to, PathType::nvl, gigabytes);
        return {};
    }

    int add_joint() {
        TopoNode node;
        node.kind = NodeKind::fast_switch;
        return model_.add(std::move(node));
    }

    TopoModel model_;
    std::vector<FastLink> fast_links_;
};

}  // namespace

FileResult<TopoModel> model_of_nccl_xml(const XmlElement& root) {
    return Reader().run(root);
}

}  // namespace duofi::p2p
