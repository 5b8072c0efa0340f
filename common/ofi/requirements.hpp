// What a protocol or engine needs of a provider, as data, and the way from there to fi_getinfo
// hints. Any thread; no state.
#pragma once

#include <rdma/fabric.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "common/ofi/fid.hpp"
#include "common/util/settings.hpp"

namespace duofi::ofi {

/// Fields are libfabric words. Capabilities that would exclude same-node providers (FI_LOCAL_COMM,
/// FI_REMOTE_COMM) or tcp (FI_HMEM) are never demanded (net contract 4.3, traps).
struct Requirements {
    const char* purpose = "";         ///< "tagged", ...; appears in logs
    std::uint64_t required_caps = 0;  ///< an entry without one of these is refused
    std::uint64_t wanted_caps = 0;    ///< asked for first; done without when nothing grants them
    std::uint64_t mode = 0;           ///< what we are ready to do for the provider
    std::uint64_t mr_mode = 0;        ///< registration modes we can follow
    std::uint64_t msg_order = 0;      ///< order asked of both directions
    bool order_required = false;      ///< an entry that does not grant all of msg_order is refused
    std::uint64_t tx_op_flags = 0;    ///< asked for each operation, FI_DELIVERY_COMPLETE
    std::uint64_t msg_size_min = 0;   ///< smallest acceptable ep_attr->max_msg_size, bytes
    std::size_t mr_key_size = 0;      ///< bytes of own keys, 0 = no wish
    std::size_t cq_data_size = 0;     ///< bytes of remote CQ data, 0 = no wish
    fi_threading threading = FI_THREAD_SAFE;
    fi_progress progress = FI_PROGRESS_UNSPEC;
    std::uint32_t api_version = 0;  ///< version we would like; see effective_api_version()
};

/// Needs of the tagged protocol: FI_MSG|FI_TAGGED on FI_EP_RDM, FI_RMA wanted (net contract 4.3).
[[nodiscard]] Requirements tagged_requirements(const Settings& settings);

/// Needs of one-sided operations whose signals are messages behind the data (rma contract 5.7 b1): FI_MSG|FI_RMA
/// with a send that does not overtake earlier writes or sends.
[[nodiscard]] Requirements one_sided_requirements(const Settings& settings);

/// Needs of the write-with-immediate protocol: FI_MSG|FI_RMA and at least 4 bytes of remote CQ data (net contract 5.4, 5.5).
[[nodiscard]] Requirements written_requirements(const Settings& settings);

/// min(wanted, version of the running library): a higher one is refused by libfabric (net
/// contract 4.3).
[[nodiscard]] std::uint32_t effective_api_version(const Requirements& needs) noexcept;

/// New hints for fi_getinfo. `provider` empty = no filter. `with_wanted` also asks for wanted_caps.
/// Null when memory is short.
[[nodiscard]] InfoPtr make_hints(const Requirements& needs, const std::string& provider,
                                 bool with_wanted);

/// Why this entry cannot serve: each missing capability and each demand of the provider that we do
/// not follow, by name, joined with "; ". Empty = it can.
[[nodiscard]] std::string why_refused(const fi_info& info, const Requirements& needs);

/// "FI_MSG | FI_TAGGED": names of capability bits, unknown bits in hex, separated by " | ".
[[nodiscard]] std::string capability_names(std::uint64_t caps);

}  // namespace duofi::ofi
