// The list of libraries that a caller tries, as a pure function of the settings: nothing is opened.
// Any thread; values only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/loader/host_release.hpp"

namespace duofi::loader {

/// Which plugin interface is looked for.
enum class Flavour { net, rma };

/// One line of the caller's log. `level` and `subsystems` have the callers' values (net
/// contract 2.1).
struct HostLine {
    int level = 0;
    unsigned long subsystems = 0;
    std::string text;
};

/// Where an entry of the list comes from.
enum class Origin {
    environment,   ///< named by NCCL_NET_PLUGIN or NCCL_RMA_PLUGIN
    default_name,  ///< variable unset (net contract 1.1, L-1)
    gin_library,   ///< GIN library that is already open (L-3)
    net_library,   ///< net library that is already open (L-3, L-4)
};

/// One entry with the exact arguments for dlopen, in order. An attempt that is empty means the
/// running program, dlopen(NULL) (net contract 1.2, L-7).
struct Candidate {
    std::string entry;                  ///< list name, as it appears in the caller's lines
    std::vector<std::string> attempts;  ///< first that opens wins
    std::vector<std::string> names;     ///< what the lines call each attempt; same length
    Origin origin = Origin::environment;
};

/// The whole list and the lines that building it prints. The built-in backends that follow in the
/// caller (IB, Socket) are not listed.
struct CandidateList {
    std::vector<Candidate> entries;
    std::vector<HostLine> lines;
};

/// Libraries that the caller has open before it builds an RMA list, by the name it opened them
/// with.
struct OpenLibraries {
    std::optional<std::string> gin;
    std::optional<std::string> net;
};

/// Builds the list. `value` is the variable's value, nullopt = unset; blanks are kept (L-2).
/// Net contract 1.1, 1.2; rma contract L-1 to L-4, L-6, L-7.
[[nodiscard]] CandidateList candidates(Flavour flavour, Host host, int release,
                                       const std::optional<std::string>& value,
                                       const OpenLibraries& open = {});

/// True for every value that is a case-insensitive leading part of STATIC_PLUGIN, also "s" (L-7).
[[nodiscard]] bool means_running_program(const std::string& name) noexcept;

}  // namespace duofi::loader
