#include "common/ofi/device_list.hpp"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <limits>

#include "common/ofi/fid.hpp"
#include "common/topology/guid.hpp"
#include "common/topology/machine.hpp"
#include "common/topology/netdev.hpp"
#include "common/util/unique_fd.hpp"

namespace duofi::ofi {
namespace {

constexpr int kDefaultSpeedMbps = 10000;  // callers assume it too (6.4, L-23)
/// FI_SOCKADDR_IP of later headers: an IP address of either family.
constexpr std::uint32_t kAnyIpFormat = 17;

std::string text_of(const char* text) {
    return text == nullptr ? std::string() : std::string(text);
}

bool is_sockaddr_format(std::uint32_t format) {
    return format == FI_SOCKADDR || format == FI_SOCKADDR_IN || format == FI_SOCKADDR_IN6 ||
           format == kAnyIpFormat;
}

std::string ip_text(int family, const void* address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const char* result = ::inet_ntop(family, address, text.data(), text.size());
    return text_of(result);
}

void read_ipv4(const sockaddr_in& address, Candidate& out) {
    const std::uint32_t ip = ntohl(address.sin_addr.s_addr);
    out.address = ip_text(AF_INET, &address.sin_addr);
    out.loopback = (ip >> 24) == 127;
    out.address_class = (ip >> 16) == 0xa9fe ? AddressClass::link_local : AddressClass::ipv4;
    if (ip == INADDR_ANY) out.address_class = AddressClass::missing;
}

void read_ipv6(const sockaddr_in6& address, Candidate& out) {
    out.address = ip_text(AF_INET6, &address.sin6_addr);
    out.ipv6 = true;
    out.loopback = IN6_IS_ADDR_LOOPBACK(&address.sin6_addr);
    out.address_class =
        IN6_IS_ADDR_LINKLOCAL(&address.sin6_addr) ? AddressClass::link_local : AddressClass::ipv6;
    if (IN6_IS_ADDR_UNSPECIFIED(&address.sin6_addr)) out.address_class = AddressClass::missing;
}

/// Fills address, its class, and whether it is loopback or IPv6.
void read_address(const fi_info& info, Candidate& out) {
    if (!is_sockaddr_format(info.addr_format)) {
        if (info.addr_format == FI_ADDR_STR && info.src_addr != nullptr)
            out.address = text_of(static_cast<const char*>(info.src_addr));
        return;
    }
    out.address_class = AddressClass::missing;
    if (info.src_addr == nullptr || info.src_addrlen < sizeof(sockaddr_in)) return;
    const auto* address = static_cast<const sockaddr*>(info.src_addr);
    if (address->sa_family == AF_INET)
        read_ipv4(*static_cast<const sockaddr_in*>(info.src_addr), out);
    else if (address->sa_family == AF_INET6 && info.src_addrlen >= sizeof(sockaddr_in6))
        read_ipv6(*static_cast<const sockaddr_in6*>(info.src_addr), out);
}

std::optional<topology::PciAddress> nic_pci(const fi_info& info) {
    if (info.nic == nullptr || info.nic->bus_attr == nullptr ||
        info.nic->bus_attr->bus_type != FI_BUS_PCI)
        return std::nullopt;
    const fi_pci_attr& pci = info.nic->bus_attr->attr.pci;
    return topology::PciAddress{pci.domain_id, pci.bus_id, pci.device_id, pci.function_id};
}

/// Index of the interface behind a domain name, 0 when it is none.
unsigned interface_index(const std::string& domain) {
    return domain.empty() ? 0U : ::if_nametoindex(domain.c_str());
}

std::optional<int> nic_speed(const fi_info& info) {
    if (info.nic == nullptr || info.nic->link_attr == nullptr) return std::nullopt;
    const std::uint64_t mbps = info.nic->link_attr->speed / 1'000'000;
    if (mbps == 0) return std::nullopt;
    constexpr std::uint64_t kMost = std::numeric_limits<int>::max();
    return static_cast<int>(mbps < kMost ? mbps : kMost);
}

/// The kernel answers with the first address of the interface.
bool is_primary_ipv4(const std::string& interface, const std::string& address) {
    const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    if (!socket || interface.size() >= sizeof(request.ifr_name)) return false;
    interface.copy(request.ifr_name, interface.size());
    if (::ioctl(socket.get(), SIOCGIFADDR, &request) != 0) return false;
    sockaddr_in primary{};
    std::memcpy(&primary, &request.ifr_addr, sizeof(primary));
    return primary.sin_family == AF_INET && ip_text(AF_INET, &primary.sin_addr) == address;
}

/// From sysfs, or, where it does not tell, from hwloc's picture of the machine; -1 = unknown.
int numa_node_of(const topology::Sysfs& sysfs, const topology::PciPath& device) {
    if (const auto node = topology::numa_node(sysfs, device)) return *node;
    if (sysfs.root() != "/") return -1;
    const topology::Machine* machine = topology::Machine::of_this_process();
    return machine != nullptr ? machine->numa_node(device.address).value_or(-1) : -1;
}

}  // namespace

Candidate candidate_from(const fi_info& info, const topology::Sysfs& sysfs) {
    Candidate out;
    if (info.fabric_attr != nullptr) {
        out.provider = text_of(info.fabric_attr->prov_name);
        out.fabric = text_of(info.fabric_attr->name);
    }
    if (info.domain_attr != nullptr) out.domain = text_of(info.domain_attr->name);
    out.address_format = info.addr_format;
    if (info.ep_attr != nullptr) out.protocol = info.ep_attr->protocol;
    out.mode = info.mode;
    read_address(info, out);
    out.pci = nic_pci(info);
    if (const unsigned index = interface_index(out.domain); index != 0) {
        out.interface = out.domain;
        out.primary =
            out.address_class == AddressClass::ipv4 && is_primary_ipv4(out.interface, out.address);
        if (!out.pci)
            if (const auto facts = topology::netdev_facts(sysfs, out.interface, index); facts.pci)
                out.pci = facts.pci->address;
    }
    return out;
}

Result<DeviceInfo> describe_device(const fi_info& info, std::uint32_t libfabric_version,
                                   const topology::Sysfs& sysfs) {
    const Candidate entry = candidate_from(info, sysfs);
    const Quirk& quirk = quirk_for(entry.provider, libfabric_version);
    DeviceInfo device;
    device.provider = entry.provider;
    device.domain_name = entry.domain;
    device.fabric_name = entry.fabric;
    device.address = entry.address;
    device.pci = entry.pci;
    device.caps = info.caps;
    device.endpoint_cost = quirk.endpoint_cost;
    if (info.ep_attr != nullptr) device.max_msg_size = info.ep_attr->max_msg_size;

    topology::NetdevFacts facts;
    if (!entry.interface.empty())
        facts = topology::netdev_facts(sysfs, entry.interface, interface_index(entry.interface));
    if (const auto address = nic_pci(info)) facts.pci = topology::pci_path(sysfs, *address);
    if (facts.pci) {
        device.pci_path = facts.pci->path;
        device.numa_node = numa_node_of(sysfs, *facts.pci);
    }
    const int usual = quirk.speed_mbps > 0 ? quirk.speed_mbps : kDefaultSpeedMbps;
    device.speed_mbps = nic_speed(info).value_or(facts.speed_mbps.value_or(usual));

    const std::uint64_t host = topology::host_id(sysfs);
    device.guid = entry.pci ? topology::pci_guid(host, *entry.pci)
                            : topology::interface_guid(host, sysfs, entry.domain);
    device.info = std::shared_ptr<fi_info>(duplicate(&info));
    if (!device.info) return fail(Errc::no_memory, "fi_dupinfo", ENOMEM);
    return device;
}

}  // namespace duofi::ofi
