// Puts: rma contract 3.6, P-1 to P-6, T-5, E-8.
#include <sys/resource.h>

#include <algorithm>
#include <cstring>

#include "tests/conformance/rma/rma_conformance.hpp"

namespace duofi::test {
namespace {

// Around every threshold of the providers below and of our own engines.
const std::vector<std::size_t> kSizes = {
    0,    1,    7,    8,    63,   64,   65,    127,   128,   129,   255,   256,          257,
    4095, 4096, 4097, 8191, 8192, 8193, 16384, 16385, 65535, 65536, 65537, (1 << 20) + 3};

// P-1: every size, at odd places, to every rank; nothing beside it is touched.
DUOFI_RMA_CONFORMANCE(puts_of_every_size) {
    RmaTeam team(rank, rma_of(rank));
    constexpr std::size_t kMost = (1 << 20) + 64;
    RmaMemory out(team, kMost, 3);
    RmaMemory in(team, kMost, static_cast<std::size_t>(team.index % 5));
    std::uint64_t seed = 0;
    for (const std::size_t bytes : kSizes) {
        rank.step(std::to_string(bytes) + " bytes");
        ++seed;
        const std::uint64_t at = seed % 13;
        const int to = (team.index + static_cast<int>(seed)) % team.count;
        const auto shift = static_cast<int>(seed) % team.count;
        const int from = (team.index + team.count - shift) % team.count;
        in.buffer.poison(bytes + 64);
        fill_pattern(out.data() + at, bytes, seed * 100 + static_cast<std::uint64_t>(team.index));
        rank.barrier();
        rma_wait(team.on(), post_put(team.on(), copy(out, at, bytes, in, at, to)));
        rank.barrier();
        require(
            !first_mismatch(in.data() + at, bytes, seed * 100 + static_cast<std::uint64_t>(from)),
            "{} bytes are wrong", bytes);
        require(std::all_of(in.data(), in.data() + at,
                            [](std::uint8_t b) { return b == MemoryBuffer::kPoison; }) &&
                    std::all_of(in.data() + at + bytes, in.data() + at + bytes + 32,
                                [](std::uint8_t b) { return b == MemoryBuffer::kPoison; }),
                "a put of {} bytes wrote beside them", bytes);
    }
    rank.barrier();
}

// P-1: zero bytes go anywhere, also to the very end, and change nothing.
DUOFI_RMA_CONFORMANCE(puts_of_nothing) {
    RmaTeam team(rank, rma_of(rank));
    RmaMemory window(team, 100);
    window.buffer.poison();
    rank.barrier();
    const RmaStream on = team.on();
    for (int to = 0; to < team.count; ++to) {
        rma_wait(on, post_put(on, copy(window, 0, 0, window, 0, to)));
        rma_wait(on, post_put(on, copy(window, 100, 0, window, 100, to)));
        rma_wait(on, post_put(on, nothing(to)));
    }
    rank.barrier();
    require(window.buffer.poisoned(), "a put of nothing wrote something");
}

// P-2: the largest operation of a caller, in the long tier.
DUOFI_RMA_CONFORMANCE(put_of_a_gigabyte) {
    if (!is_full(rank) || rank.count != 2 || rank.text("provider") == "sockets") return;
    RmaTeam team(rank, rma_of(rank));
    constexpr std::size_t kBytes = (std::size_t{1} << 30) + 5;
    RmaMemory window(team, kBytes);
    SignalWords words(team, 1);
    rank.barrier();
    if (team.index == 0) {
        window.buffer.fill(9);
        rma_wait(team.on(),
                 post_signal(team.on(), copy(window, 0, kBytes, window, 0, 1), inc(words, 0)));
    } else {
        const Deadline deadline(300 * kSecond);
        while (words.load(0) == 0 && !deadline.passed()) relax();
        require(!first_mismatch(window.data(), kBytes, 9), "wrong data");
    }
    rank.barrier();
}

// P-3: to oneself: apart, overlapping to either side, and onto the very same bytes.
DUOFI_RMA_CONFORMANCE(puts_to_oneself) {
    RmaTeam team(rank, rma_of(rank));
    constexpr std::size_t kBytes = 300000;
    RmaMemory window(team, kBytes);
    SignalWords words(team, 1);
    std::uint64_t signals = 0;
    struct Move {
        std::uint64_t from, to;
        std::size_t bytes;
    };
    for (const Move& move : std::vector<Move>{{0, 150000, 150000},
                                              {0, 1, 1000},
                                              {1, 0, 1000},
                                              {100, 108, 200000},
                                              {108, 100, 200000},
                                              {64, 64, 8},
                                              {0, 0, kBytes},
                                              {5000, 4000, 70000},
                                              {4000, 5000, 70000}}) {
        window.buffer.fill(move.from * 7 + move.to);
        std::vector<std::uint8_t> expected(window.data(), window.data() + kBytes);
        std::memmove(expected.data() + move.to, expected.data() + move.from, move.bytes);
        const RmaPut put = copy(window, move.from, move.bytes, window, move.to, team.index);
        rma_wait(team.on(), post_signal(team.on(), put, inc(words, 0)));
        require(std::equal(expected.begin(), expected.end(), window.data()),
                "{} bytes from {} to {} are wrong", move.bytes, move.from, move.to);
        words.await(0, ++signals);
    }
    rank.barrier();
}

// P-5, Q-5: a range that ends outside of either region, also by overflow; nothing is written.
DUOFI_RMA_CONFORMANCE(ranges_are_checked) {
    log_capture::expect_warn("");
    RmaTeam team(rank, rma_of(rank));
    constexpr std::size_t kBytes = 4096;
    RmaMemory out(team, kBytes);
    RmaMemory in(team, kBytes);
    SignalWords words(team, 2);
    in.buffer.poison();
    out.buffer.fill(1);
    rank.barrier();
    constexpr std::uint64_t kHuge = ~std::uint64_t{0};
    struct Range {
        std::uint64_t from, to;
        std::size_t bytes;
    };
    for (const int to : {team.index, (team.index + 1) % team.count}) {
        for (const Range& bad :
             std::vector<Range>{{0, 0, kBytes + 1},
                                {1, 0, kBytes},
                                {0, 1, kBytes},
                                {kBytes, 0, 1},
                                {0, kBytes, 1},
                                {kHuge, 0, 8},
                                {0, kHuge, 8},
                                {kHuge - 7, 0, 8},
                                {0, kHuge - 7, 16},
                                {0, 64, kHuge - 32},
                                {kBytes + 1, 0, 0},
                                {std::uint64_t{1} << 63U, 0, std::size_t{1} << 63U}}) {
            const RmaPut put = copy(out, bad.from, bad.bytes, in, bad.to, to);
            if (bad.bytes != 0) {
                expect_refused([&](void** r) { return try_put(team.on(), put, r); }, "iput");
                expect_refused(
                    [&](void** r) { return try_signal(team.on(), put, inc(words, 0), r); },
                    "iputSignal");
                expect_refused([&](void** r) { return try_get(team.on(), put, r); }, "iget");
            }
        }
        RmaPut no_source = copy(out, 0, 8, in, 0, to);
        no_source.source = nullptr;
        RmaPut no_target = copy(out, 0, 8, in, 0, to);
        no_target.target = nullptr;
        for (const RmaPut& put : {no_source, no_target}) {
            expect_refused([&](void** r) { return try_put(team.on(), put, r); }, "iput of NULL");
            expect_refused([&](void** r) { return try_signal(team.on(), put, inc(words, 0), r); },
                           "iputSignal of NULL");
        }
    }
    rank.barrier();
    require(in.buffer.poisoned() && !first_mismatch(out.data(), kBytes, 1),
            "a refused call wrote something");
    require(words.load(0) == 0, "a refused call sent its signal");
    rank.barrier();
    exchange_all(rank, team);
}

// C-4, 3.14: a rank outside of the group.
DUOFI_RMA_CONFORMANCE(ranks_are_checked) {
    log_capture::expect_warn("");
    RmaTeam team(rank, rma_of(rank));
    RmaMemory window(team, 64);
    SignalWords words(team, 1);
    for (const int bad : {team.count, team.count + 1, 1 << 20, -1}) {
        RmaPut put = copy(window, 0, 8, window, 8, bad);
        expect_refused([&](void** r) { return try_put(team.on(), put, r); }, "iput");
        expect_refused([&](void** r) { return try_signal(team.on(), put, inc(words, 0), r); },
                       "iputSignal");
        expect_refused(
            [&](void** r) { return try_signal(team.on(), nothing(bad), inc(words, 0), r); },
            "a signal alone");
        expect_refused([&](void** r) { return try_get(team.on(), put, r); }, "iget");
    }
    exchange_all(rank, team);
}

// A long call counts when the thread slept or worked in it; waiting for the processor is no
// blocking.
template <typename Call>
auto bounded(Call call, const char* what) {
    constexpr Nanoseconds kLimit = 250 * kMillisecond;
    rusage before{};
    ::getrusage(RUSAGE_THREAD, &before);
    const Nanoseconds start = now_ns();
    auto result = call();
    const Nanoseconds took = now_ns() - start;
    rusage after{};
    ::getrusage(RUSAGE_THREAD, &after);
    require(took <= patience(kLimit) || after.ru_nvcsw == before.ru_nvcsw, "{} waited {} ms", what,
            took / kMillisecond);
    return result;
}

// T-5, E-8: data calls and test never wait, however much is under way and whoever is asleep.
DUOFI_RMA_CONFORMANCE(data_calls_do_not_wait) {
    RmaTeam team(rank, rma_of(rank));
    constexpr std::size_t kBytes = 4 << 20;
    RmaMemory window(team, kBytes);
    SignalWords words(team, 1);
    rank.barrier();
    if (team.index % 2 == 0) {
        std::vector<void*> requests;
        const int to = (team.index + 1) % team.count;
        for (int i = 0; i < 16; ++i) {
            const RmaPut put = copy(window, 0, kBytes / 2, window, kBytes / 2, to);
            requests.push_back(bounded([&] { return post_put(team.on(), put); }, "iput"));
            requests.push_back(
                bounded([&] { return post_signal(team.on(), put, inc(words, 0)); }, "iputSignal"));
            requests.push_back(bounded(
                [&] {
                    return post_get(team.on(),
                                    copy(window, kBytes / 2, 4096, window, kBytes / 2, to));
                },
                "iget"));
        }
        const Deadline deadline(rma_patience());
        for (void* request : requests) {
            while (!bounded([&] { return rma_test(team.on(), request); }, "test")) {
                require(!deadline.passed(), "a request stayed pending");
                relax();
            }
        }
    }
    rank.barrier();
}

}  // namespace
}  // namespace duofi::test
