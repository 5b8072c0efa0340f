// The callers' GIN proxy on a CPU: 1 to 4 connections, 1 to 4 proxy threads, windows, device
// communicators (rma contract 1.5, 4.1-4.4). Threads: set-up calls from one thread; Device objects
// from any.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "common/gin/device_comm.hpp"

namespace duofi::gin {

struct GinOptions {
    int device = 0;       ///< of the first connection; the next ones take the next devices, in turn
    int connections = 1;  ///< NCCL_GIN_NCONNECTIONS, at most 4
    int threads = 1;      ///< NCCL_GIN_PROXY_NTHREADS, at most 4; thread t serves t, t+N, ...
    int rail_stride = 0;  ///< 0: groups of all ranks; s: of the ranks equal modulo s
    Observers observers;
};

class GinProxy {
  public:
    /// Connects; collective. `instance` is that of one init. Errors: Errc::invalid_argument for
    /// numbers out of range, the plugin's failures, the exchange's.
    [[nodiscard]] static Result<std::unique_ptr<GinProxy>> open(const loader::RmaTable& table,
                                                                void* instance,
                                                                const Exchange& exchange,
                                                                const GinOptions& options);
    /// close().
    ~GinProxy();
    GinProxy(const GinProxy&) = delete;
    GinProxy& operator=(const GinProxy&) = delete;

    /// Registers cpu memory with every connection; collective, in the same order on all ranks.
    [[nodiscard]] Result<Window> register_window(std::span<std::byte> memory,
                                                 std::uint64_t flags = 0);
    /// Local. Unknown windows: Errc::invalid_argument.
    Status deregister_window(const Window& window);

    /// Collective. The reference stays valid until destroy or close.
    [[nodiscard]] Result<DeviceComm*> create(const DeviceCommShape& shape);
    /// Local, also with operations in flight. Errors: the plugin's; the communicator is gone then,
    /// too.
    Status destroy(DeviceComm& comm);

    /// Starts and stops the proxy threads.
    void start();
    void stop();
    /// One pass of the calling thread over everything, in place of the threads.
    Pass progress();
    [[nodiscard]] bool failed() const noexcept;

    /// Threads, device communicators, windows, groups, in the callers' order. Returns the first
    /// failure.
    Status close();

    [[nodiscard]] int rank() const noexcept { return exchange_.rank; }
    [[nodiscard]] int size() const noexcept { return exchange_.size; }
    [[nodiscard]] const Connection& connection(int index) const noexcept;

  private:
    struct Line;
    struct Worker;
    struct OwnedWindow {
        Window window;
        std::vector<loader::RmaWindow> parts;
    };

    GinProxy(const loader::RmaTable& table, const Exchange& exchange, const GinOptions& options);
    [[nodiscard]] Status connect_all(void* instance);
    void record_window(const OwnedWindow& owned);
    Pass pass_over(Line& line);
    void run(Worker& worker);

    loader::RmaClient client_;
    Exchange exchange_;
    GinOptions options_;
    std::vector<std::unique_ptr<Line>> lines_;  // one per connection
    std::vector<std::unique_ptr<Worker>> workers_;
    std::vector<OwnedWindow> windows_;
    std::vector<std::unique_ptr<DeviceComm>> comms_;
    std::uint32_t windows_made_ = 0;
};

}  // namespace duofi::gin
