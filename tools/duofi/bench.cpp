#include "tools/duofi/bench.hpp"

#include <fmt/core.h>
#include <sys/mman.h>

#include <array>
#include <fstream>
#include <new>
#include <thread>

#include "common/bootstrap/local_spawn.hpp"
#include "common/ofi/quirks.hpp"
#include "tools/duofi/bench_pair.hpp"
#include "tools/duofi/bench_table.hpp"
#include "tools/duofi/gin_cost.hpp"
#include "tools/duofi/outcome.hpp"
#include "tools/duofi/p2p_bench.hpp"
#include "tools/duofi/report.hpp"

namespace duofi::tool {
namespace {

constexpr Nanoseconds kSetupLimit = 60 * kSecond;

/// The provider without a network: what is left there is the plugin's own cost.
std::string same_node_provider() {
    for (const ofi::Quirk& quirk : ofi::quirk_table())
        if (quirk.same_node_only) return std::string(quirk.name);
    return "default";
}

/// A BenchResult that the two processes and their parent see.
class SharedResult {
  public:
    SharedResult()
        : memory_(::mmap(nullptr, sizeof(BenchResult), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
        if (memory_ != MAP_FAILED) new (memory_) BenchResult;
    }
    ~SharedResult() {
        if (memory_ != MAP_FAILED) ::munmap(memory_, sizeof(BenchResult));
    }
    SharedResult(const SharedResult&) = delete;
    SharedResult& operator=(const SharedResult&) = delete;
    [[nodiscard]] BenchResult* get() const noexcept {
        return memory_ == MAP_FAILED ? nullptr : static_cast<BenchResult*>(memory_);
    }

  private:
    void* memory_;
};

/// What the measurements take when every one is repeated and slow, and the set-up.
Nanoseconds run_limit(const BenchOptions& options) {
    const double seconds = options.rounds * options.measurement_s * kMaxCells * 10;
    return kSetupLimit + static_cast<Nanoseconds>(seconds * kSecond);
}

/// Runs the pair; the text of an error names the rank that failed.
Outcome<void> run_pair(const std::string& provider, const BenchOptions& options,
                       BenchResult& result) {
    auto channels = PairChannel::create();
    if (!channels) return failed(describe(channels.error()));
    std::array<PairChannel*, 2> ends{&channels->first, &channels->second};
    bootstrap::SpawnRequest request;
    request.size = 2;
    request.timeout = run_limit(options);
    const auto outcome = bootstrap::run_ranks(request, [&](int rank) {
        const auto own = static_cast<std::size_t>(rank);
        PairChannel channel = std::move(*ends[own]);
        ends[1 - own]->close();  // so that a dead peer reads as the end of the file
        return run_bench_rank(rank, std::move(channel), provider, options, result);
    });
    if (!outcome) return failed(describe(outcome.error()));
    if (outcome->ok()) return {};
    if (result.error[0] != '\0') return failed(result.error.data());
    return failed(outcome->summary());
}

Outcome<void> write_csv(const std::string& path, const BenchResult& result, bool first) {
    std::ofstream file(path, first ? std::ios::trunc : std::ios::app);
    const std::vector<Record> records = sample_records(result);
    if (first && !records.empty()) file << csv_header(records.front());
    for (const Record& record : records) file << csv_row(record);
    file.flush();
    if (!file) return failed("cannot write " + path);
    return {};
}

void print_pair(const BenchOptions& options, const BenchResult& result) {
    if (!options.json) {
        const auto cores = static_cast<int>(std::thread::hardware_concurrency());
        print_result(bench_header(result, cores) + bench_rows(result) + "\n");
        return;
    }
    for (const Record& record : bench_records(result)) print_result(json_line("bench", record));
}

/// Part of the time of one measurement; the rows are many and need no network.
constexpr double kProxyShare = 0.25;

int run_proxy_cost(const BenchOptions& options) {
    const auto rows = measure_proxy_cost(options.rounds, options.measurement_s * kProxyShare);
    if (!rows) {
        complain(rows.error());
        return kFailedCheck;
    }
    if (!options.json) print_result(proxy_cost_table(*rows));
    if (options.json)
        for (const Record& record : proxy_cost_records(*rows))
            print_result(json_line("bench_proxy", record));
    return kOk;
}

int run_p2p_cost(const BenchOptions& options) {
    const auto rows = measure_p2p_cost(options.rounds, options.measurement_s);
    if (!rows) {
        complain(rows.error());
        return kFailedCheck;
    }
    if (!options.json) print_result(p2p_cost_table(*rows));
    if (options.json)
        for (const Record& record : p2p_cost_records(*rows))
            print_result(json_line("bench_p2p", record));
    return kOk;
}

struct Tally {
    int measured = 0, failures = 0;
    void fail(const std::string& text) {
        complain(text);
        ++failures;
    }
};

/// One provider, one part: two processes of their own, so that nothing else is open in them.
void measure_pair(const std::string& provider, Part part, const BenchOptions& options,
                  Tally& tally) {
    const SharedResult shared;
    if (!shared.get()) return tally.fail("no memory for the results");
    BenchResult& result = *shared.get();
    result.part = part;
    const std::string name = provider == "default" ? "" : provider;
    if (auto done = run_pair(name, options, result); !done) {
        const std::string text = fmt::format("{}, {}: {}", provider, to_string(part), done.error());
        return result.no_device ? complain(text) : tally.fail(text);
    }
    print_pair(options, result);
    const bool first = tally.measured++ == 0;
    if (options.csv_file.empty()) return;
    if (auto written = write_csv(options.csv_file, result, first); !written)
        tally.fail(written.error());
}

int run_pairs(const BenchOptions& options) {
    std::vector<std::string> providers = options.providers;
    if (providers.empty()) providers = {"default", same_node_provider()};
    std::vector<Part> parts{Part::two_sided, Part::one_sided};
    if (options.one_sided_only) parts.erase(parts.begin());
    Tally tally;
    for (const std::string& provider : providers)
        for (const Part part : parts) measure_pair(provider, part, options, tally);
    if (tally.failures > 0) return kFailedCheck;
    return tally.measured > 0 ? kOk : kSkipped;
}

}  // namespace

int run_bench(const BenchOptions& options) {
    if (options.p2p_only) return run_p2p_cost(options);
    const int pairs = options.proxy_only ? kOk : run_pairs(options);
    if (pairs == kFailedCheck || options.one_sided_only) return pairs;
    // Who names providers wants to know about those.
    const bool everything = !options.proxy_only && options.providers.empty();
    if (everything && run_p2p_cost(options) != kOk) return kFailedCheck;
    const int proxy = run_proxy_cost(options);
    return proxy == kOk ? pairs : proxy;
}

}  // namespace duofi::tool
