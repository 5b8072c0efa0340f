// The receiving half of an endpoint: packets in the order and at the time of their delivery, matching of messages with
// the buffers posted for them, access to memory of this process. Lock of the endpoint held.
#pragma once

#include <deque>
#include <list>
#include <map>
#include <memory>
#include <vector>

#include "sim_fabric/link_model.hpp"
#include "sim_fabric/transmitter.hpp"

namespace duofi::sim {

/// A posted buffer.
struct Receive {
    bool tagged = false;
    std::uint64_t tag = 0, ignore = 0;
    void* context = nullptr;
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    void* descriptor = nullptr;
};

class Receiver {
  public:
    Receiver(Endpoint& endpoint, std::uint64_t order) : endpoint_(endpoint), order_(order) {}

    void post(const Receive& receive);
    /// The buffer, if nothing has come for it, ends with FI_ECANCELED.
    void cancel(void* context);
    [[nodiscard]] std::size_t posted() const noexcept { return posted_[0].size() + posted_[1].size(); }

    void add(Name from, Inlet inlet);
    /// Takes what has arrived and delivers what is due. False: there was nothing.
    bool progress(Nanoseconds now);
    /// Time of the next delivery, 0 without one.
    [[nodiscard]] Nanoseconds next_due() const noexcept { return waiting_.empty() ? 0 : waiting_.begin()->first; }
    /// Asks senders to ring. False: something has arrived.
    [[nodiscard]] bool fall_asleep() noexcept;
    void end_all();

  private:
    struct Partial {
        std::size_t received = 0;
        bool good = true;
    };
    struct Message {
        Head head;
        Name from;
        std::vector<std::byte> buffer{};  ///< as long as there is no receive
        Receive receive{};
        bool matched = false, good = true;
        std::size_t received = 0;
    };
    using Messages = std::list<Message>;
    struct Flow {
        Name from;
        Inlet inlet;
        Order order;
        std::size_t waiting = 0;                    ///< packets not delivered yet
        std::map<std::uint64_t, Partial> writes{};  ///< by operation
        std::map<std::uint64_t, Messages::iterator> messages{};
    };
    struct Arrival {
        Flow* flow;
        Packet packet;
    };

    void arrive(Flow& flow, Packet packet, Nanoseconds now);
    void deliver(Flow& flow, Packet& packet);
    void on_message(Flow& flow, const Packet& packet);
    void on_write(Flow& flow, const Packet& packet);
    void on_atomic(Flow& flow, const Packet& packet);
    void tell_remote_write(const Name& from, const Head& head);
    [[nodiscard]] bool match(Message& message);
    void take_bytes(Message& message, std::size_t offset, const std::byte* data, std::size_t bytes);
    void finish(Message& message);
    void end_flow(Flow& flow);
    void refuse(const Name& to, const Head& head);
    void fail(const Receive& receive, Failure failure);

    Endpoint& endpoint_;
    const std::uint64_t order_;
    std::vector<std::unique_ptr<Flow>> flows_;
    std::multimap<Nanoseconds, Arrival> waiting_;
    std::deque<Receive> posted_[2];  ///< untagged, tagged
    Messages messages_;              ///< not complete, or not matched, in the order of their arrival
    std::deque<std::pair<Name, Head>> writes_without_receive_;
};

}  // namespace duofi::sim
