// The yardstick of one-sided operations: libfabric's own writes and reads in the shortest loops. The
// target's thread polls the completion queue until the origin says that it is through.
#pragma once

#include "tools/duofi/bench_driver.hpp"
#include "tools/duofi/raw_endpoint.hpp"

namespace duofi::tool {

/// One kind of operation. The endpoint is borrowed.
class RawOneSidedDriver final : public Driver {
  public:
    RawOneSidedDriver(RawEndpoint& endpoint, OneSided operation)
        : endpoint_(endpoint), operation_(operation) {}
    [[nodiscard]] Status prepare(const Workload&) override { return {}; }
    [[nodiscard]] Status lead(const Workload& work) override;
    [[nodiscard]] Status follow(const Workload& work) override;
    [[nodiscard]] Status idle() override { return endpoint_.poll(); }

  private:
    Status post(unsigned slot, std::uint32_t iteration, const Workload& work);
    Status bounce(const Workload& work, bool first);
    Status take(std::uint64_t arrivals);

    RawEndpoint& endpoint_;
    OneSided operation_;
};

}  // namespace duofi::tool
