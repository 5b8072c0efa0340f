// The 128-byte connection handle: 64 bytes that travel from listen to connect, and 64 bytes of scratch that
// the connecting side's caller keeps for us between connect calls (net contract 3.2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "common/ofi/endpoint_name.hpp"
#include "common/ofi/handshake.hpp"
#include "common/util/error.hpp"

namespace duofi::net {

inline constexpr std::size_t kHandleBytes = 128;
inline constexpr std::size_t kWireHandleBytes = 64;  ///< all that a v4 table has room for

struct HandleBytes {
    std::byte bytes[kHandleBytes];
};

/// The travelling part.
struct Handle {
    std::uint32_t provider = 0;  ///< provider_mark() of the listening side
    std::uint32_t port = 0;      ///< of the listen comm
    ofi::Nonce nonce{};
    ofi::EndpointName name{};
};
static_assert(4 + 4 + 4 + 4 + sizeof(ofi::Nonce) + ofi::EndpointName::kMaxBytes <= kWireHandleBytes);

/// The scratch part: which connection attempt is under way.
struct ConnectState {
    void* attempt = nullptr;        ///< a comm handle of ours
    std::uint64_t generation = 0;
};

/// Number that tells providers apart on the wire.
[[nodiscard]] std::uint32_t provider_mark(std::string_view provider) noexcept;

/// Writes all 128 bytes, the scratch part zero.
void write_handle(HandleBytes& out, const Handle& handle) noexcept;

/// Errors, not logged: invalid_argument for bytes that are not a handle, invalid_usage for another version or
/// provider than `expected_provider`.
[[nodiscard]] Result<Handle> read_handle(const HandleBytes& in, std::uint32_t expected_provider) noexcept;

/// nullopt: no attempt under way (scratch is zero or not ours).
[[nodiscard]] std::optional<ConnectState> read_connect_state(const HandleBytes& in) noexcept;
void write_connect_state(HandleBytes& out, const ConnectState& state) noexcept;
void clear_connect_state(HandleBytes& out) noexcept;

}  // namespace duofi::net
