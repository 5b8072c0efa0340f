// The same memory registered again: rma contract 3.4, 6.2, M-11.
#include <cstring>

#include "tests/conformance/rma/rma_conformance.hpp"

namespace duofi::test {
namespace {

constexpr std::size_t kBytes = 65536;

// One put per neighbour through `mhandle`; the receivers call nothing and look right afterwards.
void put_through(Rank& rank, const RmaTeam& team, MemoryBuffer& in, void* mhandle, std::size_t at,
                 std::size_t bytes, std::uint64_t seed) {
    RmaMemory out(team, bytes);
    in.poison();
    out.buffer.fill(seed + static_cast<std::uint64_t>(team.index));
    rank.barrier();
    RmaPut put{0, out.handle(), bytes, at, mhandle, (team.index + 1) % team.count, 0};
    rma_wait(team.on(), post_put(team.on(), put));
    rank.barrier();
    const int from = (team.index + team.count - 1) % team.count;
    require(!first_mismatch(in.data() + at, bytes, seed + static_cast<std::uint64_t>(from)),
            "a put through the handle landed elsewhere");
    rank.barrier();
}

// 6.2: the same range twice, and its first half: one handle; each release gives back one use.
DUOFI_RMA_CONFORMANCE(the_same_range_again) {
    RmaTeam team(rank, rma_of(rank));
    MemoryBuffer in(kBytes);
    const Rma& rma = *team.rma;
    void* coll = team.coll.get();
    RmaOwned first = register_rma(rma, coll, in.data(), kBytes);
    RmaOwned second = register_rma(rma, coll, in.data(), kBytes);
    RmaOwned half = register_rma(rma, coll, in.data(), kBytes / 2);
    require(first.get() == second.get(), "the same range gave another handle");
    require(first.get() == half.get(), "the first half of the range gave another handle");
    put_through(rank, team, in, first.get(), 0, 3000, 1);
    first.close();
    put_through(rank, team, in, second.get(), kBytes - 3000, 3000, 2);
    half.close();
    put_through(rank, team, in, second.get(), kBytes - 3000, 3000, 3);
    second.close();
    exchange_all(rank, team);
}

// A larger range at the same base is a region of its own.
DUOFI_RMA_CONFORMANCE(a_larger_range_at_the_same_base) {
    RmaTeam team(rank, rma_of(rank));
    MemoryBuffer in(kBytes);
    RmaOwned small = register_rma(*team.rma, team.coll.get(), in.data(), kBytes / 4);
    RmaOwned large = register_rma(*team.rma, team.coll.get(), in.data(), kBytes);
    require(small.get() != large.get(), "a larger range got the handle of a smaller one");
    put_through(rank, team, in, large.get(), kBytes - 500, 500, 1);
    put_through(rank, team, in, small.get(), kBytes / 4 - 500, 500, 2);
    small.close();
    put_through(rank, team, in, large.get(), 0, kBytes, 3);
}

// One rank repeats a range where the others bring new memory: everybody gets a new region.
DUOFI_RMA_CONFORMANCE(one_rank_repeats_a_range) {
    RmaTeam team(rank, rma_of(rank));
    MemoryBuffer first(4096);
    MemoryBuffer other(4096);
    MemoryBuffer& second = team.index == 0 ? first : other;
    RmaOwned one = register_rma(*team.rma, team.coll.get(), first.data(), 4096);
    RmaOwned two = register_rma(*team.rma, team.coll.get(), second.data(), 4096);
    require(one.get() != two.get(), "the others' new memory got the old handle");
    put_through(rank, team, second, two.get(), 100, 2000, 1);
    put_through(rank, team, first, one.get(), 100, 2000, 2);
    one.close();
    put_through(rank, team, second, two.get(), 0, 4096, 3);
}

// Other flags make another region.
DUOFI_RMA_CONFORMANCE(the_same_range_with_other_flags) {
    RmaTeam team(rank, rma_of(rank));
    std::vector<std::uint64_t> words(8, 0);
    RmaOwned plain = register_rma(*team.rma, team.coll.get(), words.data(), 64);
    RmaOwned strict =
        register_rma(*team.rma, team.coll.get(), words.data(), 64, NCCL_NET_MR_FLAG_FORCE_SO);
    RmaSignal signal{};
    signal.at = 8;
    rank.barrier();
    for (void* region : {plain.get(), strict.get()}) {
        signal.region = region;
        rma_wait(team.on(), post_signal(team.on(), nothing((team.index + 1) % team.count), signal));
    }
    rank.barrier();
    require(words[1] == 2, "{} of 2 signals arrived in one word", words[1]);
}

// The same memory in two collComms at once; each has its own release.
DUOFI_RMA_CONFORMANCE(the_same_range_in_two_groups) {
    RmaTeam one(rank, rma_of(rank));
    TeamOptions options;
    options.comm_id = 2;
    RmaTeam two(rank, rma_of(rank), options);
    MemoryBuffer in(kBytes);
    RmaOwned in_one = register_rma(*one.rma, one.coll.get(), in.data(), kBytes);
    RmaOwned in_two = register_rma(*two.rma, two.coll.get(), in.data(), kBytes);
    put_through(rank, one, in, in_one.get(), 0, 1000, 1);
    put_through(rank, two, in, in_two.get(), 5, 1000, 2);
    in_one.close();
    put_through(rank, two, in, in_two.get(), 50, 1000, 3);
}

}  // namespace
}  // namespace duofi::test
