// N ranks in a ring over a plugin's v6 table: each sends to the next and receives from the
// previous. One thread. Every wait has a deadline; an error text names rank, peer, operation and
// size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/abi/net_v6.h"
#include "common/bootstrap/store.hpp"
#include "common/loader/net_client.hpp"
#include "tools/duofi/outcome.hpp"

namespace duofi::tool {

/// Requests in flight per direction at most; well below what a plugin must support (net
/// contract 3.4).
inline constexpr unsigned kRingDepth = 8;

/// What goes around the ring after each size: sums over the ranks.
struct RingTotals {
    std::uint64_t time_ns = 0;     ///< sum of the ranks' timed parts
    std::uint64_t slowest_ns = 0;  ///< largest of them
    std::uint64_t wrong_bytes = 0;
    std::uint64_t checked_bytes = 0;
};

struct RingConfig {
    const ncclNet_v6_t* net = nullptr;  ///< initialised; stays so while the ring lives
    int device = 0;
    std::size_t largest = 0;           ///< bytes of one message
    unsigned depth = 4;                ///< messages in flight, at most kRingDepth
    Nanoseconds limit = 30 * kSecond;  ///< longest wait for one step
};

class Ring {
  public:
    /// Exchanges handles through the store and connects. Collective over the store's ranks.
    [[nodiscard]] static Outcome<Ring> open(const RingConfig& config, bootstrap::Store& store);

    [[nodiscard]] int rank() const noexcept { return rank_; }
    [[nodiscard]] int size() const noexcept { return size_; }
    [[nodiscard]] int previous() const noexcept { return (rank_ + size_ - 1) % size_; }
    [[nodiscard]] int next() const noexcept { return (rank_ + 1) % size_; }

    /// The memory of message `slot` of a batch of messages of `bytes`.
    [[nodiscard]] std::span<std::byte> tx(unsigned slot, std::size_t bytes);
    [[nodiscard]] std::span<std::byte> rx(unsigned slot, std::size_t bytes);

    /// Posts `count` receives of `bytes` each into slots 0, 1, ...
    [[nodiscard]] Outcome<void> post_receives(unsigned count, std::size_t bytes);
    /// Sends slots 0 .. count-1 and waits for these sends and all posted receives. A message that
    /// arrives with another size is an error.
    [[nodiscard]] Outcome<void> send_and_wait(unsigned count, std::size_t bytes);
    /// Adds up `mine` over all ranks; every rank gets the result. Also a barrier.
    [[nodiscard]] Outcome<RingTotals> total(const RingTotals& mine);
    /// Closes both comms. Error: a close that failed.
    [[nodiscard]] Outcome<void> close();

  private:
    struct Posted {
        loader::Transfer transfer;
        std::size_t bytes = 0;
        bool is_send = false;
        bool open = false;
    };

    Ring(const RingConfig& config, const bootstrap::Store& store);
    Outcome<void> connect(bootstrap::Store& store);
    Outcome<void> register_buffers();
    Outcome<void> post(Posted& slot, bool is_send, std::span<std::byte> data);
    Outcome<void> wait_all();
    Outcome<bool> look(Posted& slot);
    Outcome<void> forward(RingTotals& token, bool send_first, bool add);
    [[nodiscard]] std::string text(const Posted& slot, const std::string& what) const;

    RingConfig config_;
    int rank_, size_;
    loader::NetClient client_;
    std::vector<std::byte> tx_, rx_;  // the last kTokenBytes carry totals
    loader::NetClient::Pair pair_;
    loader::Registration tx_region_, rx_region_;
    std::vector<Posted> sends_, receives_;
};

}  // namespace duofi::tool
