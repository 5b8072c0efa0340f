#include "tools/duofi/demo_rank.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "common/bootstrap/tcp_store.hpp"
#include "common/util/version.hpp"
#include "tools/duofi/demo_table.hpp"
#include "tools/duofi/gin_demo.hpp"
#include "tools/duofi/net_opening.hpp"
#include "tools/duofi/p2p_demo.hpp"
#include "tools/duofi/pattern.hpp"
#include "tools/duofi/ring.hpp"

namespace duofi::tool {
namespace {

constexpr std::size_t kBufferLimit = std::size_t{32} << 20;  // per direction and rank
constexpr double kGiga = 1e9;

/// Enough to be a measurement, few enough that all sizes end within a minute on two slow cores.
unsigned iterations_for(const DemoOptions& options, std::size_t bytes) {
    if (options.iterations > 0) return options.iterations;
    if (bytes <= 64 * 1024) return 40;
    return bytes <= 1024 * 1024 ? 16 : 8;
}

struct SizeResult {
    std::size_t bytes = 0;
    unsigned iterations = 0;
    RingTotals totals;
};

double time_us(const SizeResult& result, int ranks) {
    return static_cast<double>(result.totals.time_ns) / 1e3 / ranks / result.iterations;
}

double bandwidth(const SizeResult& result, int ranks) {
    const double seconds = time_us(result, ranks) * 1e-6;
    return seconds > 0 ? static_cast<double>(result.bytes) / seconds / kGiga : 0;
}

class DemoRank {
  public:
    DemoRank(const DemoOptions& options, const bootstrap::LaunchFacts& facts,
             const std::string& started_by)
        : options_(options), facts_(facts), started_by_(started_by) {}
    Outcome<int> run();

  private:
    Outcome<Ring> open_ring();
    Outcome<SizeResult> run_size(Ring& ring, std::size_t bytes);
    Outcome<void> run_batch(Ring& ring, std::size_t bytes, unsigned count, RingTotals& mine);
    [[nodiscard]] std::string heading(const Ring& ring) const;
    [[nodiscard]] std::string device_name() const;
    [[nodiscard]] DemoRow row(const SizeResult& result, int ranks) const;
    Outcome<DemoSums> run_ring();
    [[nodiscard]] unsigned depth() const;

