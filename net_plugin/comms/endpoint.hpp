// The endpoint of one device and thread: joins comms, owns the libfabric endpoints, one for each rail.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/ofi/endpoint.hpp"
#include "common/ofi/handshake.hpp"
#include "net_plugin/protocol.hpp"
#include "net_plugin/protocol_select.hpp"
#include "net_plugin/sendrecv/receive_budget.hpp"

namespace duofi::net {

class FabricDevice;

class FabricEndpoint : public Endpoint {
  public:
    /// `rails`: the first one takes the messages and is the others' lead. `most_receives`: see ReceiveBudget.
    FabricEndpoint(FabricDevice& device, std::uint64_t key, std::vector<std::shared_ptr<ofi::Endpoint>> rails,
                   std::size_t most_receives);
    ~FabricEndpoint() override;

    Result<ListenComm*> listen(Handle& handle) override;
    Result<ConnectProgress> connect(const Handle& handle, SendComm* attempt) override;
    void add_reference() override;
    void release() override;

    /// The one for messages.
    [[nodiscard]] ofi::Endpoint& ofi() noexcept { return *rails_.front(); }
    [[nodiscard]] std::size_t rail_count() const noexcept { return rails_.size(); }
    [[nodiscard]] ofi::Endpoint& rail(std::size_t i) noexcept { return *rails_[i]; }
    /// Polls all of them. Lock held.
    void poll() noexcept {
        for (const auto& rail : rails_) rail->poll();
    }
    /// Names of the rails behind the first, for the peers; at most `most`.
    [[nodiscard]] ofi::RailNames rail_names(std::size_t most = ofi::kMaxRails - 1) const noexcept;
    [[nodiscard]] Result<void*> register_memory(void* data, std::size_t size);
    [[nodiscard]] ofi::DataPath data_path() const noexcept { return data_path_; }
    [[nodiscard]] ReceiveBudget& receives() noexcept { return receives_; }

  private:
    friend class FabricDevice;
    FabricDevice& device_;
    ofi::DataPath data_path_;
    std::uint64_t key_;             ///< which of the device's endpoints; see FabricDevice
    std::uint32_t references_ = 0;  ///< guarded by the device's mutex
    ReceiveBudget receives_;
    std::vector<std::shared_ptr<ofi::Endpoint>> rails_;  ///< last: what they still hold may use the others
};

}  // namespace duofi::net
