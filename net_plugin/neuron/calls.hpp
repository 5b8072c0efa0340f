// The calls that only Neuron's tables have (net contract 1.5, 2.2, 3.10), and those of its v4, whose connect and accept
// return only with a comm. As in entry.hpp; `operation` of a log line is the table entry.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/abi/host_types.h"

namespace duofi::net::neuron {

/// The key by which peers reach a registration. Errors: invalid_argument for a bad mhandle; ncclSystemError (-95) where
/// the provider has no one-sided access, (-2) where it gives no key that fits 64 bits.
[[nodiscard]] ncclResult_t get_mr_key(void* mhandle, std::uint64_t* key);
/// See OneSided::start. A NULL request with success = call again.
[[nodiscard]] ncclResult_t iwrite(void* send_comm, void* source, std::size_t size, void* mhandle, std::uint64_t address,
                                  std::uint64_t key, void** request);
[[nodiscard]] ncclResult_t iwrite_inline(void* send_comm, void* source, std::size_t size, std::uint64_t address,
                                         std::uint64_t key, void** request);
[[nodiscard]] ncclResult_t iread(void* recv_comm, void* destination, std::size_t size, void* mhandle,
                                 std::uint64_t address, std::uint64_t key, void** request);

/// isend, irecv and iflush with the sizes of v5 and v6, which are ints.
[[nodiscard]] ncclResult_t isend(void* send_comm, void* data, int size, int tag, void* mhandle, void** request);
[[nodiscard]] ncclResult_t irecv(void* recv_comm, int count, void** data, int* sizes, int* tags, void** mhandles,
                                 void** request);
[[nodiscard]] ncclResult_t iflush(void* recv_comm, int count, void** data, int* sizes, void** mhandles, void** request);

/// v4: writes 64 bytes of handle.
[[nodiscard]] ncclResult_t listen_v4(int device, void* handle, void** listen_comm);
/// v4: returns when the request has reached the fabric, so that two ranks that both connect before they accept do not
/// wait for each other; sends then say "not now" until the other side accepts. At most DUOFI_CONNECT_TIMEOUT.
[[nodiscard]] ncclResult_t connect_v4(int device, void* handle, void** send_comm);
/// v4: waits for a connect request, at most DUOFI_CONNECT_TIMEOUT; then ncclRemoteError.
[[nodiscard]] ncclResult_t accept_v4(void* listen_comm, void** recv_comm);

}  // namespace duofi::net::neuron
