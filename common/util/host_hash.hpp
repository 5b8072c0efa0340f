// How NCCL and RCCL tell nodes apart: a hash over a text. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace duofi {

/// The callers' hash of strings: 5381, then times 33, exclusive or with each byte (C-6).
[[nodiscard]] constexpr std::uint64_t string_hash(std::string_view text) noexcept {
    std::uint64_t hash = 5381;
    for (const char c : text) hash = hash * 33 ^ static_cast<unsigned char>(c);
    return hash;
}

/// NCCL_HOSTID, or host name and boot id of the kernel (C-6).
[[nodiscard]] std::string host_text(std::string_view host_id);

}  // namespace duofi
