// Failures on demand: the n-th call or completion of a kind fails. Counts every call, so that a test learns how many
// places of failure a program reaches. Any thread.
#pragma once

#include <atomic>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace duofi::sim {

/// Calls of the provider, then completions, in the order of kSiteNames.
enum class Site : std::uint8_t {
    getinfo, fabric, domain, av_open, cq_open, endpoint, ep_bind, enable, getname, getopt, setopt, av_insert,
    mr_reg, mr_bind, mr_enable, send, recv, tsend, trecv, write, read, atomic, cancel, cq_read,
    sent, received, written, read_done, atomic_done, remote_write,
    count
};
inline constexpr std::size_t kSites = static_cast<std::size_t>(Site::count);

[[nodiscard]] std::string_view site_name(Site site) noexcept;

/// "send:3", "send:3:11", "any:17": the n-th (from 1) time that the site is reached fails, with the errno if given.
struct FaultRule {
    Site site = Site::count;  ///< count = any site
    std::uint64_t number = 0;
    int error = 0;            ///< positive; 0 = usual one of the site
};

/// False: not of that form.
[[nodiscard]] bool parse_fault(std::string_view text, FaultRule& rule);

class Faults {
  public:
    /// The rules stay the caller's.
    void set(const FaultRule* rules, std::size_t count) noexcept { rules_ = {rules, count}; }
    /// Counts the site. 0, or the positive code with which it shall fail.
    [[nodiscard]] int reach(Site site) noexcept;
    [[nodiscard]] std::uint64_t count(Site site) const noexcept;
    /// "name count" per line of the sites reached, the total under "any", and "failed" with the number of failures.
    [[nodiscard]] std::string report() const;

  private:
    std::span<const FaultRule> rules_;
    std::array<std::atomic<std::uint64_t>, kSites> counts_{};
    std::atomic<std::uint64_t> total_{0}, failed_{0};
};

/// Of this process.
[[nodiscard]] Faults& faults() noexcept;

/// The negative code that a call shall return, 0 to go on.
[[nodiscard]] inline int failing(Site site) noexcept { return -faults().reach(site); }

}  // namespace duofi::sim
