#include "tests/support/rma_team.hpp"

#include <algorithm>
#include <atomic>

namespace duofi::test {

RmaTeam::RmaTeam(Rank& rank, const Rma& table, const TeamOptions& options) : rma(&table) {
    rank.step("team");
    std::vector<int> members = options.members;
    if (members.empty()) {
        for (int i = 0; i < rank.count; ++i) members.push_back(i);
    }
    const auto place = std::find(members.begin(), members.end(), rank.index);
    const bool belongs = place != members.end();
    Handle mine{};
    if (belongs) {
        instance = open_instance(table, options.comm_id);
        RmaListener listening = rma_listen(table, instance.get(), options.dev);
        listener = std::move(listening.comm);
        mine = listening.handle;
    }
    const std::vector<Handle> all = rank.all_gather(mine);
    if (!belongs) return;
    index = static_cast<int>(place - members.begin());
    count = static_cast<int>(members.size());
    std::vector<Handle> handles;
    for (const int member : members) handles.push_back(all[static_cast<std::size_t>(member)]);
    void* comm = nullptr;
    rank.step("connect");
    expect_success(rma_connect(table, instance.get(), handles, index, listener.get(), &comm),
                   "connect");
    require(comm != nullptr, "connect gave no comm");
    coll = own_coll(table, comm);
    if (!options.keep_listener) listener.close();
    rank.step("createContext");
    context = open_context(table, comm, options.contexts, options.stride);
    rank.step("");
}

void RmaTeam::close() {
    context.close();
    coll.close();
    listener.close();
    instance.close();
}

RmaOwned register_rma(const Rma& rma, void* coll, void* data, std::size_t bytes,
                      std::uint64_t flags, int type) {
    void* mhandle = nullptr;
    expect_success(rma->reg_mr_sym(coll, data, bytes, type, flags, &mhandle), "regMrSym");
    require(mhandle != nullptr, "regMrSym gave no handle");
    return {mhandle, "deregMrSym",
            [&rma, coll](void* object) { return rma->dereg_mr_sym(coll, object); }};
}

std::uint64_t SignalWords::load(std::size_t word) const {
    return std::atomic_ref<const std::uint64_t>(words_[word]).load(std::memory_order_acquire);
}

void SignalWords::store(std::size_t word, std::uint64_t value) {
    std::atomic_ref<std::uint64_t>(words_[word]).store(value, std::memory_order_release);
}

template <typename Between>
void SignalWords::await_with(std::size_t word, std::uint64_t value, bool at_least,
                             Between between) const {
    const Deadline deadline(rma_patience());
    for (;;) {
        const std::uint64_t now = load(word);
        require(at_least || now <= value, "signal word {} is {}, more than {}", word, now, value);
        if (now >= value) return;
        require(!deadline.passed(), "signal word {} stays at {}, {} is due", word, now, value);
        between();
    }
}

void SignalWords::await(std::size_t word, std::uint64_t value, bool at_least) const {
    await_with(word, value, at_least, [] { relax(); });
}

void SignalWords::await(const RmaStream& on, std::size_t word, std::uint64_t value,
                        bool at_least) const {
    await_with(word, value, at_least, [&on] {
        expect_success((*on.rma)->progress(on.ctx), "rmaProgress");
        relax();
    });
}

RmaSignal inc(const SignalWords& words, std::size_t word, bool strong) {
    return {8 * word, words.handle(), 0x5555, NCCL_NET_SIGNAL_OP_INC, strong};
}

RmaSignal add(const SignalWords& words, std::size_t word, std::uint64_t value, bool strong) {
    return {8 * word, words.handle(), value, NCCL_NET_SIGNAL_OP_ADD, strong};
}

RmaPut copy(const RmaMemory& source, std::uint64_t from, std::size_t bytes, const RmaMemory& target,
            std::uint64_t to, int rank) {
    return {from, source.handle(), bytes, to, target.handle(), rank, 0};
}

}  // namespace duofi::test
