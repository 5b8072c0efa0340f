// What runtimes without a queue of work have in common: everything is done when the call returns, so an event is a
// point in time that has passed. Any thread; one event from one thread at a time.
#pragma once

#include <cstddef>

#include "p2p/runtime/runtime_table.hpp"

namespace duofi::p2p {

extern const EventTable finished_event_table;

/// Slots over plain memory of this process.
int host_alloc(void** memory, std::size_t bytes);
int host_free(void* memory);
int memset_now(void* memory, int value, std::size_t bytes);
int memcpy_now(void* to, const void* from, std::size_t bytes, int kind);
/// Arguments of a copy: 0, or the code of what is wrong.
[[nodiscard]] int check_copy(const void* to, const void* from, std::size_t bytes, int kind);

}  // namespace duofi::p2p
