#include "tools/duofi/demo.hpp"

#include <fmt/core.h>

#include <cstring>
#include <string>

#include "common/bootstrap/launch_env.hpp"
#include "common/bootstrap/local_spawn.hpp"
#include "tools/duofi/demo_rank.hpp"
#include "tools/duofi/outcome.hpp"

namespace duofi::tool {
namespace {

int rank_body(const DemoOptions& options) {
    const auto facts = bootstrap::launch_facts();
    if (!facts) return kFailedCheck;
    return run_demo_rank(options, *facts, "this command, which started the ranks");
}

/// The rank that ended by a signal of its own is the cause, even if one that missed it was reaped
/// first.
std::string cause_of(const bootstrap::SpawnOutcome& outcome) {
    for (const bootstrap::RankExit& rank : outcome.ranks)
        if (rank.signal_number != 0 && !rank.stopped_by_us)
            return fmt::format("rank {} ended by signal {} ({})", rank.rank, rank.signal_number,
                               ::strsignal(rank.signal_number));
    return outcome.summary();
}

int run_local_ranks(const DemoOptions& options) {
    const auto port = bootstrap::free_port();
    if (!port) {
        complain(describe(port.error()));
        return kFailedCheck;
    }
    bootstrap::SpawnRequest request;
    request.size = options.ranks;
    request.root_port = *port;
    request.timeout = static_cast<Nanoseconds>(options.run_limit_s * kSecond);
    const auto outcome = bootstrap::run_ranks(request, [&](int) { return rank_body(options); });
    if (!outcome) {
        complain(describe(outcome.error()));
        return kFailedCheck;
    }
    if (outcome->ok()) return kOk;
    const std::string cause = cause_of(*outcome);
    complain(cause);
    if (options.form == Form::table) print_result("# FAILED: " + cause + "\n");
    return kFailedCheck;
}

}  // namespace

int run_demo(const DemoOptions& options) {
    const auto facts = bootstrap::launch_facts();
    if (!facts) return kUsage;
    if (facts->source != bootstrap::Launcher::none)
        return run_demo_rank(options, *facts, bootstrap::to_string(facts->source));
    return run_local_ranks(options);
}

}  // namespace duofi::tool
