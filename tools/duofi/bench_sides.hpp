// What the two processes of a benchmark have open: a plain endpoint and the plugin's table over the
// same device and the same memory.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "common/loader/net_client.hpp"
#include "tools/duofi/bench_plan.hpp"
#include "tools/duofi/bench_rma.hpp"
#include "tools/duofi/net_opening.hpp"
#include "tools/duofi/pair_channel.hpp"
#include "tools/duofi/raw_endpoint.hpp"

namespace duofi::tool {

class BenchSides {
  public:
    /// Opens and connects what `result.part` needs; rank 0 describes it in `result`. Both processes
    /// call it. `channel` is used for this call only, `memory` is borrowed.
    [[nodiscard]] static Outcome<std::unique_ptr<BenchSides>> open(int rank, PairChannel& channel,
                                                                   const BenchMemory& memory,
                                                                   BenchResult& result);
    /// One of the ways of bench_cells(result.part).
    [[nodiscard]] Driver& driver(Via via) {
        return *drivers_[static_cast<std::size_t>(via)];
    }
    [[nodiscard]] RawEndpoint& raw() noexcept { return *raw_; }

  private:
    BenchSides(int rank, const BenchMemory& memory, BenchResult& result)
        : rank_(rank), memory_(memory), result_(result) {}
    Outcome<void> open_raw(PairChannel& channel);
    Outcome<void> open_net(PairChannel& channel);
    Outcome<void> open_rma(PairChannel& channel);
    Outcome<loader::NetClient::Pair> connect_net(const loader::NetClient& client,
                                                 PairChannel& channel);
    Status exchange_raw_names(PairChannel& channel);
    Outcome<void> describe_plugin(const std::string& device, const std::string& library,
                                  int table_version);
    template <typename T, typename... Arguments>
    void add(Via via, Arguments&&... arguments) {
        drivers_[static_cast<std::size_t>(via)] =
            std::make_unique<T>(std::forward<Arguments>(arguments)...);
    }

    int rank_;
    BenchMemory memory_;
    BenchResult& result_;
    std::string device_name_;
    std::optional<OpenNet> net_;
    std::unique_ptr<RmaEnd> rma_;
    std::unique_ptr<RawEndpoint> raw_;
    std::array<std::unique_ptr<Driver>, kViaCount> drivers_;  // last: closed before what they use
};

}  // namespace duofi::tool
