// What no caller should pass: rma contract 3.14, 6.6; each call gets its code and disturbs nobody.
#include <array>

#include "tests/conformance/rma/rma_conformance.hpp"

namespace duofi::test {
namespace {

void expect_code(ncclResult_t result, ncclResult_t due, const char* what) {
    require(result == due, "{} gave {}, not {}", what, result_name(result), result_name(due));
}

// Nothing where an object or a place for the answer is due.
DUOFI_RMA_CONFORMANCE(null_pointers) {
    log_capture::expect_warn("");
    RmaTeam team(rank, rma_of(rank));
    const Rma& rma = *team.rma;
    RmaMemory window(team, 64);
    SignalWords words(team, 1);
    void* out = nullptr;
    Handle handle{};
    std::array<char, 64> data{};
    expect_code(rma->devices(nullptr), ncclInvalidArgument, "devices without place");
    expect_code(rma->properties(0, nullptr), ncclInvalidArgument, "getProperties without place");
    expect_code(rma->init(nullptr, 1, nullptr), ncclInvalidArgument, "init without place");
    expect_code(rma->listen(nullptr, 0, handle.data(), &out), ncclInvalidArgument,
                "listen on NULL");
    expect_code(rma->listen(team.instance.get(), 0, nullptr, &out), ncclInvalidArgument,
                "listen without handle");
    expect_code(rma->listen(team.instance.get(), 0, handle.data(), nullptr), ncclInvalidArgument,
                "listen without place");
    for (const int dev : {-1, rma.devices(), 1 << 20})
        expect_code(rma->listen(team.instance.get(), dev, handle.data(), &out), ncclInvalidArgument,
                    "listen on no device");
    expect_code(rma->reg_mr_sym(nullptr, data.data(), 64, NCCL_PTR_HOST, 0, &out),
                ncclInvalidArgument, "regMrSym on NULL");
    expect_code(rma->test(team.coll.get(), nullptr, nullptr), ncclInvalidArgument,
                "test without place");
    const RmaPut put = copy(window, 0, 8, window, 8, team.index);
    expect_code(try_put(team.on(), put, nullptr), ncclInvalidArgument, "iput without place");
    expect_code(try_signal(team.on(), put, inc(words, 0), nullptr), ncclInvalidArgument,
                "iputSignal without place");
    expect_code(try_get(team.on(), put, nullptr), ncclInvalidArgument, "iget without place");
    const RmaStream none{team.rma, team.coll.get(), nullptr, 0};
    expect_refused([&](void** r) { return try_put(none, put, r); }, "iput on NULL");
    expect_refused([&](void** r) { return try_signal(none, put, inc(words, 0), r); },
                   "iputSignal on NULL");
    expect_refused([&](void** r) { return try_get(none, put, r); }, "iget on NULL");
    rank.barrier();
    exchange_all(rank, team);
}

// Numbers of connect that do not fit.
DUOFI_RMA_CONFORMANCE(bad_numbers_of_connect) {
    log_capture::expect_warn("");
    const Rma& rma = rma_of(rank);
    const RmaOwned instance = open_instance(rma, 1);
    RmaListener listener = rma_listen(rma, instance.get());
    std::vector<Handle> handles(2, listener.handle);
    std::array<void*, 2> pointers{handles[0].data(), handles[1].data()};
    const auto attempt = [&](void** all, int ranks, int index, void* listen_comm, void** comm) {
        return rma->connect(instance.get(), all, ranks, index, listen_comm, comm);
    };
    void* comm = nullptr;
    expect_code(attempt(pointers.data(), 0, 0, listener.comm.get(), &comm), ncclInvalidArgument,
                "connect of nobody");
    expect_code(attempt(pointers.data(), -3, 0, listener.comm.get(), &comm), ncclInvalidArgument,
                "connect of -3 ranks");
    expect_code(attempt(pointers.data(), 2, 2, listener.comm.get(), &comm), ncclInvalidArgument,
                "connect as rank 2 of 2");
    expect_code(attempt(pointers.data(), 2, -1, listener.comm.get(), &comm), ncclInvalidArgument,
                "connect as rank -1");
    expect_code(attempt(nullptr, 2, 0, listener.comm.get(), &comm), ncclInvalidArgument,
                "connect without handles");
    expect_code(attempt(pointers.data(), 2, 0, nullptr, &comm), ncclInvalidArgument,
                "connect without listen comm");
    expect_code(attempt(pointers.data(), 2, 0, listener.comm.get(), nullptr), ncclInvalidArgument,
                "connect without place");
    require(comm == nullptr, "a refused connect gave a comm");
    rank.barrier();
    RmaTeam team(rank, rma);
    exchange_all(rank, team);
}

// Configurations of a context that cannot be.
DUOFI_RMA_CONFORMANCE(bad_context_configurations) {
    log_capture::expect_warn("");
    RmaTeam team(rank, rma_of(rank));
    for (const int contexts : {0, -1, -2147483647}) {
        ncclRmaConfig_v16_t config{contexts, -1, 1};
        void* ctx = &ctx;
        expect_code((*team.rma)->create_context(team.coll.get(), &config, &ctx),
                    ncclInvalidArgument, "createContext");
        require(ctx == nullptr, "a refused createContext left its word as it was");
    }
    ncclRmaConfig_v16_t config{1, -1, 1};
    void* ctx = nullptr;
    expect_code((*team.rma)->create_context(nullptr, &config, &ctx), ncclInvalidArgument,
                "createContext on NULL");
    expect_code((*team.rma)->create_context(team.coll.get(), &config, nullptr), ncclInvalidArgument,
                "createContext without place");
    exchange_all(rank, team);
}

// 6.6: a region of another collComm.
DUOFI_RMA_CONFORMANCE(regions_of_another_group) {
    log_capture::expect_warn("");
    RmaTeam team(rank, rma_of(rank));
    TeamOptions options;
    options.comm_id = 77;
    RmaTeam other(rank, rma_of(rank), options);
    RmaMemory own(team, 64);
    RmaMemory foreign(other, 64);
    SignalWords words(other, 1);
    own.buffer.fill(1);
    foreign.buffer.fill(2);
    rank.barrier();
    const int to = (team.index + 1) % team.count;
    for (const RmaPut& put : {copy(own, 0, 8, foreign, 8, to), copy(foreign, 0, 8, own, 8, to)}) {
        expect_refused([&](void** r) { return try_put(team.on(), put, r); }, "iput");
        expect_refused([&](void** r) { return try_get(team.on(), put, r); }, "iget");
    }
    expect_refused([&](void** r) { return try_signal(team.on(), nothing(to), inc(words, 0), r); },
                   "iputSignal");
    rank.barrier();
    require(!first_mismatch(own.data(), 64, 1) && !first_mismatch(foreign.data(), 64, 2) &&
                words.load(0) == 0,
            "a refused call did something");
    exchange_all(rank, team);
    exchange_all(rank, other);
}

// 6.6: a collComm that closes with live contexts and regions: tolerated, and nothing hangs.
DUOFI_RMA_CONFORMANCE(a_group_closes_first) {
    log_capture::expect_warn("");
    RmaTeam team(rank, rma_of(rank));
    RmaMemory window(team, 64 << 10);
    SignalWords words(team, 1);
    rank.barrier();
    for (int i = 0; i < 20; ++i) {
        void* request = nullptr;
        const int to = (team.index + 1) % team.count;
        const ncclResult_t posted =
            try_signal(team.on(), copy(window, 0, 1000, window, 5000, to), inc(words, 0), &request);
        // The neighbour may have closed already.
        require(posted == ncclSuccess || posted == ncclRemoteError, "iputSignal gave {}",
                result_name(posted));
    }
    const ncclResult_t result = (*team.rma)->close_coll(team.coll.get());
    require(result == ncclSuccess || result == ncclInvalidUsage, "closeColl gave {}",
            result_name(result));
    if (result == ncclSuccess) {
        team.coll.abandon();
        // What belonged to it is gone with it.
        team.context.abandon();
        window.mr.abandon();
        words.mr.abandon();
    }
    rank.barrier();
    window.mr.close();
    words.mr.close();
    team.close();
    RmaTeam again(rank, rma_of(rank));
    exchange_all(rank, again);
}

}  // namespace
}  // namespace duofi::test
