// The network as P2P uses it: a net plugin, ours unless NCCL_NET_PLUGIN names another, opened with
// the first edge that needs it and left with the last one. Any thread; one NetContext from one
// thread at a time, as its communicator.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/util/error.hpp"
#include "p2p/transport/comm.hpp"
#include "p2p/transport/net_api.hpp"
#include "p2p/transport/net_proxy.hpp"

namespace duofi::p2p {

/// An initialised plugin, for one communicator. `close` gives it back.
struct OpenedNet {
    const void* table = nullptr;
    int version = 0;
    void* context = nullptr;
    std::string name;
    int devices = 0;
    std::function<void()> close;
};

/// Seam: where plugins come from; empty = NCCL_NET_PLUGIN and the loader. Not while edges exist.
using NetOpener = std::function<Result<OpenedNet>(std::uint64_t comm_id)>;
void set_net_opener(NetOpener opener);

/// What one communicator has of the network. Lives as long as edges refer to it.
class NetContext {
  public:
    NetContext(ncclComm& comm, OpenedNet net, std::unique_ptr<NetApi> api);
    ~NetContext();
    NetContext(const NetContext&) = delete;
    NetContext& operator=(const NetContext&) = delete;

    /// Of a communicator; made when nobody refers to one. Errors: no_data (no plugin, no device, a
    /// table of another version).
    [[nodiscard]] static Result<std::shared_ptr<NetContext>> of(ncclComm& comm);

    [[nodiscard]] const NetApi& api() const noexcept { return *api_; }
    [[nodiscard]] const std::string& name() const noexcept { return net_.name; }
    [[nodiscard]] int devices() const noexcept { return net_.devices; }
    /// Nearest to the NUMA node of the rank; equally near ones take turns by channel.
    [[nodiscard]] int device_for(int channel) const noexcept;
    [[nodiscard]] NetProxy& proxy() noexcept { return proxy_; }

  private:
    OpenedNet net_;
    std::unique_ptr<NetApi> api_;
    std::vector<int> nearest_;
    NetProxy proxy_;
};

/// Devices of the plugin, 0 without one. Opens it to look; what is opened stays for the set-up that
/// follows.
[[nodiscard]] int net_devices();

/// NCCL_PROTO as the user gave it: net plugins write that variable when they start.
[[nodiscard]] std::string users_protocols();

}  // namespace duofi::p2p
