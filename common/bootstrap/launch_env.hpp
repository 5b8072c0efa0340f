// Rank facts of this process from explicit options or a launcher's variables (ecosystem 4.2).
// Any thread; values only; nothing is read except through the reader that is passed in.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "common/util/error.hpp"

namespace duofi::bootstrap {

/// Who started the ranks. In order of precedence.
enum class Launcher { options, torchrun, open_mpi, slurm, pmi, none };

[[nodiscard]] const char* to_string(Launcher launcher) noexcept;

/// Facts given on the command line; each wins over the launcher's.
struct ExplicitFacts {
    std::optional<int> rank, size, local_rank;
    std::optional<std::string> root_host;
    std::optional<std::uint16_t> root_port;
};

/// What a rank has to know. `source` says where rank and size come from.
struct LaunchFacts {
    int rank = 0;
    int size = 1;
    int local_rank = 0;
    std::string root_host = "127.0.0.1";
    std::uint16_t root_port = 0;  ///< 0 = not given: rank 0 must choose one and pass it on
    bool root_host_given = false;
    Launcher source = Launcher::none;
};

/// nullopt = variable not set.
using VariableReader = std::function<std::optional<std::string>(const char* name)>;

/// Explicit facts, then torchrun (RANK WORLD_SIZE LOCAL_RANK MASTER_ADDR MASTER_PORT), Open MPI
/// (OMPI_COMM_WORLD_RANK _SIZE _LOCAL_RANK), Slurm (SLURM_PROCID SLURM_NTASKS SLURM_LOCALID), PMI
/// (PMI_RANK PMI_SIZE). A launcher counts when its rank and size variables are both set;
/// MASTER_ADDR and MASTER_PORT are taken with every launcher. Nothing found: source none, rank 0
/// of 1. Logs one INFO line "rank facts from X". Error: Errc::invalid_argument after one WARN line
/// that names variable, value, accepted form.
[[nodiscard]] Result<LaunchFacts> launch_facts(const ExplicitFacts& given = {});
[[nodiscard]] Result<LaunchFacts> launch_facts(const ExplicitFacts& given,
                                               const VariableReader& reader);

}  // namespace duofi::bootstrap
