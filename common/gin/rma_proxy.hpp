// The callers' RMA proxy on a CPU: one connection, one or more rmaCtxs, a proxy thread (rma
// contract 4.6). Threads: set-up calls from one thread; lanes as their header says.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "common/gin/device.hpp"
#include "common/gin/rma_lane.hpp"

namespace duofi::gin {

struct RmaProxyOptions {
    int device = 0;
    int contexts = 1;                       ///< NCCL_NUM_RMA_CTX
    std::int64_t queue_size = -1;           ///< NCCL_RMA_PROXY_QUEUE_SIZE; -1 = by maxRecvs
    Nanoseconds limit = 30 * kSecond;       ///< of one wait
    std::optional<void*> connect_instance;  ///< what connect gets; unset = the instance (C-3)
};

class RmaProxy {
  public:
    /// Connects and makes the lanes; collective.
    [[nodiscard]] static Result<std::unique_ptr<RmaProxy>> open(const loader::RmaTable& table,
                                                                void* instance,
                                                                const Exchange& exchange,
                                                                const RmaProxyOptions& options);
    ~RmaProxy();
    RmaProxy(const RmaProxy&) = delete;
    RmaProxy& operator=(const RmaProxy&) = delete;

    [[nodiscard]] Result<Window> register_window(std::span<std::byte> memory,
                                                 std::uint64_t flags = 0);
    Status deregister_window(const Window& window);

    [[nodiscard]] RmaLane& lane(int index) noexcept {
        return *lanes_[static_cast<std::size_t>(index)];
    }
    /// enqueue and release at once, as on an empty stream; waits for room in the ring.
    [[nodiscard]] Result<std::uint64_t> put(int lane, const RmaItem& item);
    /// Waits until the operations of the peer up to this one are done.
    GinStatus wait_done(int lane, int peer, std::uint64_t sequence);
    GinStatus wait_arrivals(int lane, int peer, std::uint64_t least);
    GinStatus wait_graph(int lane, std::size_t graph, std::uint64_t launches);

    void start();
    void stop();
    /// One pass of the calling thread, in place of the proxy thread.
    Pass progress();
    [[nodiscard]] bool failed() const noexcept;
    /// Thread, lanes, windows, group. Returns the first failure.
    Status close();

  private:
    struct OwnedWindow {
        std::uint32_t number;
        loader::RmaWindow window;
    };
    template <typename Ready>
    GinStatus wait(int lane, Ready&& ready);
    RmaProxy(const loader::RmaTable& table, const RmaProxyOptions& options)
        : client_(table), options_(options) {}
    void run();

    loader::RmaClient client_;
    RmaProxyOptions options_;
    Connection connection_;
    std::vector<std::unique_ptr<RmaLane>> lanes_;
    std::vector<OwnedWindow> windows_;
    std::uint32_t windows_made_ = 0;
    std::thread thread_;
    std::atomic<bool> stop_{false};
};

}  // namespace duofi::gin
