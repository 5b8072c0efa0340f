// The yardstick: the shortest loops that move the workload over libfabric itself. A stream keeps at
// most `window` messages unacknowledged: the receiver acknowledges every half window after it has
// posted receives again, so no message is ever unexpected (P13) and none meets a shorter buffer
// (P5).
#pragma once

#include "tools/duofi/bench_driver.hpp"
#include "tools/duofi/raw_endpoint.hpp"

namespace duofi::tool {

/// Acknowledgements that may be under way; a window is two of them.
inline constexpr unsigned kAckSlots = 3;
inline constexpr unsigned kRawContexts = kWidestWindow + kAckSlots;

/// What the two raw streams share. The endpoint is borrowed.
class RawDriver : public Driver {
  public:
    explicit RawDriver(RawEndpoint& endpoint) : endpoint_(endpoint) {}
    [[nodiscard]] Status lead(const Workload& work) override;
    [[nodiscard]] Status follow(const Workload& work) override;
    [[nodiscard]] Status idle() override { return endpoint_.poll(); }

  protected:
    virtual Status post_message(unsigned slot, std::uint32_t iteration, const Workload& work) = 0;
    /// Waits for message `iteration` and makes room for the one a window later.
    virtual Status take_message(std::uint32_t iteration, const Workload& work) = 0;
    RawEndpoint& endpoint_;

  private:
    Status post_ack_receive(std::uint32_t index);
    Status send_ack(std::uint32_t index);
};

/// Tagged ping-pong and tagged stream.
class TaggedDriver final : public RawDriver {
  public:
    using RawDriver::RawDriver;
    [[nodiscard]] Status prepare(const Workload& work) override;
    [[nodiscard]] Status lead(const Workload& work) override;
    [[nodiscard]] Status follow(const Workload& work) override;

  protected:
    Status post_message(unsigned slot, std::uint32_t iteration, const Workload& work) override;
    Status take_message(std::uint32_t iteration, const Workload& work) override;

  private:
    Status lead_ping_pong(const Workload& work);
    Status follow_ping_pong(const Workload& work);
};

/// Stream of one-sided writes with remote completion data. It has no ping-pong.
class WriteDriver final : public RawDriver {
  public:
    using RawDriver::RawDriver;
    [[nodiscard]] Status prepare(const Workload&) override { return {}; }

  protected:
    Status post_message(unsigned slot, std::uint32_t iteration, const Workload& work) override;
    Status take_message(std::uint32_t iteration, const Workload& work) override;
};

}  // namespace duofi::tool
