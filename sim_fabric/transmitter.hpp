// The sending half of an endpoint: operations under way, and a link to each destination with what still has to leave.
// Lock of the endpoint held.
#pragma once

#include <rdma/fi_endpoint.h>

#include <deque>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim_fabric/faults.hpp"
#include "sim_fabric/port.hpp"

namespace duofi::sim {

class Endpoint;

/// What a call asks for.
struct Post {
    Head head{};                    ///< kind, flags, tag, data, address, key, atomic operation
    std::uint64_t flags = 0;        ///< FI_INJECT, FI_DELIVERY_COMPLETE, FI_FENCE, FI_REMOTE_CQ_DATA
    bool silent = false;            ///< an inject call: never a completion
    void* context = nullptr;
    fi_addr_t to = 0;
    void* data = nullptr;           ///< sent bytes, or where read bytes go
    std::size_t bytes = 0;
    void* descriptor = nullptr;
    void* old_values = nullptr;     ///< where an atomic operation puts them
};

class Transmitter {
  public:
    explicit Transmitter(Endpoint& endpoint) : endpoint_(endpoint) {}

    /// 0, -FI_EAGAIN or another negative code.
    [[nodiscard]] ssize_t post(const Post& post);
    /// Tells the sender of an operation what became of it.
    void answer(const Name& to, std::uint64_t op, int error = 0, int provider_error = 0);
    /// Sends memory that a peer reads; it is looked up for each part.
    void answer_read(const Name& to, const Head& request);
    void answer_atomic(const Name& to, std::uint64_t op, std::vector<std::byte> old_values);

    void on_ack(const Head& head) { finish(head.op, head.error, head.provider_error); }
    void on_data(const Packet& packet);

    /// Pushes what can leave; looks now and then whether peers are still there.
    void progress(Nanoseconds now);
    [[nodiscard]] bool idle() const noexcept { return operations_.empty() && pending_ == 0; }
    [[nodiscard]] bool anything_to_push() const noexcept { return pending_ != 0; }
    /// The endpoint closes or is cut off: everything under way ends, with completions of that error unless 0. `late_at`:
    /// instead they complete well, at that time.
    void end_all(int error, Nanoseconds late_at);

  private:
    struct Job {
        Head head;
        const std::byte* data = nullptr;
        void* descriptor = nullptr;
        std::vector<std::byte> owned{};
        std::size_t sent = 0;
    };
    struct Link {
        Name to;
        std::optional<Outlet> outlet{};
        std::deque<Job> jobs{};
        std::size_t in_flight = 0;
        Nanoseconds checked_at = 0, lost_at = 0;
    };
    struct Operation {
        Kind kind;
        bool report;
        std::uint64_t flags;
        void* context;
        Link* link;
        std::byte* into;
        std::size_t into_bytes, received;
    };

    [[nodiscard]] Link& link_to(const Name& name);
    [[nodiscard]] ssize_t refuse(const Post& post, const Link& link);
    void enqueue(Link& link, Job job);
    void push(Link& link, Nanoseconds now);
    [[nodiscard]] Pushed push_part(Link& link, Job& job, Nanoseconds now);
    [[nodiscard]] bool connect(Link& link, Nanoseconds now);
    void watch(Link& link, Nanoseconds now);
    void lose(Link& link);
    void finish(std::uint64_t id, int error, int provider_error);
    [[nodiscard]] std::vector<std::uint64_t> operations_on(const Link* link) const;

    Endpoint& endpoint_;
    std::map<Name, Link> links_;
    std::unordered_map<std::uint64_t, Operation> operations_;
    std::uint64_t next_ = 0;
    std::size_t pending_ = 0;  ///< jobs in all links
};

}  // namespace duofi::sim
