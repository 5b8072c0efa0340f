// The listen comm: collects connect requests, turns each into a receive comm (net contract 3.2).
#pragma once

#include <deque>
#include <memory>

#include "common/ofi/endpoint.hpp"
#include "common/ofi/handshake.hpp"
#include "net_plugin/protocol.hpp"
#include "net_plugin/comms/endpoint.hpp"

namespace duofi::net {

class FabricRecvComm;

class FabricListenComm : public ListenComm, private ofi::PortOwner {
  public:
    explicit FabricListenComm(FabricEndpoint& endpoint);
    ~FabricListenComm() override;

    /// Errors: internal when the endpoint's name does not fit a handle, no_memory when ports are out.
    [[nodiscard]] Status open(Handle& handle);
    Result<RecvComm*> accept() override;
    void close() override;

  private:
    static constexpr std::size_t kMaxWaiting = 4096;
    void on_message(const ofi::Message& message) noexcept override;
    /// Answers the oldest request that can be answered; lock held.
    [[nodiscard]] bool answer_next();
    void refuse(const ofi::Hello& hello, ofi::RefuseReason reason) noexcept;

    FabricEndpoint& endpoint_;
    ofi::Endpoint& ofi_;
    std::uint32_t port_ = 0;
    ofi::Nonce nonce_{};
    std::deque<ofi::Hello> waiting_;
    std::unique_ptr<FabricRecvComm> answering_;  ///< its welcome has not left yet
};

}  // namespace duofi::net
