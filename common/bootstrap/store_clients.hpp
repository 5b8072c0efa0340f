// The clients of a store: connections, greetings, requests, answers. Never waits for any of them.
// One thread, except dropped().
#pragma once

#include <poll.h>

#include <atomic>
#include <cstddef>
#include <list>
#include <span>
#include <string>
#include <vector>

#include "common/bootstrap/store_table.hpp"
#include "common/bootstrap/store_wire.hpp"
#include "common/util/clock.hpp"
#include "common/util/unique_fd.hpp"

namespace duofi::bootstrap {

/// Strangers until they greet, ranks afterwards (report A11).
class StoreClients {
  public:
    StoreClients(int size, Nanoseconds greeting_time)
        : size_(size), greeting_time_(greeting_time), table_(size) {}

    /// Takes a new connection (non-blocking socket); `address` is for the log.
    void add(UniqueFd fd, std::string address);

    /// Appends one entry per client, in an order that handle() knows until the next sweep().
    void append_to(std::vector<pollfd>& set) const;
    /// `events` are the entries that append_to() appended, after poll.
    void handle(std::span<const pollfd> events);
    /// Drops who has been silent for too long and forgets closed connections.
    void sweep();

    /// `longest`, or less when a stranger's time ends before.
    [[nodiscard]] Nanoseconds wait_time(Nanoseconds longest) const;
    /// Some answer has not left yet.
    [[nodiscard]] bool unsent() const;
    void close_all() { clients_.clear(); }
    /// Any thread.
    [[nodiscard]] int dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }

  private:
    static constexpr int kStranger = -1;

    struct Client {
        explicit Client(Nanoseconds greeting_time) : hello_by(greeting_time) {}
        UniqueFd fd;
        std::string address;
        int rank = kStranger;
        Deadline hello_by;
        Bytes input;
        Bytes output;
        std::size_t output_sent = 0;
        bool ends = false;  ///< close once the output is out
        bool closed = false;
        bool farewell = false;
        const char* broken = nullptr;  ///< why the next sweep drops it
    };

    void read_from(Client& client);
    void take_input(Client& client);
    void take_hello(Client& client);
    void answer(const Answers& answers);
    void queue(Client& client, const wire::Response& response);
    void flush(Client& client);
    void drop(Client& client, const char* why);
    void lost(Client& client);
    void limit_strangers();
    [[nodiscard]] Client* client_of(int rank);

    int size_;
    Nanoseconds greeting_time_;
    StoreTable table_;
    std::list<Client> clients_;
    std::atomic<int> dropped_{0};
};

}  // namespace duofi::bootstrap
