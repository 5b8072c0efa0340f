// Contexts and their end: rma contract 3.3, X-1 to X-7, M-13, T-3.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <set>

#include "tests/conformance/rma/rma_conformance.hpp"

namespace duofi::test {
namespace {

constexpr std::size_t kFlightBytes = 1 << 20;

// Memory that can vanish: a read or write after its end is a crash.
class Pages {
  public:
    explicit Pages(std::size_t bytes)
        : bytes_(bytes),
          at_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
        require(at_ != MAP_FAILED, "no memory");
    }
    ~Pages() { unmap(); }
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    [[nodiscard]] void* data() const { return at_; }
    void unmap() {
        if (at_ != nullptr) ::munmap(std::exchange(at_, nullptr), bytes_);
    }

  private:
    std::size_t bytes_;
    void* at_;
};

// the stride is a hint, whatever it says; T-3: several contexts on one collComm.
DUOFI_RMA_CONFORMANCE(strides_are_hints) {
    RmaTeam team(rank, rma_of(rank));
    std::vector<RmaOwned> contexts;
    std::set<void*> distinct;
    for (const int stride : {0, -1, 1, 2, 3, 1000, -7}) {
        contexts.push_back(open_context(*team.rma, team.coll.get(), 2, stride));
        distinct.insert(contexts.back().get());
    }
    require(distinct.size() == contexts.size(), "contexts share a pointer");
    for (std::size_t i = 0; i < contexts.size(); ++i) {
        ExchangeOptions options;
        options.seed = i;
        options.context = static_cast<int>(i % 2);
        exchange_all(rank, team, contexts[i].get(), options);
    }
    contexts.erase(contexts.begin(), contexts.begin() + 3);
    exchange_all(rank, team, contexts.front().get(), {});
}

// all ranks create it, at different times.
DUOFI_RMA_CONFORMANCE(contexts_are_created_with_skew) {
    RmaTeam team(rank, rma_of(rank));
    ::usleep(static_cast<useconds_t>((rank.count - rank.index) * 20'000));
    RmaOwned late = open_context(*team.rma, team.coll.get(), 1, 1);
    exchange_all(rank, team, late.get(), {});
}

// a context number outside of the bundle.
DUOFI_RMA_CONFORMANCE(context_numbers_are_checked) {
    log_capture::expect_warn("");
    TeamOptions options;
    options.contexts = 4;
    RmaTeam team(rank, rma_of(rank), options);
    RmaMemory window(team, 64);
    SignalWords words(team, 1);
    window.buffer.fill(1);
    rank.barrier();
    const RmaPut put = copy(window, 0, 8, window, 8, (team.index + 1) % team.count);
    for (const int bad : {-1, 4, 5, 1 << 20, -2147483647}) {
        const RmaStream on = team.on(bad);
        expect_refused([&](void** r) { return try_put(on, put, r); }, "iput");
        expect_refused([&](void** r) { return try_signal(on, put, inc(words, 0), r); },
                       "iputSignal");
        expect_refused([&](void** r) { return try_get(on, put, r); }, "iget");
        expect_refused(
            [&](void** r) { return (*on.rma)->iflush(on.ctx, bad, window.handle(), 0, r); },
            "iflush");
    }
    rank.barrier();
    require(!first_mismatch(window.data(), 64, 1) && words.load(0) == 0,
            "a refused call did something");
    ExchangeOptions last;
    last.context = 3;
    exchange_all(rank, team, last);
}

// 6.3: as many contexts as a caller may ask for, each with its own stream.
DUOFI_RMA_CONFORMANCE(two_hundred_and_fifty_six_contexts) {
    TeamOptions options;
    options.contexts = 256;
    RmaTeam team(rank, rma_of(rank), options);
    RmaMemory out(team, 256 * 16);
    RmaMemory in(team, 256 * 16);
    SignalWords words(team, 256);
    out.buffer.fill(static_cast<std::uint64_t>(team.index));
    rank.barrier();
    const int to = (team.index + 1) % team.count;
    std::vector<void*> requests;
    for (int c = 0; c < 256; ++c) {
        const auto at = static_cast<std::uint64_t>(c) * 16;
        requests.push_back(post_signal(team.on(c), copy(out, at, 16, in, at, to),
                                       inc(words, static_cast<std::size_t>(c))));
    }
    rma_wait_all(team.on(), requests);
    for (std::size_t c = 0; c < 256; ++c) words.await(team.on(), c, 1);
    const int from = (team.index + team.count - 1) % team.count;
    require(!first_mismatch(in.data(), in.buffer.size(), static_cast<std::uint64_t>(from)),
            "wrong data");
    rank.barrier();
}

// X-4: regions go before the context, or behind it.
DUOFI_RMA_CONFORMANCE(contexts_end_before_or_after_regions) {
    for (const bool context_first : {true, false}) {
        RmaTeam team(rank, rma_of(rank));
        {
            RmaMemory window(team, 5000);
            SignalWords words(team, 4);
            exchange_self(team, window, words, 1);
            rank.barrier();
            if (context_first) team.context.close();
            words.mr.close();
            window.mr.close();
        }
        team.close();
    }
}

// a context goes with unfinished work, its memory at once behind it; the others work on.
DUOFI_RMA_CONFORMANCE(contexts_end_with_work_in_flight) {
    log_capture::expect_warn("");
    RmaTeam team(rank, rma_of(rank));
    const int to = (team.index + 1) % team.count;
    for (int round = 0; round < amount(rank, 6, 60); ++round) {
        rank.step("round " + std::to_string(round));
        RmaOwned doomed = open_context(*team.rma, team.coll.get(), 1, 1);
        Pages pages(4 * kFlightBytes);
        SignalWords words(team, 1);
        RmaOwned region = register_rma(*team.rma, team.coll.get(), pages.data(), 4 * kFlightBytes);
        rank.barrier();
        const RmaStream on{team.rma, team.coll.get(), doomed.get(), 0};
        for (std::uint64_t i = 0; i < 16; ++i) {
            RmaPut put{0, region.get(), kFlightBytes >> (i % 8), kFlightBytes, region.get(), to, 0};
            void* request = nullptr;
            const ncclResult_t result = i % 3 == 0   ? try_get(on,
                                                               {2 * kFlightBytes, region.get(),
                                                                kFlightBytes, 0, region.get(), to, 0},
                                                               &request)
                                        : i % 3 == 1 ? try_signal(on, put, inc(words, 0), &request)
                                                     : try_put(on, put, &request);
            // A neighbour that is already through refuses or drops what comes late.
            require(result == ncclSuccess || result == ncclRemoteError, "call {} gave {}", i,
                    result_name(result));
        }
        if (round % 2 == 0) rank.barrier();
        doomed.close();
        region.close();
        pages.unmap();
        words.mr.close();
        rank.barrier();
    }
    exchange_all(rank, team);
}

// nothing reaches a region that was released, however much was on its way.
DUOFI_RMA_CONFORMANCE(released_regions_stay_untouched) {
    log_capture::expect_warn("");
    RmaTeam team(rank, rma_of(rank));
    const int to = (team.index + 1) % team.count;
    for (int round = 0; round < amount(rank, 6, 60); ++round) {
        rank.step("round " + std::to_string(round));
        RmaOwned doomed = open_context(*team.rma, team.coll.get(), 1, 1);
        RmaMemory out(team, kFlightBytes);
        RmaMemory in(team, kFlightBytes);
        rank.barrier();
        const RmaStream on{team.rma, team.coll.get(), doomed.get(), 0};
        for (int i = 0; i < 8; ++i) {
            void* request = nullptr;
            (void)try_put(on, copy(out, 0, kFlightBytes, in, 0, to), &request);
        }
        doomed.close();
        in.mr.close();
        in.buffer.poison();
        rank.barrier();
        for (int i = 0; i < 20; ++i)
            expect_success((*team.rma)->progress(team.context.get()), "rmaProgress");
        rank.barrier();
        require(in.buffer.poisoned(), "data landed in a region that was released");
    }
    exchange_all(rank, team);
}

// X-6, M-13, L-17: ending nothing.
DUOFI_RMA_CONFORMANCE(ending_nothing_succeeds) {
    RmaTeam team(rank, rma_of(rank));
    expect_success((*team.rma)->destroy_context(nullptr), "destroyContext of NULL");
    expect_success((*team.rma)->dereg_mr_sym(team.coll.get(), nullptr), "deregMrSym of NULL");
    expect_success((*team.rma)->finalize(nullptr), "finalize of NULL");
    exchange_all(rank, team);
}

}  // namespace
}  // namespace duofi::test
