// Lines of device discovery.
#pragma once

namespace duofi::messages {

/// Words that users grep for (net contract 4.1, I7).
inline constexpr char kSelectedProvider[] =
    "NET/OFI Selected provider is {}, fabric is {} (found {} nics)";
/// name, domain, address, speed, PCI path or "none"
inline constexpr char kDeviceKept[] =
    "NET/OFI Device {}: interface {}, address {}, {} Mbit/s, PCI {}";
/// domain, address, reason
inline constexpr char kEntryLeftOut[] = "NET/OFI Left out interface {} ({}): {}";
/// provider, reason
inline constexpr char kProviderLeftOut[] = "NET/OFI Left out provider {}: {}";
inline constexpr char kLoopbackOnly[] =
    "NET/OFI Using the loopback interface, since no other is left; peers on other nodes cannot be "
    "reached";
/// interface filter
inline constexpr char kDefaultListOverruled[] =
    "NET/OFI Only interfaces of the default exclude list exist, so they are used ({})";
/// Words that users grep for (user-reports 3.3).
inline constexpr char kNoEligibleProviders[] = "NET/OFI No eligible providers were found";
/// DUOFI_OFI_PROVIDER, FI_PROVIDER, interface filter, OFI_NCCL_USE_IPV6_TCP
inline constexpr char kFiltersInForce[] =
    "NET/OFI Filters in force: DUOFI_OFI_PROVIDER={} FI_PROVIDER={} {} OFI_NCCL_USE_IPV6_TCP={}";
/// list of providers or "none"
inline constexpr char kOfferedWithoutFilters[] =
    "NET/OFI Providers that libfabric offers when DUOFI_OFI_PROVIDER is not applied: {}";
inline constexpr char kVariableForLibfabric[] = "NET/OFI Starting libfabric with {}={}";
/// place, error number, text
inline constexpr char kDiscoveryFailed[] = "NET/OFI {} failed: error {} ({})";
/// Words that users grep for (net contract 4.5).
inline constexpr char kEfaTooOld[] =
    "NET/OFI EFA provider requires at least libfabric version 1.22.0.";

}  // namespace duofi::messages
