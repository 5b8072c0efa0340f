// One group of ranks over the RMA table with its memory: what most RMA tests begin with. Set-up and
// registrations are collective: all ranks of the team call them in the same order.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/support/memory_buffer.hpp"
#include "tests/support/peer_group.hpp"
#include "tests/support/rma_driver.hpp"

namespace duofi::test {

struct TeamOptions {
    int contexts = 1;
    int stride = 1;
    int dev = 0;
    std::uint64_t comm_id = 0x1122334455667788ULL;
    std::vector<int> members;    ///< ranks of the group in its own order; empty: all
    bool keep_listener = false;  ///< else the listen comm closes right after connect (C-7)
};

/// A collComm with one context. Ends in the caller's order: context, collComm, instance.
class RmaTeam {
  public:
    /// Collective over the whole rank group, also for ranks that are no members: they get an empty
    /// team.
    RmaTeam() = default;
    RmaTeam(Rank& rank, const Rma& rma, const TeamOptions& options = {});
    RmaTeam(RmaTeam&&) = default;
    RmaTeam& operator=(RmaTeam&&) = default;
    ~RmaTeam() = default;

    explicit operator bool() const { return static_cast<bool>(coll); }
    [[nodiscard]] RmaStream on(int context_index = 0) const {
        return {rma, coll.get(), context.get(), context_index};
    }
    /// Ends everything; each step must succeed in time.
    void close();

    const Rma* rma = nullptr;
    int index = -1;  ///< of this rank in the team
    int count = 0;
    RmaOwned instance;
    RmaOwned listener;
    RmaOwned coll;
    RmaOwned context;
};

/// The ranks beside this one when the team is a ring.
[[nodiscard]] inline int next_of(const RmaTeam& team) {
    return (team.index + 1) % team.count;
}
[[nodiscard]] inline int previous_of(const RmaTeam& team) {
    return (team.index + team.count - 1) % team.count;
}

/// regMrSym of memory of the test; throws unless it gives a handle.
[[nodiscard]] RmaOwned register_rma(const Rma& rma, void* coll, void* data, std::size_t bytes,
                                    std::uint64_t flags = 0, int type = NCCL_PTR_HOST);

/// Memory with guards that is registered for its life.
class RmaMemory {
  public:
    RmaMemory(const RmaTeam& team, std::size_t bytes, std::size_t offset = 0,
              std::uint64_t flags = 0)
        : buffer(bytes, offset),
          mr(register_rma(*team.rma, team.coll.get(), buffer.data(), bytes, flags)) {}
    [[nodiscard]] void* handle() const { return mr.get(); }
    [[nodiscard]] std::uint8_t* data() { return buffer.data(); }

    MemoryBuffer buffer;
    RmaOwned mr;
};

/// 8-byte signal words that are registered for their life.
class SignalWords {
  public:
    SignalWords(const RmaTeam& team, std::size_t count,
                std::uint64_t flags = NCCL_NET_MR_FLAG_FORCE_SO)
        : words_(count, 0),
          mr(register_rma(*team.rma, team.coll.get(), words_.data(), 8 * count, flags)) {}
    [[nodiscard]] void* handle() const { return mr.get(); }
    /// Acquire load.
    [[nodiscard]] std::uint64_t load(std::size_t word) const;
    void store(std::size_t word, std::uint64_t value);
    /// Waits until the word is at least `value`, while this rank calls nothing of the table.
    /// Throws when it passes `value`, unless `at_least`.
    void await(std::size_t word, std::uint64_t value, bool at_least = false) const;
    /// The same while this rank drives progress.
    void await(const RmaStream& on, std::size_t word, std::uint64_t value,
               bool at_least = false) const;

  private:
    template <typename Between>
    void await_with(std::size_t word, std::uint64_t value, bool at_least, Between between) const;
    std::vector<std::uint64_t> words_;

  public:
    RmaOwned mr;
};

/// INC of word `word` of `words` on the target.
[[nodiscard]] RmaSignal inc(const SignalWords& words, std::size_t word, bool strong = true);
[[nodiscard]] RmaSignal add(const SignalWords& words, std::size_t word, std::uint64_t value,
                            bool strong = true);

/// Put that fills [to, to + bytes) of the target's region from [from, from + bytes) of ours.
[[nodiscard]] RmaPut copy(const RmaMemory& source, std::uint64_t from, std::size_t bytes,
                          const RmaMemory& target, std::uint64_t to, int rank);

/// A signal without data: NULL handles and size 0 (G-1).
[[nodiscard]] inline RmaPut nothing(int rank) {
    RmaPut put;
    put.rank = rank;
    return put;
}

}  // namespace duofi::test
