// One face for the tables ncclNetPlugin_v6 to v12 (net contract 2.2): what a transport calls once
// the plugin is initialised. Threads as the tables: one comm and its transfers from one thread at a
// time. Results are the plugin's own.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "common/abi/host_types.h"

namespace duofi::p2p {

/// Owns nothing. A comm or a request that is NULL after success: not yet, call again.
class NetApi {
  public:
    virtual ~NetApi() = default;

    /// "" when the plugin does not tell.
    [[nodiscard]] virtual std::string pci_path(int device) const = 0;
    /// `handle`: 128 bytes.
    [[nodiscard]] virtual ncclResult_t listen(int device, void* handle, void** comm) const = 0;
    /// `handle` keeps the plugin's notes between attempts.
    [[nodiscard]] virtual ncclResult_t connect(int device, void* handle, void** comm) const = 0;
    [[nodiscard]] virtual ncclResult_t accept(void* listener, void** comm) const = 0;
    /// Memory of the CPU.
    [[nodiscard]] virtual ncclResult_t register_memory(void* comm, void* data, std::size_t bytes,
                                                       void** mhandle) const = 0;
    [[nodiscard]] virtual ncclResult_t deregister(void* comm, void* mhandle) const = 0;
    [[nodiscard]] virtual ncclResult_t send(void* comm, void* data, std::size_t bytes, int tag,
                                            void* mhandle, void** request) const = 0;
    [[nodiscard]] virtual ncclResult_t receive(void* comm, void* data, std::size_t bytes, int tag,
                                               void* mhandle, void** request) const = 0;
    [[nodiscard]] virtual ncclResult_t test(void* request, int* done, int* bytes) const = 0;
    virtual ncclResult_t close_send(void* comm) const = 0;
    virtual ncclResult_t close_receive(void* comm) const = 0;
    virtual ncclResult_t close_listen(void* comm) const = 0;
};

/// NULL for versions that are not 6 to 12. `context` is what init of v11 and v12 gave.
[[nodiscard]] std::unique_ptr<NetApi> make_net_api(const void* table, int version, void* context);

}  // namespace duofi::p2p
