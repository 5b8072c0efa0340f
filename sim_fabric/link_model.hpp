// Time on the links: when a packet that leaves now arrives (latency, and the bytes of everything before it on the same
// NIC). Chance with the seed of the knobs. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/util/clock.hpp"
#include "sim_fabric/packet.hpp"

namespace duofi::sim {

/// When a packet of `bytes` arrives that leaves the NIC at `now`; 0 when no time is modelled. Nothing is booked.
[[nodiscard]] Nanoseconds arrival_time(unsigned nic, std::size_t bytes, Nanoseconds now) noexcept;
/// The packet has left.
void book_departure(unsigned nic, std::size_t bytes, Nanoseconds now) noexcept;

/// A short generator (SplitMix64). Not thread-safe.
class Chance {
  public:
    explicit Chance(std::uint64_t seed) noexcept : state_(seed) {}
    [[nodiscard]] std::uint64_t next() noexcept;
    [[nodiscard]] std::uint64_t below(std::uint64_t limit) noexcept { return limit == 0 ? 0 : next() % limit; }

  private:
    std::uint64_t state_;
};

/// Seed of the next endpoint of this process: follows from the knob, so that a run can be repeated.
[[nodiscard]] std::uint64_t next_endpoint_seed() noexcept;

/// Orders between packets of one sender (fi_endpoint(3), "Message Ordering"): what a packet may not overtake.
class Order {
  public:
    explicit Order(std::uint64_t granted) noexcept : granted_(granted) {}
    /// The earliest delivery of a packet that could be delivered at `wanted`; remembers it.
    [[nodiscard]] Nanoseconds place(Kind kind, bool fenced, Nanoseconds wanted) noexcept;

  private:
    std::uint64_t granted_;
    Nanoseconds last_[4] = {};
};

}  // namespace duofi::sim
