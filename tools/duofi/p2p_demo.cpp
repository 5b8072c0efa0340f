#include "tools/duofi/p2p_demo.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "common/bootstrap/local_spawn.hpp"
#include "common/util/host_identity.hpp"
#include "common/util/settings.hpp"
#include "tools/duofi/p2p_ranks.hpp"
#include "tools/duofi/ring.hpp"

namespace duofi::tool {
namespace {

constexpr std::size_t kElementBytes = sizeof(float);
constexpr std::size_t kPeriod = 17;  // of the values, small enough for exact sums

unsigned rounds_for(const DemoOptions& options, std::size_t bytes) {
    if (options.iterations > 0) return options.iterations;
    if (bytes <= 64 * 1024) return 100;
    return bytes <= 1024 * 1024 ? 20 : 8;
}

float element(int rank, unsigned round, std::size_t i) {
    return static_cast<float>((static_cast<std::size_t>(rank) * 3 + round + i) % kPeriod);
}

template <typename T>
Outcome<std::vector<T>> gather(bootstrap::Store& store, const char* name, const T& mine,
                               Nanoseconds limit) {
    const auto own = std::span(reinterpret_cast<const std::byte*>(&mine), sizeof(T));
    auto values = store.gather(name, own, Deadline(limit));
    if (!values) return failed(fmt::format("{}: {}", name, describe(values.error())));
    std::vector<T> all(values->size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        if ((*values)[i].size() != sizeof(T))
            return failed(fmt::format("{}: rank {} differs", name, i));
        std::memcpy(&all[i], (*values)[i].data(), sizeof(T));
    }
    return all;
}

Outcome<bool> on_one_node(bootstrap::Store& store, Nanoseconds limit) {
    const auto all = gather(store, "p2p node", read_host_identity().boot_hash, limit);
    if (!all) return failed(all.error());
    return std::ranges::all_of(*all, [&](std::uint64_t hash) { return hash == all->front(); });
}

class P2pDemo {
  public:
    P2pDemo(const DemoOptions& options, bootstrap::Store& store)
        : options_(options),
          store_(store),
          limit_(static_cast<Nanoseconds>(options.step_limit_s * kSecond)) {}

    Outcome<DemoSums> run();

  private:
    /// How the ranks reach each other: over memory, over the network although they share a node, or
    /// as if two of them did each.
    enum class Way { shared_memory, network, mixed };
    Outcome<DemoSums> run_way(Way way, std::size_t begin);
    Outcome<void> open(Way way);
    Outcome<std::string> edges() const;
    Outcome<RingTotals> run_size(std::size_t count, unsigned rounds);
    Outcome<void> run_round(std::size_t count, unsigned round, RingTotals* totals);
    void check(std::size_t count, unsigned round, RingTotals& totals) const;
    [[nodiscard]] std::string heading(Way way, const std::string& edges, std::size_t begin) const;
    [[nodiscard]] DemoRow row(Way way, std::size_t count, unsigned rounds,
                              const RingTotals& totals) const;
    [[nodiscard]] static const char* name_of(Way way);

    const DemoOptions& options_;
    bootstrap::Store& store_;
    Nanoseconds limit_;
    P2pRank p2p_;
    std::vector<float> input_, output_;
    unsigned round_ = 0;  // over the whole run, so that no two have the same values
};

const char* P2pDemo::name_of(Way way) {
    return way == Way::shared_memory ? "shared memory" : way == Way::network ? "network" : "mixed";
}

/// What a communicator reads when it is made; gone again afterwards.
class WaySettings {
  public:
    WaySettings(bool network, bool mixed, int rank) {
        const std::string node = "node" + std::to_string(rank / 2);
        if (network) ::setenv("NCCL_P2P_DISABLE", "1", 1);
        if (mixed) ::setenv("NCCL_HOSTID", node.c_str(), 1);
        network_ = network;
        mixed_ = mixed;
    }
    ~WaySettings() {
        if (network_) ::unsetenv("NCCL_P2P_DISABLE");
        if (mixed_) ::unsetenv("NCCL_HOSTID");
    }
    WaySettings(const WaySettings&) = delete;
    WaySettings& operator=(const WaySettings&) = delete;

