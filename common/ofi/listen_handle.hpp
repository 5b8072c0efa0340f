// The part of a connection handle that travels from the listening side to the others: which provider, which endpoint,
// which listen port, and a nonce that tells its life from an earlier one of the same address. Values; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "common/ofi/endpoint_name.hpp"
#include "common/ofi/handshake.hpp"
#include "common/util/error.hpp"

namespace duofi::ofi {

struct ListenHandle {
    std::uint32_t provider = 0;  ///< provider_mark() of the listening side
    std::uint32_t port = 0;      ///< of the listen comm
    Nonce nonce{};
    EndpointName name{};
};

/// Bytes on the wire; all that the smallest table has room for (net contract 2.2, 5.3).
inline constexpr std::size_t kListenHandleBytes = 64;
static_assert(4 + 4 + 4 + 4 + sizeof(Nonce) + EndpointName::kMaxBytes <= kListenHandleBytes);

/// Number that tells providers, as wire_name() calls them, apart on the wire.
[[nodiscard]] std::uint32_t provider_mark(std::string_view provider) noexcept;

/// Writes kListenHandleBytes. `magic` tells the kinds of handles apart.
void write_listen_handle(std::span<std::byte> out, std::uint32_t magic, const ListenHandle& handle) noexcept;

/// Errors, not logged: invalid_argument for bytes that are not such a handle, invalid_usage for another version or
/// provider than `expected_provider`.
[[nodiscard]] Result<ListenHandle> read_listen_handle(std::span<const std::byte> in, std::uint32_t magic,
                                                      std::uint32_t expected_provider) noexcept;

}  // namespace duofi::ofi
