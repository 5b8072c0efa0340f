// The calls of every net table, once, in their newest form. An adapter per table version converts structs and
// fills the table. Return codes: net contract 3.9; the guard lines are the seed's, in its order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/abi/host_types.h"
#include "net_plugin/properties.hpp"
#include "net_plugin/protocol.hpp"

namespace duofi::net {

/// What connect, accept, isend … work on. Set by init; a recording fake sets its own. nullptr = none.
void set_plugin(Plugin* plugin) noexcept;
[[nodiscard]] Plugin* plugin() noexcept;
/// No plugin any more, by fini: what is closed and deregistered from now on, until set_plugin, is done in silence and
/// answered with ncclInvalidArgument (net contract 3.7).
void end_plugin() noexcept;
/// Is there a plugin, in this process? Logged if not.
[[nodiscard]] bool initialized(const char* operation) noexcept;
/// Provider that handles must name; set together with the plugin.
void set_handle_provider(std::uint32_t mark) noexcept;

[[nodiscard]] ncclResult_t devices(int* count);
/// nullptr in `out` on failure.
[[nodiscard]] ncclResult_t get_properties(int device, const DeviceProperties** out);
[[nodiscard]] ncclResult_t listen(int device, void* handle, void** listen_comm);
[[nodiscard]] ncclResult_t connect(int device, void* handle, void** send_comm);
/// As connect, but a comm is given as soon as its request has reached the fabric (ConnectProgress::asked).
[[nodiscard]] ncclResult_t connect_early(int device, void* handle, void** send_comm);
[[nodiscard]] ncclResult_t accept(void* listen_comm, void** recv_comm);
[[nodiscard]] ncclResult_t reg_mr(void* comm, void* data, std::size_t size, int type, void** mhandle);
[[nodiscard]] ncclResult_t reg_mr_dmabuf(void* comm, void* data, std::size_t size, int type,
                                         std::uint64_t offset, int fd, void** mhandle);
[[nodiscard]] ncclResult_t dereg_mr(void* comm, void* mhandle);
[[nodiscard]] ncclResult_t isend(void* send_comm, void* data, std::size_t size, int tag, void* mhandle,
                                 void** request);
/// `count` buffers; sizes as the version's adapter widened them.
[[nodiscard]] ncclResult_t irecv(void* recv_comm, int count, const RecvBuffer* buffers, void** request);
[[nodiscard]] ncclResult_t iflush(void* recv_comm, int count, const RecvBuffer* buffers, void** request);
[[nodiscard]] ncclResult_t test(void* request, int* done, int* sizes);
[[nodiscard]] ncclResult_t close_send(void* send_comm);
[[nodiscard]] ncclResult_t close_recv(void* recv_comm);
[[nodiscard]] ncclResult_t close_listen(void* listen_comm);

/// Is `count` acceptable for irecv and iflush, and are the arrays there? Logged if not. Adapters call it before
/// they copy anything (net contract 3.4).
[[nodiscard]] bool check_group(const char* operation, int count, bool arrays_given);

/// Comms open or being connected; unloading frees memory only at 0.
[[nodiscard]] std::size_t open_comms() noexcept;

}  // namespace duofi::net
