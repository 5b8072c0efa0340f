#include "tools/duofi/gin_demo.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

#include "tools/duofi/gin_alltoall.hpp"
#include "tools/duofi/net_opening.hpp"

namespace duofi::tool {
namespace {

/// Source and destination of one rank; larger sizes are left out.
constexpr std::size_t kMemoryLimit = std::size_t{512} << 20;

unsigned rounds_for(const DemoOptions& options, std::size_t bytes) {
    if (options.iterations > 0) return options.iterations;
    if (bytes <= 64 * 1024) return 20;
    return bytes <= 1024 * 1024 ? 8 : 3;
}

AllToAllConfig config_of(const DemoOptions& options, const bootstrap::LaunchFacts& facts,
                         const GinDemo& demo, int ranks) {
    AllToAllConfig config;
    config.request = loader::RmaRequest::from_environment();
    config.request.open.net = demo.net_opened_as;
    config.device = facts.local_rank;
    config.largest = std::min(options.end, kMemoryLimit / 2 / static_cast<std::size_t>(ranks));
    config.limit = static_cast<Nanoseconds>(options.step_limit_s * kSecond);
    return config;
}

std::string heading(const DemoOptions& options, const AllToAll& ranks, const AllToAllConfig& config,
                    const GinDemo& demo, int size) {
    const loader::AssignedRma& rma = ranks.plugin();
    std::string text = fmt::format(
        "#\n# one-sided: each of {} ranks puts to every rank through the GIN proxy; every byte is "
        "checked\n"
        "# provider {}  network {}  table v{}  (plugin asked for as {})\n"
        "# library {}\n"
        "# rank 0 device {}; sizes {} to {}, bytes from one rank to one rank, put and signal\n"
        "# time = one round, mean over ranks; algbw = bytes put by a rank per second, "
        "busbw = without those to itself\n",
        size, demo.provider, rma.name, rma.table.version(),
        config.request.plugin.value_or("the default name"), rma.library, ranks.device_name(),
        options.begin, options.end);
    if (config.largest < options.end)
        text += fmt::format("# sizes above {} are left out: too much memory for {} ranks\n",
                            config.largest, size);
    return text + "#\n";
}

DemoRow row_of(const AllToAll& ranks, const GinDemo& demo, std::size_t bytes, unsigned rounds,
               const AllToAllTotals& totals, int size) {
    DemoRow row;
    row.provider = demo.provider;
    row.table = fmt::format("rma_v{}", ranks.plugin().table.version());
    row.ranks = size;
    row.bytes = bytes;
    row.iterations = rounds;
    row.time_us = static_cast<double>(totals.time_ns) / 1e3 / size / rounds;
    row.slowest_time_us = static_cast<double>(totals.slowest_ns) / 1e3 / rounds;
    const double moved = static_cast<double>(bytes) * size;
    row.algbw = row.time_us > 0 ? moved / row.time_us / 1e3 : 0;
    row.busbw = row.algbw * (size - 1) / size;
    row.checked_bytes = totals.checked_bytes;
    row.wrong_bytes = totals.wrong_bytes;
    return row;
}

}  // namespace

void set_rma_environment() {
    ::setenv("NCCL_RMA_PLUGIN", kDefaultPlugin, 0);
}

Outcome<DemoSums> run_gin_demo(const DemoOptions& options, const bootstrap::LaunchFacts& facts,
                               const GinDemo& demo, bootstrap::Store& store) {
    const int size = store.size();
    const bool prints = store.rank() == 0;
    const AllToAllConfig config = config_of(options, facts, demo, size);
    auto ranks = AllToAll::open(config, store);
    if (!ranks) return failed(ranks.error());
    DemoTable table(options.form, false);
    if (prints) table.begin(heading(options, **ranks, config, demo, size));
    DemoSums sums;
    for (std::size_t bytes = options.begin; bytes <= config.largest; bytes *= options.factor) {
        const unsigned rounds = rounds_for(options, bytes);
        const auto totals = (*ranks)->run(bytes, rounds);
        if (!totals) return failed(totals.error());
        if (prints) table.add(row_of(**ranks, demo, bytes, rounds, *totals, size));
        sums.checked_bytes += totals->checked_bytes;
        sums.wrong_bytes += totals->wrong_bytes;
    }
    if (auto closed = (*ranks)->close(); !closed) return failed(closed.error());
    if (prints) table.end(size);
    return sums;
}

}  // namespace duofi::tool
