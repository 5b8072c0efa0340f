// The three messages that join two comms, and the part of a connection handle that names a listen comm.
// Everything from a peer is checked before use. Lock of the endpoint held by callers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "common/ofi/endpoint_name.hpp"
#include "common/util/host_identity.hpp"

namespace duofi::ofi {

class Endpoint;
struct Peer;

using Nonce = std::array<std::byte, 16>;

/// 128 random bits from getrandom; throws std::system_error if the kernel has none.
[[nodiscard]] Nonce make_nonce();

inline constexpr std::uint8_t kWireVersion = 2;
/// Endpoints that one comm may spread its data over.
inline constexpr std::size_t kMaxRails = 4;

/// The endpoints of one side beside the one that messages go to.
struct RailNames {
    std::uint8_t count = 0;
    std::array<EndpointName, kMaxRails - 1> names{};
};

/// How large messages travel.
enum class DataPath : std::uint8_t { tagged = 0, written = 1 };

enum class RefuseReason : std::uint32_t {
    not_listening = 1,  ///< no such listen comm (closed, or another process has the address now)
    wrong_nonce,        ///< the handle is not of this listen comm
    wrong_version,
    busy,               ///< too many connect requests wait for accept
    closed,             ///< the listen comm was closed before accept
    wrong_rails,        ///< the other side names endpoints that it was not asked for, or that cannot be reached
    wrong_protocol,     ///< one side moves data by tagged messages, the other by writes
};
[[nodiscard]] const char* to_string(RefuseReason reason) noexcept;

/// What the connecting side says. `port` is its own number for the answer.
struct Hello {
    std::uint8_t version = kWireVersion;
    std::uint32_t port = 0;
    std::uint32_t eager_limit = 0;  ///< bytes it would send eagerly
    std::uint32_t packet_bytes = 0; ///< of the buffers it posts
    Nonce nonce{};                  ///< of the handle
    EndpointName name{};
    HostIdentity identity{};
    DataPath path = DataPath::tagged;  ///< how it moves large messages; both sides must agree
    RailNames rails;
};

/// What the accepting side answers.
struct Welcome {
    std::uint8_t version = kWireVersion;
    std::uint32_t port = 0;         ///< of the accepting comm
    std::uint32_t eager_limit = 0;  ///< agreed: the smaller of both
    std::uint32_t packet_bytes = 0; ///< of the buffers it posts
    std::uint32_t credits = 0;      ///< eager messages that may be unmatched at a time
    Nonce nonce{};                  ///< echo
    HostIdentity identity{};
    RailNames rails;                ///< no more than the asker has
};

inline constexpr std::size_t kMaxHandshakeBytes = 256;

/// Bytes written into `out`.
std::size_t write_hello(std::span<std::byte> out, const Hello& hello) noexcept;
std::size_t write_welcome(std::span<std::byte> out, const Welcome& welcome) noexcept;
/// nullopt: truncated or not one of ours. A version other than ours is parsed and left to the caller.
[[nodiscard]] std::optional<Hello> parse_hello(std::span<const std::byte> in) noexcept;
[[nodiscard]] std::optional<Welcome> parse_welcome(std::span<const std::byte> in) noexcept;

/// Tells `port` of `peer` that its hello is refused.
void refuse(Endpoint& endpoint, Peer& peer, std::uint32_t port, RefuseReason reason) noexcept;

}  // namespace duofi::ofi
