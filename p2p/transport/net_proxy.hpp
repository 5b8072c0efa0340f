// The proxy of NET edges (p2p contract 5.3): one thread per communicator, started with the first
// operation, that carries steps between FIFO memory and the plugin. Asleep while there are no
// operations.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "common/local/background.hpp"
#include "common/util/clock.hpp"
#include "common/util/error.hpp"
#include "p2p/abi.h"
#include "p2p/transport/net_steps.hpp"

namespace duofi::p2p {
struct NetEdge;
}

/// One operation of one edge, as the table's proxy entries see it.
struct ncclProxyArgs {
    duofi::p2p::NetEdge* edge = nullptr;
    duofi::p2p::NetWork work;
    const ncclTransportComm* half = nullptr;
    bool started = false;  ///< it is the turn of this operation on its edge
    bool moved = false;    ///< the last call did something
    bool finished = false;
    const char* failed_call = "";  ///< entry of the plugin that failed
};

namespace duofi::p2p {

/// Of the whole process, since it started.
struct NetCounts {
    std::uint64_t send_operations = 0, recv_operations = 0;
    std::uint64_t threads_started = 0, threads_running = 0;
};
[[nodiscard]] NetCounts net_counts() noexcept;

class NetProxy {
  public:
    /// Borrows. A failure of the plugin aborts `comm`.
    explicit NetProxy(ncclComm& comm) : comm_(comm) {}
    ~NetProxy();
    NetProxy(const NetProxy&) = delete;
    NetProxy& operator=(const NetProxy&) = delete;

    /// Behind the operations that the edge has already. Errors: system (no thread).
    [[nodiscard]] Status post(NetEdge& edge, const ncclTransportComm* half, const NetWork& work);
    /// Waits a second at most for what the edge has under way, not at all after an abort; then
    /// nobody but the caller uses it. False: something was still under way.
    bool remove(NetEdge& edge);

  private:
    using Args = std::unique_ptr<ncclProxyArgs>;
    void run();
    void take_posted();
    [[nodiscard]] bool pass();
    [[nodiscard]] bool advance(ncclProxyArgs& args);
    void fail_all(const ncclProxyArgs& args, ncclResult_t result);
    [[nodiscard]] bool has(const NetEdge& edge);
    void forget(const NetEdge& edge);
    void rest(bool moved);

    ncclComm& comm_;
    std::mutex queue_mutex_;
    std::vector<Args> posted_;
    std::vector<Args> spare_;
    std::mutex pass_mutex_;          ///< held while edges are touched
    std::atomic<int> removing_{0};   ///< threads that want it
    std::vector<Args> active_;       ///< in order of posting
    std::atomic<bool> asleep_{false};
    Nanoseconds idle_since_ = 0;
    local::BackgroundThread thread_;
};

/// The table's proxy, allocRequest and freeRequest entries.
[[nodiscard]] ncclResult_t net_send_proxy(ncclProxyArgs* args);
[[nodiscard]] ncclResult_t net_recv_proxy(ncclProxyArgs* args);
/// The operation's turn begins: its steps are fixed, skipped credits go back.
[[nodiscard]] Status net_begin(ncclProxyArgs* args);
/// It ends: the edge remembers where.
[[nodiscard]] Status net_end(ncclProxyArgs* args);

}  // namespace duofi::p2p
