// Instances, listen, connect: rma contract 1.4, 3.2, L-14, L-16, C-1 to C-9, T-4.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "tests/conformance/rma/rma_conformance.hpp"
#include "tests/support/process_facts.hpp"

namespace duofi::test {
namespace {

// C-1: all 128 bytes of the slot are written, whatever it held before.
DUOFI_RMA_CONFORMANCE(handles_are_written_whole) {
    const Rma& rma = rma_of(rank);
    const RmaOwned instance = open_instance(rma, 1);
    std::array<bool, NCCL_NET_HANDLE_MAXSIZE> written{};
    for (int round = 0; round < 12; ++round) {
        Handle slot;
        slot.fill(static_cast<char>(11 + 37 * round));
        const Handle before = slot;
        void* comm = nullptr;
        expect_success(rma->listen(instance.get(), 0, slot.data(), &comm), "listen");
        for (std::size_t i = 0; i < slot.size(); ++i) written[i] |= slot[i] != before[i];
        expect_success(rma->close_listen(comm), "closeListen");
    }
    for (std::size_t i = 0; i < written.size(); ++i)
        require(written[i], "byte {} of the handle is never written", i);
}

// C-2, C-3: handles are copied; the context that connect gets is anything but ours.
DUOFI_RMA_CONFORMANCE(connect_does_not_look_at_its_context) {
    const Rma& rma = rma_of(rank);
    void* forbidden = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(forbidden != MAP_FAILED, "no page");
    int stranger = 0;  // what the net side of a caller may hand over
    for (void* ctx : {forbidden, static_cast<void*>(&stranger), static_cast<void*>(nullptr)}) {
        RmaTeam team;
        team.rma = &rma;
        team.index = rank.index;
        team.count = rank.count;
        team.instance = open_instance(rma, 5);
        RmaListener listener = rma_listen(rma, team.instance.get());
        const auto handles = rank.all_gather(listener.handle);
        void* comm = nullptr;
        expect_success(rma_connect(rma, ctx, handles, rank.index, listener.comm.get(), &comm),
                       "connect with a foreign context");
        team.coll = own_coll(rma, comm);
        listener.comm.close();
        team.context = open_context(rma, comm);
        exchange_all(rank, team);
        team.close();
    }
    ::munmap(forbidden, 4096);
}

// C-4: numbers are those of the group: all ranks backwards.
DUOFI_RMA_CONFORMANCE(groups_number_their_own_ranks) {
    TeamOptions options;
    for (int i = rank.count - 1; i >= 0; --i) options.members.push_back(i);
    RmaTeam team(rank, rma_of(rank), options);
    require(team.index == rank.count - 1 - rank.index, "wrong place in the group");
    exchange_all(rank, team);
}

// C-4: the even and the odd ranks as groups of their own, at the same time.
DUOFI_RMA_CONFORMANCE(rails_are_groups) {
    TeamOptions options;
    for (int i = rank.index % 2; i < rank.count; i += 2) options.members.push_back(i);
    options.comm_id = 100 + static_cast<std::uint64_t>(rank.index % 2);
    RmaTeam team(rank, rma_of(rank), options);
    exchange_all(rank, team);
}

// C-5: ranks arrive one after the other, and the first is at work before the last is through.
DUOFI_RMA_CONFORMANCE(ranks_arrive_with_skew) {
    const Rma& rma = rma_of(rank);
    for (const bool reversed : {false, true}) {
        const int turn = reversed ? rank.count - 1 - rank.index : rank.index;
        RmaTeam team;
        team.rma = &rma;
        team.index = rank.index;
        team.count = rank.count;
        team.instance = open_instance(rma, 9);
        RmaListener listener = rma_listen(rma, team.instance.get());
        const auto handles = rank.all_gather(listener.handle);
        ::usleep(static_cast<useconds_t>(turn * (is_full(rank) ? 1'000'000 : 60'000)));
        void* comm = nullptr;
        expect_success(
            rma_connect(rma, team.instance.get(), handles, rank.index, listener.comm.get(), &comm),
            "connect");
        team.coll = own_coll(rma, comm);
        listener.comm.close();
        team.context = open_context(rma, comm);
        exchange_all(rank, team);
        team.close();
    }
}

// C-6: a group of one, and the own rank as a peer.
DUOFI_RMA_CONFORMANCE(one_rank_alone) {
    TeamOptions options;
    options.members = {rank.index};
    options.comm_id = 7 + static_cast<std::uint64_t>(rank.index);
    RmaTeam team(rank, rma_of(rank), options);
    RmaMemory window(team, 100000);
    SignalWords words(team, 2);
    for (std::uint64_t seed = 0; seed < 5; ++seed) exchange_self(team, window, words, seed);
}

// Three ranks of the group, when there are that many.
DUOFI_RMA_CONFORMANCE(three_ranks) {
    if (rank.count < 4) return;
    TeamOptions options;
    options.members = {2, 0, 1};
    RmaTeam team(rank, rma_of(rank), options);
    if (team) {
        RmaMemory window(team, 5000);
        SignalWords words(team, 4);
        const RmaStream on = team.on();
        for (int to = 0; to < 3; ++to)
            rma_wait(
                on, post_signal(on, nothing(to), inc(words, static_cast<std::size_t>(team.index))));
        for (std::size_t from = 0; from < 3; ++from) words.await(on, from, 1);
        exchange_self(team, window, words, 3);
        rank.barrier();
        return;
    }
    rank.barrier();
}

// C-7: the listen comm closes after the collComm.
DUOFI_RMA_CONFORMANCE(listen_comm_closes_last) {
    TeamOptions options;
    options.keep_listener = true;
    RmaTeam team(rank, rma_of(rank), options);
    exchange_all(rank, team);
    team.context.close();
    team.coll.close();
    rank.barrier();
    team.listener.close();
    team.instance.close();
}

// C-8: a listen comm that nobody connects to leaves nothing behind.
DUOFI_RMA_CONFORMANCE(listen_comms_without_connect) {
    const Rma& rma = rma_of(rank);
    const RmaOwned instance = open_instance(rma, 3);
    constexpr int kSettled = 3;
    ProcessFacts settled;
    for (int round = 0; round < 20; ++round) {
        RmaListener first = rma_listen(rma, instance.get());
        RmaListener second = rma_listen(rma, instance.get());
        require(first.handle != second.handle, "two listen comms gave one handle");
        second.comm.close();
        first.comm.close();
        if (round + 1 == kSettled) settled = ProcessFacts::now();
    }
    if (rank.mode == RankMode::threads) return;  // the other ranks' threads come and go
    const ProcessFacts last = ProcessFacts::now();
    require(last.threads <= settled.threads, "threads grew from {} to {}", settled.threads,
            last.threads);
    require(last.descriptors.size() <= settled.descriptors.size(), "descriptors grew: {} then {}",
            settled.to_string(), last.to_string());
}

// C-9: what one rank cannot use fails on every rank, and the next group works.
DUOFI_RMA_CONFORMANCE(a_bad_handle_fails_on_all_ranks) {
    log_capture::expect_warn("");
    const Rma& rma = rma_of(rank);
    for (const char filling : {'\0', '\xff'}) {
        const RmaOwned instance = open_instance(rma, 11);
        RmaListener listener = rma_listen(rma, instance.get());
        auto handles = rank.all_gather(listener.handle);
        handles.back().fill(filling);
        void* comm = &comm;
        const Nanoseconds start = now_ns();
        const ncclResult_t result =
            rma_connect(rma, instance.get(), handles, rank.index, listener.comm.get(), &comm);
        require(result == ncclInvalidArgument, "connect with a bad handle gave {}",
                result_name(result));
        require(comm == nullptr, "a failed connect left the collComm word as it was");
        require(now_ns() - start < patience(5 * kSecond), "a bad handle took long");
    }
    rank.barrier();
    RmaTeam team(rank, rma);
    exchange_all(rank, team);
}

// L-14, T-4: two instances per communicator, several communicators, all at work at once; either
// instance may go first.
DUOFI_RMA_CONFORMANCE(several_communicators) {
    const Rma& rma = rma_of(rank);
    for (const bool gin_first : {true, false}) {
        const int count = rank.count > 4 ? 2 : 3;
        std::vector<RmaTeam> teams;
        std::vector<RmaOwned> gin;
        for (int i = 0; i < count; ++i) {
            TeamOptions options;
            options.comm_id = 1000 + static_cast<std::uint64_t>(i);
            teams.emplace_back(rank, rma, options);
            gin.push_back(open_instance(rma, options.comm_id));
            require(gin.back().get() != teams.back().instance.get(), "init gave one pointer twice");
        }
        for (const RmaTeam& team : teams) exchange_all(rank, team);
        for (std::size_t i = 0; i < teams.size(); ++i) {
            if (gin_first) gin[i].close();
            teams[i].close();
            if (!gin_first) gin[i].close();
            if (i + 1 < teams.size()) exchange_all(rank, teams[i + 1]);
        }
    }
}

// L-16, L-17: no logger; finalize of nothing.
DUOFI_RMA_CONFORMANCE(instances_without_logger) {
    const Rma& rma = rma_of(rank);
    void* ctx = nullptr;
    expect_success(rma->init(&ctx, 1, nullptr), "init without a logger");
    require(ctx != nullptr, "init gave no instance");
    RmaListener listener = rma_listen(rma, ctx);
    listener.comm.close();
    expect_success(rma->finalize(ctx), "finalize");
    expect_success(rma->finalize(nullptr), "finalize of NULL");
}

}  // namespace
}  // namespace duofi::test
