// One plain libfabric endpoint for the benchmark's yardstick: no plugin code between it and the
// provider. One thread per object. Every wait has a deadline; a refused post polls the completion
// queue (P9).
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_tagged.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/util/clock.hpp"
#include "common/util/error.hpp"

namespace duofi::tool {

/// What to open. `tx` and `rx` are borrowed and must outlive the endpoint.
struct RawConfig {
    std::string provider;                   ///< exact provider name
    std::string domain;                     ///< exact domain name, "" = the first one found
    std::span<std::byte> tx, rx;            ///< memory that messages come from and go to
    unsigned contexts = 36;                 ///< operations in flight per direction
    Nanoseconds wait_limit = 20 * kSecond;  ///< longest wait for one operation
};

/// Where the peer may write or read.
struct RawRemote {
    std::uint64_t address = 0;  ///< base to add offsets to; 0 with offset addressing (P7)
    std::uint64_t key = 0;
};
struct RawExposed {
    RawRemote rx;  ///< may be written
    RawRemote tx;  ///< may be read
};

struct FidCloser {
    template <typename T>
    void operator()(T* object) const noexcept {
        fi_close(&object->fid);  // -16 with a rendezvous in flight is harmless here (P16)
    }
};
template <typename T>
using RawFid = std::unique_ptr<T, FidCloser>;

class RawEndpoint {
  public:
    /// Errors: no_data (provider or domain not found), system.
    [[nodiscard]] static Result<std::unique_ptr<RawEndpoint>> open(const RawConfig& config);

    /// Own address, to be handed to the peer.
    [[nodiscard]] const std::vector<std::byte>& name() const noexcept { return name_; }
    /// To be handed to the peer, too.
    [[nodiscard]] const RawExposed& exposed() const noexcept { return exposed_; }
    [[nodiscard]] Status set_peer(std::span<const std::byte> name, const RawExposed& remote);
    /// The provider grants completions of writes that mean "applied at the target".
    [[nodiscard]] bool delivery() const noexcept { return delivery_; }

    /// Posts on context `slot` (below `contexts`); a refused post is tried again while polling.
    [[nodiscard]] Status post_send(unsigned slot, std::size_t offset, std::size_t bytes,
                                   std::uint64_t tag);
    [[nodiscard]] Status post_receive(unsigned slot, std::size_t offset, std::size_t bytes,
                                      std::uint64_t tag);
    [[nodiscard]] Status post_write(unsigned slot, std::size_t offset, std::size_t bytes,
                                    std::uint64_t data);
    /// From tx to the peer's rx; completes when it is applied there, if the provider grants that.
    [[nodiscard]] Status post_put(unsigned slot, std::size_t offset, std::size_t bytes);
    /// The same with remote completion data, which the peer waits for with wait_writes.
    [[nodiscard]] Status post_put_signal(unsigned slot, std::size_t offset, std::size_t bytes);
    /// From the peer's tx to rx.
    [[nodiscard]] Status post_get(unsigned slot, std::size_t offset, std::size_t bytes);
    [[nodiscard]] Status wait_send(unsigned slot);
    [[nodiscard]] Status wait_receive(unsigned slot);
    /// Waits until `count` writes with data arrived since the last take_writes().
    [[nodiscard]] Status wait_writes(std::uint64_t count);
    void take_writes(std::uint64_t count) noexcept { writes_seen_ -= count; }
    /// One look at the completion queue.
    [[nodiscard]] Status poll();

  private:
    struct Operation {
        fi_context2 context;  // first: the provider owns it while the operation is posted
        bool pending = false;
    };

    explicit RawEndpoint(const RawConfig& config);
    Status open_objects(fi_info& info);
    Status register_memory(fi_info& info);
    Result<RawFid<fid_mr>> register_range(fi_info& info, std::span<std::byte> range,
                                          std::uint64_t access, std::uint64_t key);
    Status read_name();
    Status report_failed_entry();
    Status post_write_message(unsigned slot, std::size_t offset, std::size_t bytes,
                              std::uint64_t flags);
    template <typename Post>
    Status post(Operation& operation, const char* what, Post&& attempt);
    template <typename Ready>
    Status wait(const char* what, Ready&& ready);

    RawConfig config_;
    RawFid<fid_fabric> fabric_;
    RawFid<fid_domain> domain_;
    RawFid<fid_cq> queue_;
    RawFid<fid_av> addresses_;
    RawFid<fid_mr> tx_region_, rx_region_;
    RawFid<fid_ep> endpoint_;  // last member: closed first
    std::vector<std::byte> name_;
    std::vector<Operation> sends_, receives_;
    fi_addr_t peer_ = FI_ADDR_UNSPEC;
    RawExposed exposed_, remote_;
    bool delivery_ = false;
    std::uint64_t writes_seen_ = 0;
};

}  // namespace duofi::tool
