// Traffic with every byte checked, for tests whose subject is something else. Collective over the
// team; each rank from one thread.
#pragma once

#include <cstdint>

#include "tests/support/rma_team.hpp"

namespace duofi::test {

struct ExchangeOptions {
    std::size_t bytes = 3000;  ///< per pair of ranks
    int rounds = 1;
    std::uint64_t seed = 1;
    int context = 0;
};

/// Everybody puts one block with a strong signal into everybody's memory, own rank included; every
/// byte, every signal word and the guards are checked. Registers and releases its own memory. The
/// ranks of the team meet in `rank`'s barrier, so all of them must be members.
void exchange_all(Rank& rank, const RmaTeam& team, const ExchangeOptions& options = {});

/// The same on another context of the team's collComm.
void exchange_all(Rank& rank, const RmaTeam& team, void* context, const ExchangeOptions& options);

/// Puts, a signal, a get and a flush of this rank with itself over memory of its own: works without
/// the help of any other rank. `windows` and `words` are two regions of the team.
void exchange_self(const RmaTeam& team, RmaMemory& window, SignalWords& words, std::uint64_t seed);

}  // namespace duofi::test
