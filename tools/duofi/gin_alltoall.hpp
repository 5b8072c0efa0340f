// All ranks put to all ranks through the GIN proxy over an RMA plugin, every byte checked. One
// thread calls; the proxy has its own. Every wait has a deadline; error texts name rank and cause.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/bootstrap/store.hpp"
#include "common/gin/gin_proxy.hpp"
#include "common/loader/rma_host.hpp"
#include "tools/duofi/outcome.hpp"

namespace duofi::tool {

struct AllToAllConfig {
    loader::RmaRequest request;        ///< which plugin
    int device = 0;                    ///< of this rank; taken modulo the plugin's devices
    std::size_t largest = 0;           ///< bytes to one rank
    Nanoseconds limit = 30 * kSecond;  ///< longest wait for one step
};

/// Sums over the ranks.
struct AllToAllTotals {
    std::uint64_t time_ns = 0;     ///< sum of the ranks' timed parts
    std::uint64_t slowest_ns = 0;  ///< largest of them
    std::uint64_t wrong_bytes = 0;
    std::uint64_t checked_bytes = 0;
};

class AllToAll {
  public:
    /// Opens the plugin as a caller does (two instances), connects, registers. Collective.
    [[nodiscard]] static Outcome<std::unique_ptr<AllToAll>> open(const AllToAllConfig& config,
                                                                 bootstrap::Store& store);
    ~AllToAll();

    /// `iterations` rounds of `bytes` from each rank to each; timed from the first put to the last
    /// arrival and completion. The result is the same on all ranks.
    [[nodiscard]] Outcome<AllToAllTotals> run(std::size_t bytes, unsigned iterations);
    /// Ends proxy, instances and library. Error: a call that failed.
    [[nodiscard]] Outcome<void> close();

    [[nodiscard]] const loader::AssignedRma& plugin() const noexcept { return rma_; }
    [[nodiscard]] std::string device_name() const;

  private:
    AllToAll(const AllToAllConfig& config, bootstrap::Store& store);
    Outcome<void> attach();
    Outcome<void> set_up();
    Outcome<void> round(std::size_t bytes, AllToAllTotals& mine);
    Outcome<void> put_all(gin::Device& kernel, std::size_t bytes);
    Outcome<void> expect(gin::GinStatus status, const char* what) const;
    Outcome<AllToAllTotals> sum(const AllToAllTotals& mine);
    [[nodiscard]] std::span<std::byte> tx(int peer, std::size_t bytes);
    [[nodiscard]] std::span<std::byte> rx(int peer, std::size_t bytes);
    [[nodiscard]] std::string text(const std::string& what) const;

    AllToAllConfig config_;
    bootstrap::Store& store_;
    int rank_, size_;
    std::unique_ptr<loader::RmaHost> host_;
    loader::AssignedRma rma_;
    bool attached_ = false;
    std::vector<std::byte> memory_;
    std::unique_ptr<gin::GinProxy> proxy_;
    gin::Window window_;
    gin::DeviceComm* comm_ = nullptr;
    std::uint64_t round_ = 0;
};

}  // namespace duofi::tool
