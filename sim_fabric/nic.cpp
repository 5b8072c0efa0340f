// Attributes of a NIC (fi_nic(3)). libfabric copies and frees them through the two operations here.
#include <rdma/fi_errno.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sim_fabric/info.hpp"

namespace duofi::sim {
namespace {

constexpr char* fi_device_attr::*kTexts[] = {&fi_device_attr::name, &fi_device_attr::device_id, &fi_device_attr::device_version,
                                             &fi_device_attr::vendor_id, &fi_device_attr::driver, &fi_device_attr::firmware};

int close_nic(fid* object) {
    auto* nic = reinterpret_cast<fid_nic*>(object);
    for (const auto text : kTexts) std::free(nic->device_attr->*text);
    std::free(nic->link_attr->address);
    std::free(nic->link_attr->network_type);
    std::free(nic->device_attr);
    std::free(nic->link_attr);
    std::free(nic->bus_attr);
    std::free(nic);
    return 0;
}

int control_nic(fid* object, int command, void* argument);

template <typename Part>
Part* copy_of(const Part& from) {
    auto* part = static_cast<Part*>(allocate_for_library(sizeof(Part)));
    if (part == nullptr) std::abort();  // some bytes of memory: nobody could go on
    return static_cast<Part*>(std::memcpy(part, &from, sizeof(Part)));
}

char* copy_of_text(const char* text) { return text != nullptr ? ::strdup(text) : nullptr; }

fid_nic* copy_nic(const fi_device_attr& device, const fi_bus_attr& bus, const fi_link_attr& link) {
    static fi_ops ops{sizeof(fi_ops), close_nic, nullptr, control_nic, nullptr, nullptr, nullptr};
    fid_nic* nic = copy_of(fid_nic{});
    nic->fid.fclass = FI_CLASS_NIC;
    nic->fid.ops = &ops;
    nic->device_attr = copy_of(device);
    nic->bus_attr = copy_of(bus);
    nic->link_attr = copy_of(link);
    for (const auto text : kTexts) nic->device_attr->*text = copy_of_text(device.*text);
    nic->link_attr->address = copy_of_text(link.address);
    nic->link_attr->network_type = copy_of_text(link.network_type);
    return nic;
}

int control_nic(fid* object, int command, void* argument) {
    if (command != FI_DUP) return -FI_ENOSYS;
    const auto* from = reinterpret_cast<const fid_nic*>(object);
    *static_cast<fid_nic**>(argument) = copy_nic(*from->device_attr, *from->bus_attr, *from->link_attr);
    return 0;
}

char* text(const char* constant) { return const_cast<char*>(constant); }

}  // namespace

void* allocate_for_library(std::size_t bytes) noexcept {
    constexpr std::size_t kLaterMembers = 256;
    return std::calloc(1, bytes + kLaterMembers);
}

fid_nic* make_nic(const Personality& is, const Nic& nic, unsigned number) {
    constexpr double kBitsPerGbit = 1e9;
    constexpr std::size_t kMtu = 8928;
    char name[32], address[32];
    std::snprintf(name, sizeof(name), is.domain_format, number);
    std::snprintf(address, sizeof(address), "simulated-%u", number);
    fi_bus_attr bus{};
    bus.bus_type = FI_BUS_PCI;
    bus.attr.pci = {nic.pci_domain, nic.pci_bus, nic.pci_device, nic.pci_function};
    const auto speed = static_cast<std::size_t>((nic.gbps > 0 ? nic.gbps : is.gbps) * kBitsPerGbit);
    return copy_nic({name, text(is.device), text("1"), text(is.vendor), text(is.driver), text("simulated")}, bus,
                    {address, kMtu, speed, FI_LINK_UP, text(is.network)});
}

}  // namespace duofi::sim
