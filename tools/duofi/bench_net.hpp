// The same workloads over a plugin's v6 table, called as the hosts call it.
#pragma once

#include <array>
#include <memory>

#include "common/abi/net_v6.h"
#include "common/loader/net_client.hpp"
#include "tools/duofi/bench_driver.hpp"

namespace duofi::tool {

/// One comm in each direction. Table and memory are borrowed; the plugin is initialised by the
/// owner.
class NetDriver final : public Driver {
  public:
    /// Sends on `pair.send`, receives on `pair.recv`; registers `memory` with both.
    [[nodiscard]] static Result<std::unique_ptr<NetDriver>> open(const ncclNet_v6_t* net,
                                                                 loader::NetClient::Pair pair,
                                                                 const BenchMemory& memory);
    [[nodiscard]] Status prepare(const Workload& work) override;
    [[nodiscard]] Status lead(const Workload& work) override;
    [[nodiscard]] Status follow(const Workload& work) override;
    [[nodiscard]] Status idle() override { return {}; }  // the plugin owes progress by itself

  private:
    NetDriver(const ncclNet_v6_t* net, loader::NetClient::Pair pair, const BenchMemory& memory);
    Status post_send(void*& request, std::size_t offset, std::size_t bytes);
    Status post_receive(void*& request, std::size_t offset, std::size_t bytes);
    Status finish(void*& request, const char* what);
    Status lead_ping_pong(const Workload& work);
    Status follow_ping_pong(const Workload& work);

    const ncclNet_v6_t* net_;
    loader::NetClient::Pair pair_;
    BenchMemory memory_;
    loader::Registration tx_region_, rx_region_;  // after pair_: given back before the comms close
    std::array<void*, kWidestWindow> requests_{};
};

}  // namespace duofi::tool
