// The programs that other projects test their RMA plugins with, in host memory: rma contract 6.2.
// Their receivers sit in a barrier where that is said.
#include <algorithm>
#include <cstring>

#include "tests/conformance/rma/rma_conformance.hpp"

namespace duofi::test {
namespace {

constexpr std::size_t kBlock = 4096;

struct Areas {
    Areas(const RmaTeam& team, std::size_t puts)
        : source(team, puts * kBlock), target(team, 2 * puts * kBlock), words(team, 1, 0) {}
    RmaMemory source;
    RmaMemory target;
    SignalWords words;
};

// Rank 0: 64 puts, then 64 puts with a strong increment, to each other rank, nobody waits between.
void post_both_areas(const RmaTeam& team, Areas& areas, std::vector<void*>& requests) {
    for (int to = 1; to < team.count; ++to) {
        for (std::uint64_t i = 0; i < 64; ++i)
            requests.push_back(post_put(
                team.on(), copy(areas.source, i * kBlock, kBlock, areas.target, i * kBlock, to)));
        for (std::uint64_t i = 0; i < 64; ++i)
            requests.push_back(post_signal(
                team.on(),
                copy(areas.source, i * kBlock, kBlock, areas.target, (64 + i) * kBlock, to),
                inc(areas.words, 0)));
    }
}

// 6.2, first program: puts and signals from rank 0, then gets from rank 0 while it sits in a
// barrier, with and without a flush; regions end before the context; the listen comm closes last.
DUOFI_RMA_CONFORMANCE(peer_program_rma) {
    TeamOptions options;
    options.stride = 0;
    options.keep_listener = true;
    RmaTeam team(rank, rma_of(rank), options);
    {
        Areas areas(team, 64);
        RmaMemory got(team, kBlock);
        const RmaStream on = team.on();
        if (team.index == 0) areas.source.buffer.fill(4);
        areas.target.buffer.poison();
        rank.barrier();
        if (team.index == 0) {
            std::vector<void*> requests;
            post_both_areas(team, areas, requests);
            for (void* request : requests) {
                const Deadline deadline(rma_patience());
                while (!rma_test(on, request)) {
                    expect_success((*on.rma)->progress(on.ctx), "rmaProgress");
                    require(!deadline.passed(), "a request stayed pending");
                }
            }
        } else {
            areas.words.await(on, 0, 64);
            for (std::size_t area = 0; area < 2; ++area)
                require(!first_mismatch(areas.target.data() + area * 64 * kBlock, 64 * kBlock, 4),
                        "area {} is wrong", area);
        }
        rank.barrier();
        for (const std::uint8_t pattern : {std::uint8_t{99}, std::uint8_t{77}}) {
            if (team.index == 0) std::fill_n(areas.source.data(), kBlock, pattern);
            rank.barrier();
            if (team.index != 0) {
                rma_wait(on, post_get(on, copy(got, 0, kBlock, areas.source, 0, 0)));
                if (pattern == 77) rma_wait(on, post_flush(on, got.handle(), 0));
                require(std::all_of(got.data(), got.data() + kBlock,
                                    [&](std::uint8_t b) { return b == pattern; }),
                        "a get read something else");
            }
            rank.barrier();
        }
    }
    team.context.close();
    team.coll.close();
    team.listener.close();
    team.instance.close();
}

// 6.2, third program, without device memory: two signal words and payloads across an inner border.
DUOFI_RMA_CONFORMANCE(peer_program_two_signal_words) {
    RmaTeam team(rank, rma_of(rank));
    constexpr std::size_t kBytes = 64 << 10;
    RmaMemory out(team, 4 * kBytes, 1);
    RmaMemory in(team, 4 * kBytes * static_cast<std::size_t>(team.count));
    SignalWords words(team, 1024);
    out.buffer.fill(static_cast<std::uint64_t>(team.index));
    rank.barrier();
    std::vector<void*> requests;
    for (int i = 0; i < 16; ++i) {
        for (int to = 0; to < team.count; ++to) {
            const std::uint64_t at = static_cast<std::uint64_t>(team.index) * 4 * kBytes;
            const RmaPut put =
                copy(out, 2 * kBytes - kBytes / 2, kBytes, in, at + 2 * kBytes - kBytes / 2, to);
            requests.push_back(post_signal(team.on(), put, inc(words, 0)));
            requests.push_back(post_signal(team.on(), put, inc(words, 512)));
        }
    }
    const auto due = static_cast<std::uint64_t>(16 * team.count);
    words.await(team.on(), 0, due);
    words.await(team.on(), 512, due);
    rma_wait_all(team.on(), requests);
    rank.barrier();
    for (int from = 0; from < team.count; ++from) {
        const std::size_t at =
            static_cast<std::size_t>(from) * 4 * kBytes + 2 * kBytes - kBytes / 2;
        std::vector<std::uint8_t> whole(4 * kBytes);
        fill_pattern(whole.data(), whole.size(), static_cast<std::uint64_t>(from));
        require(std::memcmp(in.data() + at, whole.data() + 2 * kBytes - kBytes / 2, kBytes) == 0,
                "wrong data from rank {}", from);
    }
    rank.barrier();
}

// 6.2, MPI list: put, get, increment, add and a signal at an offset, from 4 KiB to 1 MiB; progress
// only through test, the receiver in a barrier.
DUOFI_RMA_CONFORMANCE(mpi_list_basics) {
    TeamOptions options;
    options.contexts = 2;
    RmaTeam team(rank, rma_of(rank), options);
    constexpr std::size_t kMost = 1 << 20;
    RmaMemory out(team, kMost);
    RmaMemory in(team, kMost);
    SignalWords words(team, 16);
    std::uint64_t increments = 0;
    std::uint64_t sum = 0;
    const int to = (team.index + 1) % team.count;
    const int from = (team.index + team.count - 1) % team.count;
    for (const std::size_t bytes : {std::size_t{4} << 10, std::size_t{64} << 10, kMost}) {
        for (int context = 0; context < 2; ++context) {
            const RmaStream on = team.on(context);
            const RmaPut put = copy(out, 0, bytes, in, 0, to);
            fill_pattern(out.data(), bytes, bytes + static_cast<std::uint64_t>(team.index));
            for (int kind = 0; kind < 4; ++kind) {
                in.buffer.poison(bytes);
                rank.barrier();
                switch (kind) {
                    case 0:
                        rma_wait(on, post_put(on, put));
                        break;
                    case 1:
                        rma_wait(on, post_signal(on, put, inc(words, 7))), ++increments;
                        break;
                    case 2:
                        rma_wait(on, post_signal(on, put, add(words, 3, 42))), sum += 42;
                        break;
                    default:
                        rma_wait(on, post_get(on, copy(in, 0, bytes, out, 0, from)));
                }
                rank.barrier();
                require(!first_mismatch(in.data(), bytes, bytes + static_cast<std::uint64_t>(from)),
                        "kind {}: {} bytes are wrong", kind, bytes);
                require(words.load(7) == increments && words.load(3) == sum,
                        "kind {}: words {} and {}", kind, words.load(7), words.load(3));
                require(words.load(6) == 0 && words.load(8) == 0, "a neighbour was changed");
                rank.barrier();
            }
        }
    }
}

// 6.2, MPI list: 16 puts and gets over the contexts at once, mixed with signals; 40 at once.
DUOFI_RMA_CONFORMANCE(mpi_list_many_in_flight) {
    TeamOptions options;
    options.contexts = 2;
    RmaTeam team(rank, rma_of(rank), options);
    RmaMemory out(team, 64 * kBlock);
    RmaMemory in(team, 64 * kBlock);
    RmaMemory got(team, 64 * kBlock);
    SignalWords words(team, 1);
    out.buffer.fill(static_cast<std::uint64_t>(team.index));
    rank.barrier();
    const int to = (team.index + 1) % team.count;
    for (const std::uint64_t count : {16U, 40U}) {
        in.buffer.poison();
        rank.barrier();
        const std::uint64_t before = words.load(0);
        rank.barrier();
        std::vector<void*> requests;
        for (std::uint64_t i = 0; i < count; ++i) {
            const RmaStream on = team.on(static_cast<int>(i % 2));
            const RmaPut put = copy(out, i * kBlock, kBlock, in, i * kBlock, to);
            requests.push_back(i % 3 == 0 ? post_signal(on, put, inc(words, 0))
                                          : post_put(on, put));
            requests.push_back(post_get(on, copy(got, i * kBlock, kBlock, out, i * kBlock, to)));
        }
        rma_wait_all(team.on(), requests);
        rank.barrier();
        const int from = (team.index + team.count - 1) % team.count;
        require(!first_mismatch(in.data(), count * kBlock, static_cast<std::uint64_t>(from)),
                "puts are wrong");
        require(!first_mismatch(got.data(), count * kBlock, static_cast<std::uint64_t>(to)),
                "gets are wrong");
        require(words.load(0) - before == (count + 2) / 3, "{} signals", words.load(0) - before);
        rank.barrier();
    }
}

// 6.2, MPI list: 10,000 puts with signal, 16 at once, and the exact count.
DUOFI_RMA_CONFORMANCE(mpi_list_ten_thousand_signals) {
    RmaTeam team(rank, rma_of(rank));
    RmaMemory window(team, 2 * kBlock);
    SignalWords words(team, 1);
    rank.barrier();
    const int count = amount(rank, 10000, 10000);
    std::array<void*, 16> window_of{};
    const int to = (team.index + 1) % team.count;
    for (int i = 0; i < count; ++i) {
        void*& slot = window_of[static_cast<std::size_t>(i) % 16];
        if (slot != nullptr) rma_wait(team.on(), slot);
        slot = post_signal(team.on(), copy(window, 0, 64, window, kBlock, to), inc(words, 0));
    }
    for (void* request : window_of)
        if (request != nullptr) rma_wait(team.on(), request);
    rank.barrier();
    require(words.load(0) == static_cast<std::uint64_t>(count), "{} of {} signals", words.load(0),
            count);
    rank.barrier();
}

}  // namespace
}  // namespace duofi::test
