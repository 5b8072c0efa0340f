// Which processes can share memory (p2p contract 2.5), as a number that they exchange. Any thread; nothing is cached.
#pragma once

#include <cstdint>
#include <string>

namespace duofi::local {

/// A field is 0 when it could not be read.
struct DomainFacts {
    std::uint64_t boot_hash = 0;
    std::uint64_t pid_namespace = 0;
    std::uint64_t user_namespace = 0;
    std::uint64_t net_namespace = 0;
    std::uint64_t socket_dir = 0;  ///< device and inode of the directory of fd services, 0 without one
    std::uint32_t user = 0;        ///< effective
    bool dumpable = true;
};

[[nodiscard]] DomainFacts read_domain_facts(const std::string& socket_dir = {}, const char* proc_root = "/proc");

/// High half: who can open my descriptors through /proc; low half: who can reach my fd service. A half is 0 when that
/// way is closed.
[[nodiscard]] std::uint64_t domain_id(const DomainFacts& facts, bool through_proc, bool through_service);

/// Two processes with these ids can map each other's segments: one of the halves is the same and not 0.
[[nodiscard]] constexpr bool same_domain(std::uint64_t a, std::uint64_t b) noexcept {
    constexpr std::uint64_t kLow = 0xffffffffU;
    const std::uint64_t high_a = a >> 32;
    return (high_a != 0 && high_a == b >> 32) || ((a & kLow) != 0 && (a & kLow) == (b & kLow));
}

}  // namespace duofi::local
