#include "common/ofi/quirks.hpp"

#include <array>

#include "common/util/parse.hpp"

namespace duofi::ofi {
namespace {

constexpr std::uint32_t version(std::uint32_t major, std::uint32_t minor) {
    return major << 16 | minor;
}
constexpr std::uint32_t kAny = 0;
constexpr std::uint32_t kNoEnd = 0xffffffff;

constexpr Preference kHardware = Preference::hardware;
constexpr Preference kNative = Preference::native_tcp;
constexpr Preference kLayered = Preference::layered_tcp;
constexpr Preference kLast = Preference::last_resort;
constexpr Preference kByName = Preference::by_name;
constexpr KeyLookups kBare = KeyLookups::bare;
constexpr KeyLookups kBareInPosts = KeyLookups::bare_in_posts_too;
constexpr EndpointCost kCheap = EndpointCost::cheap;
constexpr EndpointCost kCostly = EndpointCost::expensive;

// Within one preference the earlier row wins. Costs of endpoints were measured for tcp, net and
// rxm; shm maps its region per endpoint, which is small beside rxm's pools.
constexpr std::array kTable{
    Quirk{"cxi", kAny, kNoEnd, kHardware, kCheap, false, 0, "net 5.2, rma 5.6", "", false},
    Quirk{"efa", kAny, kNoEnd, kHardware, kCheap, false, 0, "net 4.5, 5.2, 5.4, rma 5.6", "", true, true},
    Quirk{"verbs;ofi_rxm", kAny, kNoEnd, kHardware, kCostly, false, 0, "net 5.2, 5.4, rma 5.6, P3, P19", "", true, true, true},
    Quirk{"opx", kAny, kNoEnd, kHardware, kCheap, false, 0, "net 5.2"},
    Quirk{"psm3", kAny, kNoEnd, kHardware, kCheap, false, 0, "net 5.2"},
    Quirk{"psm2", kAny, kNoEnd, kHardware, kCheap, false, 0, "architecture 4.14"},
    Quirk{"ucx", kAny, kNoEnd, kHardware, kCheap, false, 0, "architecture 4.1"},
    Quirk{"tcp", version(1, 18), version(1, 19), kNative, kCheap, false, 0,
          "architecture 4.1, 4.4; net 5.2; its locks around keys are void before 1.18.2", "", true, false, false, true, kBareInPosts},
    Quirk{"tcp", version(1, 19), kNoEnd, kNative, kCheap, false, 0,
          "architecture 4.1, 4.4; net 5.2"},
    Quirk{"net", kAny, version(1, 18), kNative, kCheap, false, 0,
          "architecture 4.1; P21; writes that arrive beside registrations are lost; reads as in tcp;ofi_rxm", "", true, false, false,
          true, kBare, false},
    Quirk{"tcp;ofi_rxm", kAny, version(1, 18), kLayered, kCostly, false, 0,
          "architecture 4.4; P1, P5, P21; a connection that ends in the middle of a read frees that read twice, so large messages "
          "are written", "", true, false, false, true, KeyLookups::guarded, false, {"FI_OFI_RXM_USE_RNDV_WRITE", "1"}},
    Quirk{"tcp;ofi_rxm", version(1, 18), version(1, 19), kLayered, kCostly, false, 0,
          "architecture 4.4; P1, P5, P21; keys as in tcp of 1.18", "", true, false, false, true, kBareInPosts},
    Quirk{"tcp;ofi_rxm", version(1, 19), kNoEnd, kLayered, kCostly, false, 0,
          "architecture 4.4; P1, P5, P21"},
    Quirk{"net;ofi_rxm", kAny, kNoEnd, kLast, kCostly, false, 0,
          "A8: layered over a native provider; keys and reads as in net", "", true, false, false, true, kBareInPosts, false},
    Quirk{"verbs;ofi_rxd", kAny, kNoEnd, kLast, kCostly, false, 0, "net 5.2: datagram layer"},
    Quirk{"psm", kAny, kNoEnd, kLast, kCheap, false, 0, "superseded by its successors"},
    Quirk{"shm", kAny, kNoEnd, kByName, kCheap, true, 100000,
          "architecture 4.1; net 6.4; P5, P13; 1.17 calls a refused read done, 2.6 a refused write too", "", true, false, false, false},
    Quirk{"sockets", kAny, kNoEnd, kByName, kCheap, false, 0, "architecture 4.1; net 5.2"},
    Quirk{"udp", kAny, kNoEnd, kByName, kCheap, false, 0, "architecture 4.1; net 5.2"},
    Quirk{"udp;ofi_rxd", kAny, kNoEnd, kByName, kCostly, false, 0, "architecture 4.1; rma 5.6",
          "it takes the length of one message for another's (truncation errors from 1 MiB on), and a write to memory that is not "
          "registered any more crashes it"},
    Quirk{"ofi_mrail", kAny, kNoEnd, kByName, kCheap, false, 0, "rma 5.7: utility provider"},
    Quirk{"lnx", kAny, kNoEnd, kByName, kCheap, false, 0, "rma 5.7: utility provider"},
    Quirk{"lpp", kAny, kNoEnd, kByName, kCheap, false, 0, "architecture 4.1"},
    Quirk{"duofisim", kAny, kNoEnd, kByName, kCheap, false, 0, "docs/simulated-fabric.md: the ideal personality"},
};

constexpr Quirk kNeutral{};

/// The provider whose row is meant: the simulated fabric that wears another provider's attributes shares its row.
std::string_view worn(std::string_view provider) noexcept {
    constexpr std::string_view kSimulated = "duofisim;";
    if (!provider.starts_with(kSimulated)) return provider;
    provider.remove_prefix(kSimulated.size());
    return provider == "verbs" ? std::string_view("verbs;ofi_rxm") : provider;
}

bool names_one(std::string_view name, std::string_view provider) noexcept {
    if (equal_ignoring_case(name, provider)) return true;
    // A core provider's name also means that provider under a utility layer.
    return name.find(';') == std::string_view::npos && provider.size() > name.size() &&
           provider[name.size()] == ';' &&
           equal_ignoring_case(name, provider.substr(0, name.size()));
}

}  // namespace

const Quirk& quirk_for(std::string_view provider, std::uint32_t libfabric_version) noexcept {
    provider = worn(provider);
    for (const Quirk& row : kTable)
        if (row.name == provider && row.from <= libfabric_version && libfabric_version < row.below)
            return row;
    return kNeutral;
}

std::vector<EnvironmentDefault> variables_for(std::string_view list, std::uint32_t libfabric_version) {
    std::vector<EnvironmentDefault> found;
    for (const Quirk& row : kTable)
        if (row.variable.name != nullptr && row.from <= libfabric_version && libfabric_version < row.below &&
            !trimmed(list).empty() && admits_provider(list, row.name))
            found.push_back(row.variable);
    return found;
}

std::string wire_name(std::string_view provider, std::uint32_t libfabric_version) {
    std::string text(provider);
    const EnvironmentDefault& variable = quirk_for(provider, libfabric_version).variable;
    if (variable.name == nullptr) return text;
    return text + ' ' + variable.name + '=' + environment_value(variable.name).value_or(variable.value);
}

std::size_t preference_order(std::string_view provider, std::uint32_t libfabric_version) noexcept {
    constexpr std::size_t kClassWidth = kTable.size() + 1;
    const Quirk& quirk = quirk_for(provider, libfabric_version);
    std::size_t place = 0;
    while (place < kTable.size() && &kTable[place] != &quirk) ++place;
    return static_cast<std::size_t>(quirk.preference) * kClassWidth + place;
}

std::span<const Quirk> quirk_table() noexcept {
    return kTable;
}

bool names_provider(std::string_view list, std::string_view provider) noexcept {
    list = trimmed(list);
    if (list.empty() || list.front() == '^') return false;
    while (!list.empty()) {
        const auto comma = list.find(',');
        const std::string_view name = trimmed(list.substr(0, comma));
        if (!name.empty() && names_one(name, provider)) return true;
        list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
    }
    return false;
}

bool admits_provider(std::string_view list, std::string_view provider) noexcept {
    list = trimmed(list);
    if (list.empty()) return true;
    if (list.front() != '^') return names_provider(list, provider);
    return !names_provider(list.substr(1), provider);
}

std::string_view efa_name() noexcept {
    return "efa";
}

bool efa_version_ok(std::string_view provider, std::uint32_t libfabric_version) noexcept {
    constexpr std::uint32_t kLastRefused = 0x10015;
    return provider != efa_name() || libfabric_version > kLastRefused;
}

}  // namespace duofi::ofi
