// Ranks and regions that go while others still write to them, without any barrier: rma
// contract 3.3, 6.6, C-5, X-7, M-13.
#include "tests/conformance/rma/rma_conformance.hpp"

namespace duofi::test {
namespace {

// Tests until done or failed; a remote error is the right of who wrote to something that went.
void finish(const RmaStream& on, const std::vector<void*>& requests) {
    for (void* request : requests) {
        const Deadline deadline(rma_patience());
        int done = 0;
        ncclResult_t result = ncclSuccess;
        while (done == 0 && result == ncclSuccess) {
            result = (*on.rma)->test(on.coll, request, &done);
            require(!deadline.passed(), "a request to something that went stays pending");
            relax();
        }
        require(result == ncclSuccess || result == ncclRemoteError, "test gave {}",
                result_name(result));
    }
}

// Puts with signal to `to`, which may go meanwhile.
std::vector<void*> fire(Rank& rank, const RmaTeam& team, RmaMemory& window, SignalWords& words,
                        int to) {
    std::vector<void*> requests;
    for (int i = 0; i < amount(rank, 300, 3000); ++i) {
        void* request = nullptr;
        const ncclResult_t result =
            try_signal(team.on(), copy(window, 0, 1000, window, 2000, to),
                       inc(words, static_cast<std::size_t>(team.index)), &request);
        require(result == ncclSuccess || result == ncclRemoteError, "iputSignal gave {}",
                result_name(result));
        if (result == ncclSuccess) requests.push_back(request);
    }
    return requests;
}

// C-5, X-7: who is through may leave at once; the others' connect succeeds all the same.
DUOFI_RMA_CONFORMANCE(ranks_leave_right_after_connect) {
    for (int round = 0; round < amount(rank, 10, 200); ++round) {
        rank.step("round " + std::to_string(round));
        RmaTeam team(rank, rma_of(rank));
        team.close();
    }
}

// one rank leaves while all others write to it; they get an answer for each request, and work
// on with each other.
DUOFI_RMA_CONFORMANCE(a_rank_leaves_under_fire) {
    log_capture::expect_warn("");
    RmaTeam team(rank, rma_of(rank));
    RmaMemory window(team, 1 << 16);
    SignalWords words(team, static_cast<std::size_t>(team.count));
    const int leaver = team.count - 1;
    const RmaStream on = team.on();
    rank.barrier();
    if (team.index == leaver) {
        for (std::size_t from = 0; from + 1 < static_cast<std::size_t>(team.count); ++from)
            words.await(from, 1, true);
        team.context.close();
        words.mr.close();
        window.mr.close();
        team.close();
        for (int meeting = 0; meeting < 3; ++meeting) rank.barrier();
        return;
    }
    finish(on, fire(rank, team, window, words, leaver));
    rank.barrier();
    exchange_self(team, window, words, 4);
    rank.barrier();
    for (int to = 0; to < leaver; ++to) {
        const auto own = static_cast<std::size_t>(team.index);
        rma_wait(on, post_put(on, copy(window, 0, 100, window, 30000 + 100 * own, to)));
    }
    rank.barrier();
}

// X-7, M-13: a region goes under fire; the writers get an answer for each request, and all ranks
// work on with each other.
DUOFI_RMA_CONFORMANCE(a_region_leaves_under_fire) {
    log_capture::expect_warn("");
    RmaTeam team(rank, rma_of(rank));
    for (int round = 0; round < amount(rank, 4, 40); ++round) {
        rank.step("round " + std::to_string(round));
        RmaMemory window(team, 1 << 16);
        SignalWords words(team, static_cast<std::size_t>(team.count));
        const int owner = round % team.count;
        rank.barrier();
        if (team.index == owner) {
            for (std::size_t from = 0; from < static_cast<std::size_t>(team.count); ++from) {
                if (static_cast<int>(from) != owner) words.await(from, 1, true);
            }
            words.mr.close();
            window.mr.close();
            window.buffer.poison();
            rank.barrier();
            require(window.buffer.poisoned(), "data landed in a region that was released");
        } else {
            finish(team.on(), fire(rank, team, window, words, owner));
            rank.barrier();
        }
        exchange_all(rank, team);
    }
}

}  // namespace
}  // namespace duofi::test
