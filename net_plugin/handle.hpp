// The 128-byte connection handle: 64 bytes that travel from listen to connect, and 64 bytes of scratch that
// the connecting side's caller keeps for us between connect calls (net contract 3.2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "common/ofi/listen_handle.hpp"
#include "common/util/error.hpp"

namespace duofi::net {

inline constexpr std::size_t kHandleBytes = 128;

struct HandleBytes {
    std::byte bytes[kHandleBytes];
};

/// The travelling part.
using Handle = ofi::ListenHandle;

/// The scratch part: which connection attempt is under way.
struct ConnectState {
    void* attempt = nullptr;        ///< a comm handle of ours
    std::uint64_t generation = 0;
};

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
