// Ranks of a P2P communicator in processes and threads, through p2p/p2p.h only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "p2p/p2p.h"
#include "tests/support/peer_group.hpp"

namespace duofi::test {

/// One rank with its communicator. Throws TestFailure with the library's text when a call fails.
class P2pMember {
  public:
    /// `host` is where rank 0 is.
    P2pMember(int rank, int size, int port, const std::string& host = "127.0.0.1", int device = 0);
    /// Aborts when close() was not called.
    ~P2pMember();
    P2pMember(const P2pMember&) = delete;
    P2pMember& operator=(const P2pMember&) = delete;
    void close();
    void require_success(ncclResult_t result, const std::string& call) const;

    [[nodiscard]] duofiP2pComm* comm() const { return comm_; }
    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return size_; }

  private:
    int rank_, size_;
    duofiP2pBootstrap bootstrap_{};
    duofiP2pComm* comm_ = nullptr;
};

/// Arguments "threads" (per process), "port" and "host" of a group; runs `body` on a thread per rank of
/// this process. The first failure of one of them is thrown again.
void run_members(Rank& process, const std::function<void(P2pMember&)>& body);

/// Processes and threads of one run.
struct Mix {
    int processes, threads;
};
[[nodiscard]] GroupOptions p2p_options(const Mix& mix,
                                       const std::map<std::string, std::string>& env = {});

/// `operations` operations that follow from the seed, every element of every result checked.
void run_seeded_operations(P2pMember& member, std::uint64_t seed, int operations);

}  // namespace duofi::test
