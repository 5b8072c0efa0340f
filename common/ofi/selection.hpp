// Which of the offered entries become devices. Pure: plain data in, indices and reasons out, no
// libfabric call, so that reports A6, A7, A8 are tables of unit tests. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/ofi/interfaces.hpp"
#include "common/topology/pci_address.hpp"

namespace duofi::ofi {

/// Kind of local address, in order of preference within one NIC (A8).
enum class AddressClass : std::uint8_t {
    ipv4,
    ipv6,
    link_local,  ///< 169.254.0.0/16 or fe80::/10
    other,       ///< not a sockaddr: provider's own format, or none needed
    missing,     ///< a sockaddr format without an address: a wildcard entry (A3)
};

/// One entry of fi_getinfo, reduced to what decides.
struct Candidate {
    std::string provider, fabric, domain, address;
    std::string interface;  ///< network interface behind it; "" when the domain is not one
    AddressClass address_class = AddressClass::other;
    bool ipv6 = false;
    bool loopback = false;
    bool primary = false;              ///< the first address of its interface, not one added later
    std::uint32_t address_format = 0;  ///< FI_SOCKADDR_IN, ...; compared for non-sockaddr entries
    std::uint32_t protocol = 0;
    std::uint64_t mode = 0;
    std::optional<topology::PciAddress> pci;
    std::string unmet;  ///< from why_refused(); "" = requirements met
};

struct SelectionRules {
    InterfaceFilter interfaces;
    bool use_ipv6 = false;     ///< OFI_NCCL_USE_IPV6_TCP
    std::string ofi_provider;  ///< DUOFI_OFI_PROVIDER
    std::string fi_provider;   ///< FI_PROVIDER
    bool filter_by_name =
        false;  ///< ofi_provider was not given to libfabric, so it is applied here
    std::uint32_t libfabric_version = 0;
};

struct Selection {
    std::vector<std::size_t> chosen;   ///< indices in device order: PCI address, then domain name
    std::vector<std::string> reasons;  ///< one per candidate; "" for a chosen one
    bool loopback_only = false;        ///< loopback was taken because nothing else was left (A6)
    bool default_list_overruled =
        false;  ///< interfaces of the default list were taken, likewise (A7)
};

/// Refuses with reasons, takes the best provider, keeps entries compatible with the first one and
/// one entry per NIC (net contract 4.4; A6, A7, A8).
[[nodiscard]] Selection select(std::span<const Candidate> candidates, const SelectionRules& rules);

/// "duofi_<domain>", or "duofi_<domain>_<n>" for copies after the first and for names already in
/// `taken`.
[[nodiscard]] std::string device_name(const std::string& domain, int copy,
                                      std::span<const std::string> taken);

}  // namespace duofi::ofi
