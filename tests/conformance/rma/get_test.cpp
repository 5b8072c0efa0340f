// Gets and flushes: rma contract 3.9, 3.10, R-1 to R-4, F-1 to F-5.
#include <algorithm>

#include "tests/conformance/rma/rma_conformance.hpp"

namespace duofi::test {
namespace {

// every size from every rank, which sits in a barrier and calls nothing.
DUOFI_RMA_CONFORMANCE(gets_of_every_size) {
    RmaTeam team(rank, rma_of(rank));
    constexpr std::size_t kMost = (1 << 20) + 64;
    RmaMemory source(team, kMost, static_cast<std::size_t>(team.index % 3));
    RmaMemory in(team, kMost, 5);
    source.buffer.fill(static_cast<std::uint64_t>(team.index));
    rank.barrier();
    for (int reader = 0; reader < team.count; ++reader) {
        if (reader == team.index) {
            for (const std::size_t bytes :
                 {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{127},
                  std::size_t{4097}, std::size_t{8193}, std::size_t{65537}, std::size_t{1} << 20}) {
                for (int from = 0; from < team.count; ++from) {
                    const std::uint64_t at = 8 * (bytes % 7);
                    in.buffer.poison(bytes + 64);
                    rma_wait(team.on(), post_get(team.on(), copy(in, at, bytes, source, at, from)));
                    std::vector<std::uint8_t> due(at + bytes);
                    fill_pattern(due.data(), due.size(), static_cast<std::uint64_t>(from));
                    require(std::equal(due.begin() + static_cast<std::ptrdiff_t>(at), due.end(),
                                       in.data() + at),
                            "{} bytes from rank {} are wrong", bytes, from);
                    require(std::all_of(in.data() + at + bytes, in.data() + at + bytes + 8,
                                        [](std::uint8_t b) { return b == MemoryBuffer::kPoison; }),
                            "a get of {} bytes wrote behind them", bytes);
                }
            }
        }
        rank.barrier();
    }
    require(!first_mismatch(source.data(), kMost, static_cast<std::uint64_t>(team.index)),
            "a get changed its source");
}

// zero bytes, NULL handles included, are done at the first test.
DUOFI_RMA_CONFORMANCE(gets_of_nothing) {
    RmaTeam team(rank, rma_of(rank));
    RmaMemory window(team, 64);
    window.buffer.poison();
    rank.barrier();
    for (int from = 0; from < team.count; ++from) {
        for (const RmaPut& get : {copy(window, 0, 0, window, 0, from), nothing(from)}) {
            void* request = post_get(team.on(), get);
            require(rma_test(team.on(), request), "a get of nothing is pending");
        }
    }
    rank.barrier();
    require(window.buffer.poisoned(), "a get of nothing wrote something");
}

// gets beside puts and signals to other places, many at once.
DUOFI_RMA_CONFORMANCE(gets_beside_puts) {
    RmaTeam team(rank, rma_of(rank));
    constexpr std::size_t kBytes = 40000;
    constexpr std::size_t kCount = 16;
    RmaMemory source(team, kBytes);
    RmaMemory in(team, kBytes * kCount);
    RmaMemory target(team, kBytes);
    SignalWords words(team, 1);
    source.buffer.fill(static_cast<std::uint64_t>(team.index));
    rank.barrier();
    for (int round = 0; round < amount(rank, 6, 200); ++round) {
        in.buffer.poison();
        std::vector<void*> requests;
        for (std::size_t i = 0; i < kCount; ++i) {
            requests.push_back(
                post_get(team.on(), copy(in, i * kBytes, kBytes, source, 0, next_of(team))));
            requests.push_back(post_signal(
                team.on(), copy(source, 0, kBytes, target, 0, next_of(team)), inc(words, 0)));
        }
        rma_wait_all(team.on(), requests);
        for (std::size_t i = 0; i < kCount; ++i)
            require(!first_mismatch(in.data() + i * kBytes, kBytes,
                                    static_cast<std::uint64_t>(next_of(team))),
                    "get {} is wrong", i);
    }
    rank.barrier();
}

// F-1, F-2: a flush of host memory gives a request that is done at the first test, for every rank,
// before and after gets.
DUOFI_RMA_CONFORMANCE(flushes_are_done_at_once) {
    RmaTeam team(rank, rma_of(rank));
    RmaMemory source(team, 5000);
    RmaMemory in(team, 5000);
    source.buffer.fill(static_cast<std::uint64_t>(team.index));
    rank.barrier();
    for (int from = 0; from < team.count; ++from) {
        require(rma_test(team.on(), post_flush(team.on(), in.handle(), from)),
                "a flush is pending");
        rma_wait(team.on(), post_get(team.on(), copy(in, 0, 5000, source, 0, from)));
        require(rma_test(team.on(), post_flush(team.on(), in.handle(), from)),
                "a flush is pending");
        require(!first_mismatch(in.data(), 5000, static_cast<std::uint64_t>(from)), "wrong data");
    }
    rank.barrier();
}

// F-5: a flush waits for nothing that is unfinished.
DUOFI_RMA_CONFORMANCE(flushes_do_not_wait) {
    RmaTeam team(rank, rma_of(rank));
    constexpr std::size_t kBytes = 4 << 20;
    RmaMemory source(team, kBytes);
    RmaMemory in(team, kBytes);
    rank.barrier();
    std::vector<void*> requests;
    for (int i = 0; i < 8; ++i)
        requests.push_back(post_get(team.on(), copy(in, 0, kBytes, source, 0, next_of(team))));
    require(rma_test(team.on(), post_flush(team.on(), in.handle(), next_of(team))),
            "a flush waits for gets");
    rma_wait_all(team.on(), requests);
    rank.barrier();
}

}  // namespace
}  // namespace duofi::test
