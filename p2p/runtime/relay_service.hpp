// Lets other ranks have memory on this rank (p2p contract 2.8): buffers that a relay owns. One thread per service,
// asleep unless somebody asks. The connection of a client is the lease: when it closes, also by death, the buffer goes.
#pragma once

#include <cstddef>
#include <memory>

#include "common/util/error.hpp"
#include "p2p/runtime/relay_address.hpp"

namespace duofi::p2p {

struct RuntimeTable;

/// Leases that one service grants at a time.
inline constexpr int kMaxLeases = 128;

class RelayService {
  public:
    /// Serves memory of the runtime, which must outlive it. Errors: system, unsupported (runtime without kRelay).
    [[nodiscard]] static Result<std::unique_ptr<RelayService>> start(const RuntimeTable& runtime);
    /// Grants nothing new from now on, waits at most `kDrain` for leases to end, takes back the rest and joins.
    ~RelayService();
    RelayService(const RelayService&) = delete;
    RelayService& operator=(const RelayService&) = delete;

    [[nodiscard]] const RelayAddress& address() const noexcept;
    [[nodiscard]] int leases() const noexcept;

  private:
    class State;
    explicit RelayService(std::unique_ptr<State> state) noexcept;
    std::unique_ptr<State> state_;
};

/// What the remote_alloc and remote_free slots of all runtimes with kRelay do. Errors: invalid_argument (no address,
/// size 0, unknown lease), no_memory and invalid_usage (refused by the relay: out of memory, out of leases), system
/// (nobody there, other user), timed_out. Any thread.
[[nodiscard]] Result<RelayLease> relay_allocate(const RelayAddress& at, std::size_t bytes);
[[nodiscard]] Status relay_free(std::int32_t lease_id);

}  // namespace duofi::p2p
