// One thread per process that moves what the caller does not poll: set-up, leftovers, peers' life. It polls
// only endpoints that nobody polled since it last looked, and sleeps when nothing is owed. It runs from the
// first open endpoint to the last close. Any thread may call; never with an endpoint's lock held.
#pragma once

#include <mutex>

namespace duofi::ofi {

class Endpoint;
struct EndpointName;

/// Starts serving the endpoint.
void service_add(Endpoint& endpoint);
/// Stops serving it; on return the thread does not touch it any more. Joins the thread after the last one.
void service_remove(Endpoint& endpoint) noexcept;
/// Held by an endpoint of this process while it closes; others that must not close meanwhile wait for it.
[[nodiscard]] std::unique_lock<std::mutex> service_close_turn();
/// Tells every served endpoint that one of this process with that name is about to close.
void service_tell_closed(const EndpointName& name) noexcept;
/// Something is owed now: do not sleep until the next tick.
void service_wake() noexcept;
/// For unloading with endpoints left open by the caller: joins the thread, whatever is registered.
void service_abandon() noexcept;

}  // namespace duofi::ofi
