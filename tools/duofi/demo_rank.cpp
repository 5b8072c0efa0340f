#include "tools/duofi/demo_rank.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "common/bootstrap/tcp_store.hpp"
#include "common/util/version.hpp"
#include "tools/duofi/net_opening.hpp"
#include "tools/duofi/pattern.hpp"
#include "tools/duofi/report.hpp"
#include "tools/duofi/ring.hpp"
#include "tools/duofi/table.hpp"

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

Table make_table() {
    return Table({{"size", "B", 12},
                  {"count", "elements", 12},
                  {"type", "", 8},
                  {"time", "us", 12},
                  {"algbw", "GB/s", 9},
                  {"busbw", "GB/s", 9},
                  {"#wrong", "bytes", 8}});
}

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
    void print_header(const Ring& ring) const;
    void print_size(const SizeResult& result, int ranks, bool first) const;
    int print_end(const std::vector<SizeResult>& results, int ranks) const;
    [[nodiscard]] std::string device_name() const;
    [[nodiscard]] Record record(const SizeResult& result, int ranks) const;
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

Outcome<int> DemoRank::run() {
    auto ring = open_ring();
    if (!ring) return failed(ring.error());
    const bool prints = ring->rank() == 0;
    if (prints) print_header(*ring);
    std::vector<SizeResult> results;
    for (std::size_t bytes = options_.begin; bytes <= options_.end; bytes *= options_.factor) {
        auto result = run_size(*ring, bytes);
        if (!result) return failed(result.error());
        if (prints) print_size(*result, ring->size(), results.empty());
        results.push_back(*result);
    }
    if (auto done = ring->close(); !done) return failed(done.error());
    // Rank 0 judges the totals; the others end well, so that a launcher does not stop it half-way.
    return prints ? print_end(results, ring->size()) : kOk;
}

void DemoRank::print_header(const Ring& ring) const {
    if (options_.form != Form::table) return;
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    print_result(fmt::format(
        "# {} {} demo: {} ranks in a ring, each sends to the next; every byte is checked\n"
        "# provider {}  network {}  table v6  (plugin opened as {}, v{} taken)\n"
        "# library {}\n"
        "# rank facts from {}; rank 0 on {} pid {} device {} {}\n"
        "# sizes {} to {}, factor {}, {} warm-up, up to {} messages in flight\n"
        "# GB/s = 10^9 bytes per second and rank; time = one message, mean over ranks\n#\n",
        kPackageName, kVersion, ring.size(), net_->provider, net_->plugin.name(),
        net_->plugin.opened_as(), net_->plugin.version(), net_->plugin.library_path(), started_by_,
        host.data(), ::getpid(), device_, device_name(), options_.begin, options_.end,
        options_.factor, options_.warmup, depth()));
    print_result(make_table().header());
}

Record DemoRank::record(const SizeResult& result, int ranks) const {
    const double algbw = bandwidth(result, ranks);
    return {{"provider", net_->provider},
            {"table", std::string("net_v6")},
            {"ranks", std::int64_t{ranks}},
            {"bytes", std::uint64_t{result.bytes}},
            {"iterations", std::uint64_t{result.iterations}},
            {"time_us_mean", time_us(result, ranks)},
            {"time_us_slowest_rank",
             static_cast<double>(result.totals.slowest_ns) / 1e3 / result.iterations},
            {"algbw_gbytes_per_s", algbw},
            {"busbw_gbytes_per_s", algbw},
            {"checked_bytes", result.totals.checked_bytes},
            {"wrong_bytes", result.totals.wrong_bytes}};
}

void DemoRank::print_size(const SizeResult& result, int ranks, bool first) const {
    if (options_.form == Form::json) return print_result(json_line("demo", record(result, ranks)));
    if (options_.form == Form::csv) {
        const Record row = record(result, ranks);
        return print_result((first ? csv_header(row) : std::string()) + csv_row(row));
    }
    const double algbw = bandwidth(result, ranks);
    print_result(make_table().row({fmt::format("{}", result.bytes), fmt::format("{}", result.bytes),
                                   "uint8", fmt::format("{:.2f}", time_us(result, ranks)),
                                   fmt::format("{:.3f}", algbw), fmt::format("{:.3f}", algbw),
                                   fmt::format("{}", result.totals.wrong_bytes)}));
}

int DemoRank::print_end(const std::vector<SizeResult>& results, int ranks) const {
    std::uint64_t wrong = 0, checked = 0;
    double sum = 0;
    for (const SizeResult& result : results) {
        wrong += result.totals.wrong_bytes;
        checked += result.totals.checked_bytes;
        sum += bandwidth(result, ranks);
    }
    const bool ok = wrong == 0 && checked > 0;
    if (options_.form == Form::json)
        print_result(json_line("demo_end",
                               {{"checked_bytes", checked}, {"wrong_bytes", wrong}, {"ok", ok}}));
    if (options_.form == Form::table)
        print_result(
            fmt::format("# Out of bounds values : {} {}\n# Avg bus bandwidth    : {:.4f}\n"
                        "#\n# {} bytes checked on {} ranks: {}\n",
                        wrong, ok ? "OK" : "FAILED",
                        results.empty() ? 0.0 : sum / static_cast<double>(results.size()), checked,
                        ranks, ok ? "OK" : "FAILED"));
    return ok ? kOk : kFailedCheck;
}

}  // namespace

int run_demo_rank(const DemoOptions& options, const bootstrap::LaunchFacts& facts,
                  const std::string& started_by) {
    set_plugin_environment(options.provider);
    route_logs();
    DemoRank rank(options, facts, started_by);
    const auto code = rank.run();
    if (code) return *code;
    complain(code.error());
    return kFailedCheck;
}

}  // namespace duofi::tool
