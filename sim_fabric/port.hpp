// Where an endpoint is found: a datagram socket with an abstract name that follows from the endpoint's address, so
// nothing is left in a file system. New streams and rings of the bell arrive there. One thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "common/util/unique_fd.hpp"
#include "sim_fabric/address.hpp"
#include "sim_fabric/pipe.hpp"

namespace duofi::sim {

enum class Reached : std::uint8_t { yes, again, nobody };

class Port {
  public:
    /// Takes a new address of the NIC. 0 or a negative code.
    [[nodiscard]] int open(const Personality& personality, unsigned nic);

    [[nodiscard]] const Name& name() const noexcept { return name_; }
    /// Readable when a stream is offered or the bell was rung; -1 before open.
    [[nodiscard]] int descriptor() const noexcept { return socket_.get(); }
    /// Nobody reaches it any more; the descriptor stays.
    void close() noexcept;

    /// The next stream that was offered, with the sender's name. Rings of the bell are used up.
    [[nodiscard]] std::optional<std::pair<Name, Inlet>> accept();
    /// A stream to the endpoint with that name. `again`: its queue is full, or a resource is short.
    [[nodiscard]] Reached connect(const Name& to, std::optional<Outlet>& outlet);
    /// Wakes the thread of that endpoint; also tells whether anybody is there.
    Reached ring(const Name& to) noexcept { return send(to, "", 1, -1); }

  private:
    [[nodiscard]] Reached send(const Name& to, const void* message, std::size_t bytes, int descriptor) noexcept;

    Name name_;
    UniqueFd socket_;
};

}  // namespace duofi::sim
