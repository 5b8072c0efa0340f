// The endpoint of one device and thread under the tagged protocol: joins comms, owns the libfabric endpoint.
#pragma once

#include <cstdint>
#include <memory>

#include "common/ofi/endpoint.hpp"
#include "net_plugin/protocol.hpp"
#include "net_plugin/sendrecv/receive_budget.hpp"

namespace duofi::net {

class SendrecvDevice;

class SendrecvEndpoint : public Endpoint {
  public:
    /// `most_receives`: see ReceiveBudget.
    SendrecvEndpoint(SendrecvDevice& device, std::uint64_t key, std::shared_ptr<ofi::Endpoint> ofi,
                     std::size_t most_receives)
        : device_(device), key_(key), receives_(most_receives), ofi_(std::move(ofi)) {}

    Result<ListenComm*> listen(Handle& handle) override;
    Result<ConnectProgress> connect(const Handle& handle, SendComm* attempt) override;
    void add_reference() override;
    void release() override;

    [[nodiscard]] ofi::Endpoint& ofi() noexcept { return *ofi_; }
    [[nodiscard]] ReceiveBudget& receives() noexcept { return receives_; }

  private:
    friend class SendrecvDevice;
    SendrecvDevice& device_;
    std::uint64_t key_;             ///< which of the device's endpoints; see SendrecvDevice
    std::uint32_t references_ = 0;  ///< guarded by the device's mutex
    ReceiveBudget receives_;
    std::shared_ptr<ofi::Endpoint> ofi_;  ///< last: what it still holds may use the others
};

}  // namespace duofi::net
