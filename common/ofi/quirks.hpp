// What cannot be read from provider attributes: one table keyed by provider name and libfabric
// version, each row with its evidence. The only place that spells provider names. Any thread;
// constant data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/util/settings.hpp"

namespace duofi::ofi {

/// What one open endpoint costs in memory. Decides whether endpoints are shared (architecture 4.4).
enum class EndpointCost : std::uint8_t {
    cheap,      ///< well below 4 MiB
    expensive,  ///< more: 68-131 MiB on rxm
};

/// Classes of preference, best first.
enum class Preference : std::uint8_t {
    hardware,     ///< a NIC that moves data itself
    unknown,      ///< not in the table
    native_tcp,   ///< reliable datagrams done by the tcp provider itself
    layered_tcp,  ///< the same through a utility layer
    last_resort,  ///< works, but something above is always better
    by_name,      ///< only when the user names it
};

/// May memory be registered while another thread takes in what peers send, which looks keys up?
enum class KeyLookups : std::uint8_t {
    guarded,            ///< yes
    bare,               ///< no
    bare_in_posts_too,  ///< no, and posting takes things in too
};

/// One row. A row applies when `name` equals the provider name and from <= libfabric version <
/// below.
struct Quirk {
    std::string_view name;
    std::uint32_t from = 0;            ///< packed FI_VERSION, inclusive
    std::uint32_t below = 0xffffffff;  ///< packed FI_VERSION, exclusive
    Preference preference = Preference::unknown;
    EndpointCost endpoint_cost = EndpointCost::cheap;
    bool same_node_only = false;  ///< cannot leave the node
    int speed_mbps = 0;           ///< speed to show when nothing else tells; 0 = usual rule (6.4)
    const char* evidence = "";    ///< clause ids
    const char* refused = "";     ///< why it is not used, although it offers what is asked for
    bool confirms_writes = true;  ///< FI_DELIVERY_COMPLETE, where granted, holds for one-sided writes too
    bool prefers_writes = false;  ///< AUTO moves large messages by writes with immediate data, not by tagged messages
    bool writes_take_receives = false;  ///< a write with data ends a receive posted at its target, and its completion names it
    bool tells_refusals = true;  ///< a one-sided access that the target refuses ends with an error where it was posted
    KeyLookups key_lookups = KeyLookups::guarded;
    bool bears_cut_reads = true;  ///< an endpoint may be closed while what was read from a peer is coming in
    EnvironmentDefault variable{};  ///< set while libfabric reads its environment, if the user's choice lets the provider through
};

/// The variables of the rows whose provider a list that is not empty lets through (see admits_provider).
[[nodiscard]] std::vector<EnvironmentDefault> variables_for(std::string_view list, std::uint32_t libfabric_version);

/// What the other side must have too: the provider, and where its row has a variable the value in force, since that decides
/// what goes over the wire.
[[nodiscard]] std::string wire_name(std::string_view provider, std::uint32_t libfabric_version);

/// The first row that applies (case matters), or a neutral row (preference unknown) when there is
/// none.
[[nodiscard]] const Quirk& quirk_for(std::string_view provider,
                                     std::uint32_t libfabric_version) noexcept;

/// Order of preference: lower is better. First the class, then the place in the table.
[[nodiscard]] std::size_t preference_order(std::string_view provider,
                                           std::uint32_t libfabric_version) noexcept;

/// All rows, for `duofi info` and for tests.
[[nodiscard]] std::span<const Quirk> quirk_table() noexcept;

/// Does a user's provider list (FI_PROVIDER or DUOFI_OFI_PROVIDER: names with commas) ask for this
/// provider by name? "tcp" names "tcp" and "tcp;ofi_rxm"; "tcp;ofi_rxm" names only itself. A list
/// that begins with '^' says what to leave out and names nothing.
[[nodiscard]] bool names_provider(std::string_view list, std::string_view provider) noexcept;

/// Does the list let this provider through? An empty list lets all through.
[[nodiscard]] bool admits_provider(std::string_view list, std::string_view provider) noexcept;

/// The provider that the EFA rules of the net contract speak of (4.4, 4.5, 4.8, 4.9).
[[nodiscard]] std::string_view efa_name() noexcept;

/// The EFA gate: true unless provider is exactly "efa" and the packed version is not greater than
/// 0x10015 (net contract 4.5).
[[nodiscard]] bool efa_version_ok(std::string_view provider,
                                  std::uint32_t libfabric_version) noexcept;

}  // namespace duofi::ofi
