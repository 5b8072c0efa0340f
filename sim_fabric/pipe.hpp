// One-way streams of packets from one endpoint to another: a ring in a sealed segment (common/local). One thread per
// end at a time.
#pragma once

#include <optional>
#include <span>

#include "common/local/ring.hpp"
#include "common/local/segment.hpp"
#include "sim_fabric/packet.hpp"

namespace duofi::sim {

enum class Pushed : std::uint8_t { yes, full, closed };

/// The sender's end. The descriptor of the segment travels with `handle` to the receiver.
class Outlet {
  public:
    /// Errors: those of Segment::create.
    [[nodiscard]] static Result<Outlet> create(local::HandleBytes& handle);
    Outlet(Outlet&&) = default;
    Outlet& operator=(Outlet&&) = default;
    ~Outlet();

    [[nodiscard]] int descriptor() const noexcept { return segment_.descriptor(); }
    void close_descriptor() noexcept { segment_.close_descriptor(); }
    [[nodiscard]] Pushed push(const Head& head, std::span<const std::byte> payload) noexcept;
    /// True once after the reader has gone to sleep: somebody must ring.
    [[nodiscard]] bool must_ring() noexcept;

  private:
    Outlet(local::Segment segment, local::RingWriter writer) : segment_(std::move(segment)), writer_(writer) {}
    local::Segment segment_;
    local::RingWriter writer_;
};

class Inlet {
  public:
    /// Errors: those of Segment::import.
    [[nodiscard]] static Result<Inlet> import(UniqueFd descriptor, const local::HandleBytes& handle);
    Inlet(Inlet&&) = default;
    Inlet& operator=(Inlet&&) = default;
    ~Inlet();

    [[nodiscard]] std::optional<Packet> pop();
    [[nodiscard]] bool empty() noexcept { return reader_.peek().empty(); }
    /// The writer has closed its end and everything is popped.
    [[nodiscard]] bool ended() noexcept;
    void fall_asleep() noexcept;

  private:
    Inlet(local::Segment segment, local::RingReader reader) : segment_(std::move(segment)), reader_(reader) {}
    local::Segment segment_;
    local::RingReader reader_;
};

}  // namespace duofi::sim
