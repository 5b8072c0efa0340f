// One device, of one NIC or of several as rails: hands out endpoints, one per calling thread, or one for all where the
// provider's endpoints are expensive (architecture 4.4). Any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/ofi/device_list.hpp"
#include "common/ofi/rail_groups.hpp"
#include "common/util/mutex.hpp"
#include "common/util/settings.hpp"
#include "net_plugin/properties.hpp"
#include "net_plugin/protocol.hpp"
#include "net_plugin/comms/endpoint.hpp"

namespace duofi::net {

class FabricDevice : public Device {
  public:
    /// `rails` (1 to ofi::kMaxRails, more than one under RDMA only) and `settings` outlive the device. `one_sided`:
    /// registered memory can be exposed to peers.
    FabricDevice(ofi::RailInfos rails, const Settings& settings, const DeviceProperties& properties, bool domain_per_thread,
                 ofi::EndpointHook hook = {}, bool one_sided = false, ProtocolKind protocol = ProtocolKind::sendrecv)
        : rails_(std::move(rails)),
          settings_(settings),
          properties_(properties),
          domain_per_thread_(domain_per_thread),
          hook_(std::move(hook)),
          one_sided_(one_sided),
          protocol_(protocol) {}

    Result<Endpoint*> get_endpoint() override;
    [[nodiscard]] const DeviceProperties& properties() const noexcept override { return properties_; }
    /// Before any caller has seen the properties: what an endpoint told about writes without registration, bytes.
    void limit_write_inline(std::size_t bytes) noexcept {
        properties_.max_write_inline_bytes = std::min(properties_.max_write_inline_bytes, bytes);
    }

    void add_reference(FabricEndpoint& endpoint);
    void release(FabricEndpoint& endpoint);
    [[nodiscard]] std::size_t open_endpoints();
    /// Of the first rail.
    [[nodiscard]] const ofi::DeviceInfo& info() const noexcept { return *rails_.front(); }
    [[nodiscard]] ProtocolKind protocol() const noexcept { return protocol_; }

  private:
    [[nodiscard]] Result<std::shared_ptr<ofi::Domain>> get_domain(std::uint64_t key, std::size_t rail);
    [[nodiscard]] Result<std::vector<std::shared_ptr<ofi::Endpoint>>> open_rails(std::uint64_t key);

    ofi::RailInfos rails_;
    const Settings& settings_;
    DeviceProperties properties_;
    bool domain_per_thread_;
    ofi::EndpointHook hook_;  ///< per-endpoint validation (net contract 4.9)
    bool one_sided_;
    ProtocolKind protocol_;
    Mutex mutex_;
    std::unordered_map<std::uint64_t, std::unique_ptr<FabricEndpoint>> endpoints_;
    std::map<std::pair<std::uint64_t, std::size_t>, std::weak_ptr<ofi::Domain>> domains_;
};

}  // namespace duofi::net
