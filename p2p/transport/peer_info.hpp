// What ranks tell each other about themselves at init (p2p contract 1.4). Any thread.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include "common/util/error.hpp"
#include "common/util/host_hash.hpp"
#include "common/util/host_identity.hpp"
#include "p2p/abi.h"
#include "p2p/runtime/relay_address.hpp"

namespace duofi::p2p {

/// Decimal pid and text of the link to the PID namespace (C-7). Not cached, so right after a fork
/// (T-12).
[[nodiscard]] std::string pid_text();

/// One rank's part of the exchange at init.
struct RankRecord {
    std::uint32_t version = 2;
    std::int32_t channels = 0;
    std::uint64_t salt = 0;     ///< that of rank 0 is added to the hashes of all
    std::uint32_t runtime = 0;  ///< hash of the runtime's name
    std::int32_t failure = 0;   ///< result for which this rank gives up, 0 if none
    ncclPeerInfo info{};
    HostIdentity process{};
    RelayAddress relay{};
    std::uint32_t protocols = 0;  ///< that its kernels choose from
    std::uint32_t buffers = 0;    ///< digest of its buffer sizes, from which steps over the network follow
};
static_assert(std::is_trivially_copyable_v<RankRecord>);

/// The calling rank's record with the runtime's facts about `device` (-1 fields where it has none).
/// `pid_salt` makes ranks of one process look like several (V-25). Errors: those of the runtime.
[[nodiscard]] Result<RankRecord> describe_rank(int rank, int device, std::string_view host_id,
                                               std::uint64_t pid_salt);

/// Same format, channels, protocols and runtime? The WARN line names the first difference.
[[nodiscard]] Status check_record(const RankRecord& mine, const RankRecord& theirs, int peer);

}  // namespace duofi::p2p