  private:
    bool network_ = false, mixed_ = false;
};

Outcome<void> P2pDemo::open(Way way) {
    const WaySettings settings(way == Way::network, way == Way::mixed, store_.rank());
    std::uint16_t port = 0;
    if (store_.rank() == 0) {
        const auto free = bootstrap::free_port();
        if (!free) return failed(describe(free.error()));
        port = *free;
    }
    const auto ports = gather(store_, "p2p port", port, limit_);
    if (!ports) return failed(ports.error());
    auto opened = P2pRank::open(store_.rank(), store_.size(), ports->front(), limit_);
    if (!opened) return failed(opened.error());
    p2p_ = std::move(*opened);
    const std::size_t largest = std::max<std::size_t>(1, options_.end / kElementBytes);
    input_.resize(largest);
    output_.resize(largest);
    return {};
}

void P2pDemo::check(std::size_t count, unsigned round, RingTotals& totals) const {
    std::array<float, kPeriod> expected{};
    for (std::size_t i = 0; i < kPeriod; ++i)
        for (int rank = 0; rank < store_.size(); ++rank) expected[i] += element(rank, round, i);
    for (std::size_t i = 0; i < count; ++i)
        if (output_[i] != expected[i % kPeriod]) totals.wrong_bytes += kElementBytes;
    totals.checked_bytes += count * kElementBytes;
}

Outcome<void> P2pDemo::run_round(std::size_t count, unsigned round, RingTotals* totals) {
    for (std::size_t i = 0; i < count; ++i) input_[i] = element(store_.rank(), round, i);
    std::fill_n(output_.begin(), count, -1.0F);
    float ready = 0, all_ready = 0;  // nobody's preparation is part of another's time
    if (auto done = p2p_.all_reduce(&ready, &all_ready, 1); !done) return done;
    const Nanoseconds start = now_ns();
    if (auto done = p2p_.all_reduce(input_.data(), output_.data(), count); !done) return done;
    totals->time_ns += static_cast<std::uint64_t>(now_ns() - start);
    check(count, round, *totals);
    return {};
}

/// The totals of all ranks.
Outcome<RingTotals> P2pDemo::run_size(std::size_t count, unsigned rounds) {
    RingTotals warmup, mine;
    for (unsigned i = 0; i < options_.warmup; ++i)
        if (auto done = run_round(count, round_++, &warmup); !done) return failed(done.error());
    for (unsigned i = 0; i < rounds; ++i)
        if (auto done = run_round(count, round_++, &mine); !done) return failed(done.error());
    mine.slowest_ns = mine.time_ns;
    mine.wrong_bytes += warmup.wrong_bytes;
    mine.checked_bytes += warmup.checked_bytes;
    const auto all = gather(store_, "p2p totals", mine, limit_);
    if (!all) return failed(all.error());
    RingTotals sum;
    for (const RingTotals& one : *all) {
        sum.time_ns += one.time_ns;
        sum.slowest_ns = std::max(sum.slowest_ns, one.slowest_ns);
        sum.wrong_bytes += one.wrong_bytes;
        sum.checked_bytes += one.checked_bytes;
    }
    return sum;
}

/// How rank 0 reaches the next one, and rank 1, if that is another way.
Outcome<std::string> P2pDemo::edges() const {
    std::array<char, 32> mine{};
    p2p_.edge_to_next().copy(mine.data(), mine.size() - 1);
    const auto all = gather(store_, "p2p edges", mine, limit_);
    if (!all) return failed(all.error());
    std::string text = all->front().data();
    if (all->size() > 1 && (*all)[1] != all->front()) text += std::string(" and ") + (*all)[1].data();
    return text;
}

std::string P2pDemo::heading(Way way, const std::string& edges, std::size_t begin) const {
    return fmt::format(
        "#\n# {}: all-reduce of {} ranks in a ring, sums of floats; every element is "
        "checked\n"
        "# next rank by {}; {}\n"
        "# sizes {} to {}; time = one operation, mean over ranks; busbw = algbw x 2({}-1)/{}\n#\n",
        name_of(way), store_.size(), edges, p2p_.version(), begin, options_.end, store_.size(),
        store_.size());
}

DemoRow P2pDemo::row(Way way, std::size_t count, unsigned rounds,
                     const RingTotals& totals) const {
    const double ranks = store_.size();
    DemoRow row;
    row.provider = way == Way::shared_memory ? "shared_memory" : name_of(way);
    row.table = "p2p";
    row.type = "float";
    row.ranks = store_.size();
    row.count = count;
    row.bytes = count * kElementBytes;
    row.iterations = rounds;
    row.time_us = static_cast<double>(totals.time_ns) / 1e3 / ranks / rounds;
    row.slowest_time_us = static_cast<double>(totals.slowest_ns) / 1e3 / rounds;
    row.algbw = row.time_us > 0 ? static_cast<double>(row.bytes) / row.time_us / 1e3 : 0;
    row.busbw = row.algbw * 2 * (ranks - 1) / ranks;
    row.checked_bytes = totals.checked_bytes;
    row.wrong_bytes = totals.wrong_bytes;
    return row;
}

Outcome<DemoSums> P2pDemo::run() {
    const bool prints = store_.rank() == 0;
    const auto near = on_one_node(store_, limit_);
    if (!near) return failed(near.error());
    if (!*near) {
        if (prints && options_.form == Form::table)
            print_result("#\n# shared memory: left out, the ranks are on several nodes\n");
        return DemoSums{};
    }
    auto sums = run_way(Way::shared_memory, options_.begin);
    // Two ranks have one kind of edge only; a user who chose the nodes has chosen the ways.
    const bool chosen = environment_value("NCCL_HOSTID") || environment_value("NCCL_P2P_DISABLE");
    if (store_.size() < 3 || chosen) return sums;
    for (const Way way : {Way::network, Way::mixed}) {
        if (!sums) return sums;
        const auto more = run_way(way, options_.end);
        if (!more) return more;
        sums->checked_bytes += more->checked_bytes;
        sums->wrong_bytes += more->wrong_bytes;
    }
    return sums;
}

/// A table of the sizes from `begin` on.
Outcome<DemoSums> P2pDemo::run_way(Way way, std::size_t begin) {
    const bool prints = store_.rank() == 0;
    if (auto opened = open(way); !opened) return failed(opened.error());
    const auto reached = edges();
    if (!reached) return failed(reached.error());
    DemoTable table(options_.form, false);
    if (prints) table.begin(heading(way, *reached, begin));
    DemoSums sums;
    for (std::size_t bytes = begin; bytes <= options_.end; bytes *= options_.factor) {
        const std::size_t count = std::max<std::size_t>(1, bytes / kElementBytes);
        const unsigned rounds = rounds_for(options_, bytes);
        const auto totals = run_size(count, rounds);
        if (!totals) return failed(totals.error());
        if (prints) table.add(row(way, count, rounds, *totals));
        sums.checked_bytes += totals->checked_bytes;
        sums.wrong_bytes += totals->wrong_bytes;
    }
    if (auto closed = p2p_.close(); !closed) return failed(closed.error());
    if (prints) table.end(store_.size());
    return sums;
}

}  // namespace

Outcome<DemoSums> run_p2p_demo(const DemoOptions& options, bootstrap::Store& store) {
    return P2pDemo(options, store).run();
}

}  // namespace duofi::tool
