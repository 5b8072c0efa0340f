// The address of an endpoint as it travels in handles and handshakes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace duofi::ofi {

/// Bytes of fi_getname: 16 or 28 for sockaddr, 32 for efa, a short string for shm (net contract 5.3).
struct EndpointName {
    static constexpr std::size_t kMaxBytes = 32;
    std::array<std::byte, kMaxBytes> bytes{};
    std::uint8_t length = 0;

    friend bool operator==(const EndpointName& a, const EndpointName& b) noexcept {
        return a.length == b.length && std::memcmp(a.bytes.data(), b.bytes.data(), a.length) == 0;
    }
};

}  // namespace duofi::ofi