    const DemoOptions& options_;
    const bootstrap::LaunchFacts& facts_;
    const std::string& started_by_;
    std::optional<OpenNet> net_;
    bootstrap::Session session_;
    int device_ = 0;
    std::uint64_t iteration_ = 0;  // counts over the whole run, so that no two messages are equal
};

unsigned DemoRank::depth() const {
    const std::size_t fit = kBufferLimit / std::max<std::size_t>(options_.end, 1);
    return static_cast<unsigned>(std::clamp<std::size_t>(fit, 1, kRingDepth));
}

std::string DemoRank::device_name() const {
    ncclNetProperties_v6_t properties{};
    if (net_->table->getProperties(device_, &properties) != ncclSuccess || !properties.name)
        return "unknown";
    return properties.name;
}

Outcome<Ring> DemoRank::open_ring() {
    const auto limit = static_cast<Nanoseconds>(options_.step_limit_s * kSecond);
    auto session = bootstrap::open_session(facts_, Deadline(limit));
    if (!session)
        return failed(fmt::format("rank {}: store at {}:{}: {}", facts_.rank, facts_.root_host,
                                  facts_.root_port, describe(session.error())));
    session_ = std::move(*session);
    auto net = open_and_init();
    if (!net) return failed(fmt::format("rank {}: {}", facts_.rank, net.error()));
    net_.emplace(std::move(*net));
    if (net_->devices < 1) return failed(fmt::format("rank {}: no devices", facts_.rank));
    device_ = facts_.local_rank % net_->devices;
    return Ring::open({net_->table, device_, options_.end, depth(), limit}, *session_.store);
}

Outcome<void> DemoRank::run_batch(Ring& ring, std::size_t bytes, unsigned count, RingTotals& mine) {
    const auto key = [&](int rank, unsigned slot) {
        return PatternKey{static_cast<std::uint64_t>(rank), bytes, iteration_ + slot};
    };
    if (auto done = ring.post_receives(count, bytes); !done) return done;
    for (unsigned i = 0; i < count; ++i) fill_pattern(ring.tx(i, bytes), key(ring.rank(), i));
    const Nanoseconds start = now_ns();
    if (auto done = ring.send_and_wait(count, bytes); !done) return done;
    mine.time_ns += static_cast<std::uint64_t>(now_ns() - start);
    for (unsigned i = 0; i < count; ++i) {
        mine.wrong_bytes += count_wrong(ring.rx(i, bytes), key(ring.previous(), i));
        mine.checked_bytes += bytes;
    }
    iteration_ += count;
    return {};
}

Outcome<SizeResult> DemoRank::run_size(Ring& ring, std::size_t bytes) {
    SizeResult result{bytes, iterations_for(options_, bytes), {}};
    const auto run = [&](unsigned iterations, RingTotals& mine) -> Outcome<void> {
        for (unsigned done = 0; done < iterations;) {
            const unsigned count = std::min(depth(), iterations - done);
            if (auto batch = run_batch(ring, bytes, count, mine); !batch) return batch;
            done += count;
        }
        return {};
    };
    RingTotals warmup, mine;
    if (auto done = run(options_.warmup, warmup); !done) return failed(done.error());
    if (auto done = run(result.iterations, mine); !done) return failed(done.error());
    mine.slowest_ns = mine.time_ns;
    mine.wrong_bytes += warmup.wrong_bytes;
    mine.checked_bytes += warmup.checked_bytes;
    auto totals = ring.total(mine);
    if (!totals) return failed(totals.error());
    result.totals = *totals;
    return result;
}

Outcome<DemoSums> DemoRank::run_ring() {
    auto ring = open_ring();
    if (!ring) return failed(ring.error());
    const bool prints = ring->rank() == 0;
    DemoTable table(options_.form, true);
    if (prints) table.begin(heading(*ring));
    DemoSums sums;
    for (std::size_t bytes = options_.begin; bytes <= options_.end; bytes *= options_.factor) {
        auto result = run_size(*ring, bytes);
        if (!result) return failed(result.error());
        if (prints) table.add(row(*result, ring->size()));
        sums.checked_bytes += result->totals.checked_bytes;
        sums.wrong_bytes += result->totals.wrong_bytes;
    }
    if (auto done = ring->close(); !done) return failed(done.error());
    if (prints) table.end(ring->size());
    return sums;
}

Outcome<int> DemoRank::run() {
    auto sums = run_ring();
    if (!sums) return failed(sums.error());
    bool ok = sums->ok();
    if (options_.one_sided) {
        const GinDemo demo{net_->plugin.opened_as(), net_->provider};
        const auto one_sided = run_gin_demo(options_, facts_, demo, *session_.store);
        if (!one_sided) return failed(one_sided.error());
        ok = ok && one_sided->ok();
        sums->checked_bytes += one_sided->checked_bytes;
        sums->wrong_bytes += one_sided->wrong_bytes;
    }
    if (options_.shared_memory) {
        const auto summed = run_p2p_demo(options_, *session_.store);
        if (!summed) return failed(summed.error());
        ok = ok && summed->wrong_bytes == 0;
        sums->checked_bytes += summed->checked_bytes;
        sums->wrong_bytes += summed->wrong_bytes;
    }
    // Rank 0 judges the totals; the others end well, so that a launcher does not stop it half-way.
    if (facts_.rank != 0) return kOk;
    print_demo_end(options_.form, *sums);
    return ok ? kOk : kFailedCheck;
}

std::string DemoRank::heading(const Ring& ring) const {
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    return fmt::format(
        "# {} {} demo: {} ranks in a ring, each sends to the next; every byte is checked\n"
        "# provider {}  protocol {}  network {}  table v6  (plugin opened as {}, v{} taken)\n"
        "# library {}\n"
        "# rank facts from {}; rank 0 on {} pid {} device {} {}\n"
        "# sizes {} to {}, factor {}, {} warm-up, up to {} messages in flight\n"
        "# GB/s = 10^9 bytes per second and rank; time = one message, mean over ranks\n#\n",
        kPackageName, kVersion, ring.size(), net_->provider, net_->protocol, net_->plugin.name(),
        net_->plugin.opened_as(), net_->plugin.version(), net_->plugin.library_path(), started_by_,
        host.data(), ::getpid(), device_, device_name(), options_.begin, options_.end,
        options_.factor, options_.warmup, depth());
}

DemoRow DemoRank::row(const SizeResult& result, int ranks) const {
    DemoRow made;
    made.provider = net_->provider;
    made.table = "net_v6";
    made.ranks = ranks;
    made.bytes = result.bytes;
    made.iterations = result.iterations;
    made.time_us = time_us(result, ranks);
    made.slowest_time_us = static_cast<double>(result.totals.slowest_ns) / 1e3 / result.iterations;
    made.algbw = made.busbw = bandwidth(result, ranks);
    made.checked_bytes = result.totals.checked_bytes;
    made.wrong_bytes = result.totals.wrong_bytes;
    return made;
}

}  // namespace

int run_demo_rank(const DemoOptions& options, const bootstrap::LaunchFacts& facts,
                  const std::string& started_by) {
    set_plugin_environment(options.provider);
    if (options.one_sided) set_rma_environment();
    route_logs();
    DemoRank rank(options, facts, started_by);
    const auto code = rank.run();
    if (code) return *code;
    complain(code.error());
    return kFailedCheck;
}

}  // namespace duofi::tool
