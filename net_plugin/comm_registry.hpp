// Callers' comm pointers: made, resolved, ended. Connection attempts that nobody polls any more are swept here.
// Any thread.
#pragma once

#include <cstddef>

#include "common/util/error.hpp"
#include "net_plugin/caller_memory.hpp"
#include "net_plugin/protocol.hpp"

namespace duofi::net {

/// A new pointer for the caller. Throws std::bad_alloc.
[[nodiscard]] CommHandle* open_comm(CommKind kind, Comm& comm);
/// nullptr: not a comm pointer of this kind, or closed; logged with `operation`.
[[nodiscard]] Comm* find_comm(void* pointer, CommKind kind, const char* operation) noexcept;
/// A send or a receive comm.
[[nodiscard]] DataComm* find_data_comm(void* pointer, const char* operation) noexcept;
/// Ends the comm behind a pointer: Comm::close, then Endpoint::release.
void end_comm(CommHandle& handle);
/// The same for whatever pointer a caller closes after fini; not one of ours, or closed: nothing happens.
void end_comm_if_open(void* pointer, CommKind kind);
/// Forgets the pointer of an attempt whose comm is gone already.
void drop_attempt(CommHandle& handle) noexcept;
[[nodiscard]] CommHandle* find_attempt(const ConnectState& state) noexcept;

/// Ends attempts that were not continued for twice DUOFI_CONNECT_TIMEOUT; and, when nothing else is open, those
/// not continued for a second, so that an abandoned connect does not keep the library alive (3.2).
void sweep_attempts();
/// Ends all attempts.
void end_attempts();

void set_connect_timeout(Nanoseconds timeout) noexcept;
[[nodiscard]] Nanoseconds connect_timeout() noexcept;

[[nodiscard]] std::size_t comm_count() noexcept;

}  // namespace duofi::net
