// Made-up entries of fi_getinfo for selection tests.
#pragma once

#include <rdma/fabric.h>

#include <string>
#include <vector>

#include "common/ofi/selection.hpp"

namespace duofi::test {

/// Provider `net` of 1.17 on an interface with an IPv4 address.
inline ofi::Candidate ipv4(std::string interface, std::string address,
                           std::string provider = "net") {
    ofi::Candidate entry;
    entry.provider = std::move(provider);
    entry.fabric = address + "/24";
    entry.domain = interface;
    entry.interface = std::move(interface);
    entry.address = std::move(address);
    entry.address_class = entry.address.rfind("169.254.", 0) == 0 ? ofi::AddressClass::link_local
                                                                  : ofi::AddressClass::ipv4;
    entry.loopback = entry.address.rfind("127.", 0) == 0;
    entry.address_format = FI_SOCKADDR_IN;
    return entry;
}

inline ofi::Candidate ipv6(std::string interface, std::string address,
                           std::string provider = "net") {
    ofi::Candidate entry = ipv4(std::move(interface), std::move(address), std::move(provider));
    entry.ipv6 = true;
    entry.address_class = entry.address.rfind("fe80:", 0) == 0 ? ofi::AddressClass::link_local
                                                               : ofi::AddressClass::ipv6;
    entry.loopback = entry.address == "::1";
    entry.address_format = FI_SOCKADDR_IN6;
    return entry;
}

/// A NIC of a provider with its own address format.
inline ofi::Candidate nic(std::string provider, std::string domain, const char* pci,
                          std::string fabric = "fabric0") {
    ofi::Candidate entry;
    entry.provider = std::move(provider);
    entry.fabric = std::move(fabric);
    entry.domain = std::move(domain);
    entry.address_format = FI_ADDR_EFA;
    entry.pci = topology::PciAddress::parse(pci);
    return entry;
}

inline ofi::SelectionRules rules_of_1_17() {
    ofi::SelectionRules rules;
    rules.libfabric_version = FI_VERSION(1, 17);
    return rules;
}

/// Domains of the chosen entries, in device order.
inline std::vector<std::string> chosen_domains(const std::vector<ofi::Candidate>& entries,
                                               const ofi::Selection& selection) {
    std::vector<std::string> domains;
    for (const std::size_t index : selection.chosen) domains.push_back(entries[index].domain);
    return domains;
}

inline std::vector<std::string> select_domains(const std::vector<ofi::Candidate>& entries,
                                               const ofi::SelectionRules& rules = rules_of_1_17()) {
    return chosen_domains(entries, ofi::select(entries, rules));
}

using Names = std::vector<std::string>;

}  // namespace duofi::test
