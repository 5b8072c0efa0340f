// What a store knows, without any socket: keys, who waits for what, who is gone. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/bootstrap/store_wire.hpp"

namespace duofi::bootstrap {

/// Answers that are due, by rank.
using Answers = std::vector<std::pair<int, wire::Response>>;

/// Keys, barriers and waiting ranks of one run.
class StoreTable {
  public:
    explicit StoreTable(int size) : size_(size) {}

    /// Takes one request. A new request of a rank withdraws the one it still waits for (its caller
    /// gave up).
    void handle(int rank, wire::Request request, Answers& answers);

    /// The connection of a rank ended without a farewell: everybody who waits is told, and so is
    /// every later wait that cannot be served at once.
    void lose(int rank, Answers& answers);

    /// First rank that was lost, -1 if none.
    [[nodiscard]] int lost_rank() const noexcept { return lost_; }
    [[nodiscard]] bool has_left(int rank) const { return left_.contains(rank); }

  private:
    struct Waiting {
        std::uint32_t id = 0;
        wire::Op op = wire::Op::get;
        std::string key;
    };
    void set(int rank, wire::Request& request, Answers& answers);
    void get(int rank, const wire::Request& request, Answers& answers);
    void enter(int rank, const wire::Request& request, Answers& answers);
    void leave(int rank, Answers& answers);
    void fail_barriers(int gone, Answers& answers);
    /// Rank that makes a new wait hopeless, -1 if none.
    [[nodiscard]] int gone_rank(wire::Op op) const;

    int size_;
    int lost_ = -1;
    std::map<std::string, Bytes, std::less<>> values_;
    std::map<std::string, std::set<int>, std::less<>> barriers_;
    std::map<int, Waiting> waiting_;
    std::set<int> left_;
};

}  // namespace duofi::bootstrap
