// A list of sends and of (grouped) receives that both ends of a link carry out at once, with
// windows, a chosen order of the two sides, and every byte, size and guard zone checked. The core
// of the conformance tests. Collective over the group; each rank from one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/support/net_link.hpp"

namespace duofi::test {

struct SendSpec {
    int bytes = 0;
    int tag = 0;
};

struct PartSpec {
    int bytes = 0;  ///< posted size
    int tag = 0;
};

using RecvSpec = std::vector<PartSpec>;  ///< 1 to 8 parts

enum class Lead {
    free,            ///< random interleaving
    sender_first,    ///< sends are offered before any rank posted a receive
    receiver_first,  ///< a window of receives is posted before any rank sends
};

struct Plan {
    std::vector<SendSpec> sends;
    std::vector<RecvSpec> recvs;
    int send_window = 32;
    int recv_window = 32;
    Lead lead = Lead::free;
    std::uint64_t seed = 1;           ///< of data and of random choices
    bool null_when_empty = false;     ///< 0-byte parts carry NULL data and NULL mhandle
    bool sometimes_no_sizes = false;  ///< some tests pass NULL sizes
    bool sending = true;              ///< false: this rank posts none of the sends
    bool receiving = true;            ///< false: this rank posts none of the receives

    void add(int send_bytes, int recv_bytes, int tag = 7) {
        sends.push_back({send_bytes, tag});
        recvs.push_back({{recv_bytes, tag}});
    }
};

/// Index into plan.sends of each part, receives flattened in posting order: the k-th send of a tag
/// fills the k-th part with that tag. Throws when the plan leaves a send or a part alone.
[[nodiscard]] std::vector<std::size_t> match_plan(const Plan& plan);

/// Sends over `send`, receives over `recv`, on which the sends of rank `from` arrive.
void run_plan(Rank& rank, const Comm& send, const Comm& recv, const Plan& plan, int from);

/// The usual case: a link between partners.
inline void run_plan(Rank& rank, const Link& link, const Plan& plan) {
    run_plan(rank, link.send, link.recv, plan, partner_of(rank));
}

}  // namespace duofi::test
