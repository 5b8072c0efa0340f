// Which protocol runs: the user's word, else the platform's, else by what is possible (net
// contract 4.2). Pure functions except for log lines; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "common/util/error.hpp"

namespace duofi::net {

enum class ProtocolKind : std::uint8_t { automatic, sendrecv, rdma };

/// Who decided.
enum class ProtocolSource : std::uint8_t { automatic, user, platform };

/// "SENDRECV", "RDMA" or "AUTO".
[[nodiscard]] std::string_view to_string(ProtocolKind kind) noexcept;

/// One protocol this build and this fabric might run. `missing` says in the user's words why it
/// cannot
/// ("not available in this version", "needs RMA, which provider x does not offer"); empty = it can.
struct ProtocolCandidate {
    ProtocolKind kind = ProtocolKind::sendrecv;
    std::string missing;
};

struct ProtocolChoice {
    ProtocolKind kind = ProtocolKind::sendrecv;
    ProtocolSource source = ProtocolSource::automatic;
};

/// Reads OFI_NCCL_PROTOCOL: any case, "" = automatic. Errors: Errc::internal (-22, logged) for any
/// other word (S16).
[[nodiscard]] Result<ProtocolKind> parse_protocol(std::string_view text);

/// The protocols of this version, in the order in which AUTO prefers them. `prefer_writes`: see ofi::Quirk.
[[nodiscard]] std::span<const ProtocolCandidate> built_protocols(bool prefer_writes = false);

/// Step I6. A user's choice that is impossible is an error (Errc::internal, -22) that names what is
/// missing and what to use instead. A platform's choice that is impossible is passed over with one
/// INFO line; AUTO takes the first possible candidate and never drops the only one (S9). No
/// candidate at all: Errc::internal. Logs the line of I6.
[[nodiscard]] Result<ProtocolChoice> select_protocol(std::string_view user_text,
                                                     ProtocolKind platform_default,
                                                     std::span<const ProtocolCandidate> candidates);

}  // namespace duofi::net
