// One rank of a communicator over shared memory, made with the C functions of p2p/p2p.h. One
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "common/util/clock.hpp"
#include "p2p/p2p.h"
#include "tools/duofi/outcome.hpp"

namespace duofi::tool {

/// Errors name the rank, the call and the library's own text. Not closed: aborted when destroyed.
class P2pRank {
  public:
    /// Collective: connects the ring. `port` is free on this node and the same for all ranks.
    [[nodiscard]] static Outcome<P2pRank> open(int rank, int size, std::uint16_t port,
                                               Nanoseconds limit);
    [[nodiscard]] Outcome<void> all_reduce(const float* input, float* output, std::size_t count);
    [[nodiscard]] Outcome<void> send(const void* data, std::size_t bytes, int peer);
    [[nodiscard]] Outcome<void> receive(void* data, std::size_t bytes, int peer);
    /// Collective.
    [[nodiscard]] Outcome<void> close();

    [[nodiscard]] std::string edge_to_next() const;
    [[nodiscard]] static std::string version() { return duofiP2pVersion(); }

  private:
    struct FreeBootstrap {
        void operator()(duofiP2pBootstrap* bootstrap) const noexcept;
    };
    struct AbortComm {
        void operator()(duofiP2pComm* comm) const noexcept;
    };
    [[nodiscard]] Outcome<void> judge(ncclResult_t result, const char* call) const {
        if (result == ncclSuccess) [[likely]]
            return {};
        return refusal(result, call);
    }
    [[nodiscard]] Outcome<void> refusal(ncclResult_t result, const char* call) const;

    int rank_ = 0, size_ = 1;
    std::unique_ptr<duofiP2pBootstrap, FreeBootstrap> bootstrap_;
    std::unique_ptr<duofiP2pComm, AbortComm> comm_;  // after bootstrap_: it uses it
};

}  // namespace duofi::tool
