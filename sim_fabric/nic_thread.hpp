// The thread that stands for the NICs of this process: what arrives is handled although nobody reads a queue, as
// hardware does. Not there with the knob "manual". Starts with the first endpoint, ends with the last. Any thread.
#pragma once

namespace duofi::sim {

class Endpoint;

/// 0, or a negative code when the thread cannot be started.
[[nodiscard]] int nic_add(Endpoint& endpoint);
/// On return the thread does not touch the endpoint any more. Unknown ones are ignored.
void nic_remove(Endpoint& endpoint) noexcept;
/// The library is unloaded: the thread ends, although endpoints may be open. True: there were none.
[[nodiscard]] bool nic_stop() noexcept;

}  // namespace duofi::sim
