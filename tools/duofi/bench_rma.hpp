// The one-sided workloads over a plugin's RMA table, called as the callers call it.
#pragma once

#include <array>
#include <memory>

#include "common/loader/rma_client.hpp"
#include "common/loader/rma_host.hpp"
#include "tools/duofi/bench_driver.hpp"
#include "tools/duofi/outcome.hpp"
#include "tools/duofi/pair_channel.hpp"

namespace duofi::tool {

/// The plugin, opened and connected to the other process: a group of two, one context, a window
/// each for tx, rx and signals.
class RmaEnd {
  public:
    /// Collective. `memory` and `channel` are borrowed, the channel for this call only. Errors name
    /// the call that failed.
    [[nodiscard]] static Outcome<std::unique_ptr<RmaEnd>> open(int rank, PairChannel& channel,
                                                               const BenchMemory& memory);
    ~RmaEnd();

    [[nodiscard]] const loader::AssignedRma& plugin() const noexcept { return plugin_; }
    [[nodiscard]] std::string device_name() const;

    /// Posts from tx to the peer's rx, or from the peer's tx to rx.
    [[nodiscard]] Status post(void*& request, OneSided operation, std::size_t offset,
                              std::size_t bytes);
    [[nodiscard]] Status finish(void*& request);
    /// Calls rmaProgress until `count` more signals have arrived since the last call.
    [[nodiscard]] Status wait_signals(std::uint64_t count);

  private:
    RmaEnd(int rank, const BenchMemory& memory);
    Outcome<void> attach(PairChannel& channel);
    Outcome<void> connect(PairChannel& channel);
    Outcome<void> register_windows();

    std::uint32_t peer_;
    BenchMemory memory_;
    loader::RmaHost host_;
    loader::AssignedRma plugin_;
    bool attached_ = false;
    alignas(8) std::array<std::uint64_t, 1> signals_{};  // written by the plugin
    std::uint64_t signals_taken_ = 0;
    loader::RmaTable table_;
    loader::RmaGroup group_;
    loader::RmaContext context_;
    loader::RmaWindow tx_, rx_, words_;
};

class RmaDriver final : public Driver {
  public:
    RmaDriver(RmaEnd& end, OneSided operation) : end_(end), operation_(operation) {}
    [[nodiscard]] Status prepare(const Workload&) override { return {}; }
    [[nodiscard]] Status lead(const Workload& work) override;
    [[nodiscard]] Status follow(const Workload& work) override;
    [[nodiscard]] Status idle() override { return {}; }  // the plugin owes progress by itself

  private:
    Status bounce(const Workload& work, bool first);

    RmaEnd& end_;
    OneSided operation_;
    std::array<void*, kWidestWindow> requests_{};
};

}  // namespace duofi::tool
