// What listen returns: a port at which the other ranks of the group to come introduce themselves, before or while connect
// runs here (C-5). One connect per listen comm.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/ofi/endpoint.hpp"
#include "common/ofi/handshake.hpp"
#include "common/ofi/listen_handle.hpp"
#include "rma_plugin/caller_objects.hpp"

namespace duofi::rma {

class Instance;

/// What a rank said at our port.
struct Introduction {
    std::uint32_t rank = 0;
    std::uint64_t agreement = 0;
    ofi::Hello hello{};
};

class ListenComm : private ofi::PortOwner {
  public:
    ListenComm(Instance& instance, std::shared_ptr<ofi::Endpoint> endpoint);
    /// closeListen: who introduces itself from now on is refused.
    ~ListenComm() override;

    static constexpr int kMostRanks = 65535;  ///< of a group: ranks travel in 16 bits

    /// Errors: no_memory. Fills in where we listen.
    [[nodiscard]] Status open(ofi::ListenHandle& handle);

    [[nodiscard]] Instance& instance() const noexcept { return instance_; }
    [[nodiscard]] std::shared_ptr<ofi::Endpoint> share_endpoint() const noexcept { return endpoint_; }
    [[nodiscard]] const ofi::Nonce& nonce() const noexcept { return nonce_; }
    /// Who has come since the last call. Lock of the endpoint held.
    [[nodiscard]] std::vector<Introduction> take() noexcept { return std::exchange(arrived_, {}); }

    bool used = false;               ///< connect has been called with it
    ObjectHandle* handle = nullptr;  ///< the caller's pointer

  private:
    void on_message(const ofi::Message& message) noexcept override;
    void refuse(const ofi::Hello& hello, ofi::RefuseReason reason) noexcept;

    Instance& instance_;
    std::shared_ptr<ofi::Endpoint> endpoint_;
    std::uint32_t port_ = 0;
    ofi::Nonce nonce_{};
    std::vector<Introduction> arrived_;
};

}  // namespace duofi::rma
