// Teams of thread ranks on pretended nodes, with the operations that mixed jobs run and check.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "p2p/operations.hpp"
#include "tests/unit/p2p/transport/net_fake.hpp"
#include "tests/unit/p2p/transport/rank_team.hpp"

namespace duofi::p2p::test {

/// `per_node` consecutive ranks share a node. Small buffers, so that every operation has many steps.
[[nodiscard]] Team::Change on_nodes(int per_node, int channels = 1);

/// One rank's operations; each checks every element and returns false after a test failure.
class MixedRank {
  public:
    MixedRank(Communicator& communicator, ProtocolSet allowed = kAllProtocols)
        : communicator_(communicator), operations_(communicator, allowed) {}

    bool all_reduce(std::size_t count);
    bool all_gather(std::size_t count);
    bool reduce_scatter(std::size_t count);
    bool broadcast(std::size_t count, int root);
    bool all_to_all(std::size_t bytes);
    /// To the next rank, from the previous one.
    bool shift(std::size_t bytes);
    /// Every collective and transfer at sizes from nothing to several rounds of the buffers, but for
    /// those of more than `most` bytes per edge.
    bool everything(std::size_t most = 40000);
    [[nodiscard]] Operations& operations() { return operations_; }

  private:
    [[nodiscard]] int rank() const { return communicator_.comm().rank; }
    [[nodiscard]] std::size_t ranks() const {
        return static_cast<std::size_t>(communicator_.comm().n_ranks);
    }
    bool ran(const Status& status, const char* what) const;
    [[nodiscard]] RingOperation ring(RingCollective kind, const void* in, void* out,
                                     std::size_t count) const;
    Communicator& communicator_;
    Operations operations_;
};

}  // namespace duofi::p2p::test
