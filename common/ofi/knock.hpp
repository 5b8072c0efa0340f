// Does anybody listen at an endpoint's address? For peers on other nodes that take nothing and say nothing: the kernel
// answers for a process that is stopped, and refuses for one that has ended (architecture 4.8). Lock of the endpoint held.
#pragma once

#include <cstdint>

#include "common/ofi/endpoint_name.hpp"
#include "common/util/clock.hpp"
#include "common/util/unique_fd.hpp"

namespace duofi::ofi {

enum class Door : std::uint8_t {
    unknown,  ///< no answer yet
    open,     ///< somebody listens
    refused,  ///< the node says that nobody does
    silent,   ///< the node itself does not answer, which is no evidence
    none,     ///< the address is not one of a socket: it cannot be asked
};

class Knock {
  public:
    /// Asks, or looks for the answer to the question under way. Never waits. An answer ends the question, and one
    /// without answer ends after 10 s as `silent`.
    [[nodiscard]] Door ask(const EndpointName& name, Nanoseconds now) noexcept;

  private:
    [[nodiscard]] Door start(const EndpointName& name) noexcept;

    UniqueFd socket_;
    Nanoseconds asked_at_ = 0;
};

}  // namespace duofi::ofi
