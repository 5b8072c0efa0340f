#include "common/bootstrap/launch_env.hpp"

#include <array>
#include <string_view>

#include "common/util/log.hpp"
#include "common/util/messages/bootstrap.hpp"
#include "common/util/parse.hpp"
#include "common/util/settings.hpp"

namespace duofi::bootstrap {
namespace {

constexpr int kMostRanks = 1 << 20;

/// Variables of one launcher; an empty name means that it has no such variable.
struct Names {
    Launcher launcher;
    const char* rank;
    const char* size;
    const char* local_rank;
};

constexpr std::array kLaunchers{
    Names{Launcher::torchrun, "RANK", "WORLD_SIZE", "LOCAL_RANK"},
    Names{Launcher::open_mpi, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
          "OMPI_COMM_WORLD_LOCAL_RANK"},
    Names{Launcher::slurm, "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
    Names{Launcher::pmi, "PMI_RANK", "PMI_SIZE", ""},
};

tl::unexpected<Error> bad_value(std::string_view name, std::string_view value,
                                std::string_view accepted) {
    log::warn(log::init | log::env, messages::kBadLaunchValue, name, value, accepted);
    return fail(Errc::invalid_argument, "launch_facts");
}

Result<int> number(std::string_view name, std::string_view text, int low, int high) {
    const auto value = parse_integer(text, low, high);
    if (value) return static_cast<int>(*value);
    return bad_value(name, text,
                     "an integer from " + std::to_string(low) + " to " + std::to_string(high));
}

/// Values that are consistent among themselves, however they were found.
Status check(const LaunchFacts& facts) {
    if (facts.size < 1 || facts.size > kMostRanks)
        return bad_value("size", std::to_string(facts.size),
                         "an integer from 1 to " + std::to_string(kMostRanks));
    const std::string accepted = "an integer from 0 to " + std::to_string(facts.size - 1);
    if (facts.rank < 0 || facts.rank >= facts.size)
        return bad_value("rank", std::to_string(facts.rank), accepted);
    if (facts.local_rank < 0 || facts.local_rank >= facts.size)
        return bad_value("local rank", std::to_string(facts.local_rank), accepted);
    return {};
}

/// Takes rank and size from one launcher; false when it did not start us.
Result<bool> take_launcher(const Names& names, const VariableReader& reader, LaunchFacts& facts) {
    const auto rank = reader(names.rank);
    const auto size = reader(names.size);
    if (!rank || !size) return false;
    DUOFI_ASSIGN(facts.size, number(names.size, *size, 1, kMostRanks));
    DUOFI_ASSIGN(facts.rank, number(names.rank, *rank, 0, facts.size - 1));
    facts.local_rank = facts.rank;
    if (names.local_rank[0] != '\0') {
        if (const auto local = reader(names.local_rank)) {
            DUOFI_ASSIGN(facts.local_rank, number(names.local_rank, *local, 0, facts.size - 1));
        }
    }
    facts.source = names.launcher;
    return true;
}

Status take_root(const VariableReader& reader, LaunchFacts& facts) {
    if (const auto host = reader("MASTER_ADDR")) {
        if (host->empty()) return bad_value("MASTER_ADDR", *host, "a host name or address");
        facts.root_host = *host;
        facts.root_host_given = true;
    }
    if (const auto port = reader("MASTER_PORT")) {
        DUOFI_ASSIGN(const int value, number("MASTER_PORT", *port, 1, 65535));
        facts.root_port = static_cast<std::uint16_t>(value);
    }
    return {};
}

}  // namespace

const char* to_string(Launcher launcher) noexcept {
    switch (launcher) {
        case Launcher::options:
            return "options";
        case Launcher::torchrun:
            return "torchrun";
        case Launcher::open_mpi:
            return "Open MPI";
        case Launcher::slurm:
            return "Slurm";
        case Launcher::pmi:
            return "PMI";
        case Launcher::none:
            return "no launcher";
    }
    return "unknown";
}

Result<LaunchFacts> launch_facts(const ExplicitFacts& given) {
    return launch_facts(given, [](const char* name) { return environment_value(name); });
}

Result<LaunchFacts> launch_facts(const ExplicitFacts& given, const VariableReader& reader) {
    LaunchFacts facts;
    if (given.rank && given.size) {
        facts.source = Launcher::options;
    } else {
        for (const Names& names : kLaunchers) {
            DUOFI_ASSIGN(const bool found, take_launcher(names, reader, facts));
            if (found) break;
        }
    }
    DUOFI_TRY(take_root(reader, facts));
    if (given.size) facts.size = *given.size;
    if (given.rank) {
        facts.rank = *given.rank;
        facts.local_rank = *given.rank;
    }
    if (given.local_rank) facts.local_rank = *given.local_rank;
    if (given.root_host) {
        facts.root_host = *given.root_host;
        facts.root_host_given = true;
    }
    if (given.root_port) facts.root_port = *given.root_port;
    DUOFI_TRY(check(facts));
    log::info(log::init | log::env, messages::kRankFacts, to_string(facts.source), facts.rank,
              facts.size, facts.local_rank, facts.root_host, facts.root_port);
    return facts;
}

}  // namespace duofi::bootstrap
