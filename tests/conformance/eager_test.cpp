// Messages below, at and above the eager limit against receives that come early or late: net contract 9.1
// eager_multirecv, 3.4. Every receive of a plan is posted before it is awaited, so that no order needs memory for more
// than a message in advance.
#include <algorithm>

#include "tests/conformance/conformance.hpp"

namespace duofi::test {
namespace {

constexpr Lead kEitherFirst[] = {Lead::sender_first, Lead::receiver_first, Lead::free};
constexpr int kSmall = 100;
constexpr int kLarge = 70000;

void sends_of(Plan& plan, int bytes, std::initializer_list<int> tags) {
    for (const int tag : tags) plan.sends.push_back({bytes, tag});
}

RecvSpec group_of(int bytes, std::initializer_list<int> tags) {
    RecvSpec group;
    for (const int tag : tags) group.push_back({bytes, tag});
    return group;
}

// All sizes around the limit, with and without room for a header, also cut by one byte.
Plan around_the_limit() {
    Plan plan;
    for (int bytes = 8183; bytes <= 8194; ++bytes) {
        plan.add(bytes, bytes);
        plan.add(bytes, bytes - 1);
        plan.add(bytes, bytes + 1);
    }
    return plan;
}

// Groups whose messages are all eager, one of both kinds, and single ones between them.
Plan inside_groups() {
    Plan plan;
    for (int round = 0; round < 3; ++round) {
        sends_of(plan, kSmall, {0, 1, 2, 3});
        plan.recvs.push_back(group_of(kSmall, {0, 1, 2, 3}));
        plan.add(kSmall + round, kSmall + round, 9);
        for (int tag = 0; tag < 8; ++tag) plan.sends.push_back({tag % 2 == round % 2 ? kSmall : kLarge, tag});
        plan.recvs.push_back(group_of(kLarge, {0, 1, 2, 3, 4, 5, 6, 7}));
        plan.add(kLarge, kLarge, 9);
    }
    return plan;
}

// Eager messages between large ones of the same tag keep their order.
Plan both_kinds_in_turn() {
    Plan plan;
    for (int i = 0; i < 24; ++i) {
        const int bytes = i % 3 == 0 ? kLarge + i : kSmall + i;
        plan.add(bytes, bytes);
    }
    return plan;
}

// A message is put back until its receive comes: the first tags sent are the last received.
Plan put_back(int first, int second) {
    Plan plan;
    sends_of(plan, first, {1, 1});
    sends_of(plan, second, {2, 3});
    sends_of(plan, first, {4});
    for (const auto& [bytes, tag] : std::vector<std::pair<int, int>>{{first, 4}, {second, 3}, {second, 2}})
        plan.recvs.push_back({{bytes, tag}});
    plan.recvs.push_back(group_of(first, {1, 1}));
    return plan;
}

// Nothing at all, into nothing, and out of nothing.
Plan empty_ones() {
    Plan plan;
    for (const int bytes : {0, kSmall, 8192, 8193, kLarge}) {
        plan.add(bytes, 0);
        plan.add(0, bytes);
        plan.add(bytes, bytes);
    }
    return plan;
}

struct Scenario {
    const char* name;
    Plan plan;
};

std::vector<Scenario> scenarios() {
    Plan one;
    one.add(kSmall, kSmall);
    Plan four;
    for (int i = 0; i < 4; ++i) four.add(kSmall + i, kSmall + i);
    return {{"one", one},
            {"four in a row", four},
            {"around the limit", around_the_limit()},
            {"inside groups", inside_groups()},
            {"both kinds in turn", both_kinds_in_turn()},
            {"eager put back", put_back(kSmall, kSmall)},
            {"eager put back behind large", put_back(kSmall, kLarge)},
            {"large put back behind eager", put_back(kLarge, kSmall)},
            {"empty", empty_ones()}};
}

DUOFI_CONFORMANCE(eager_scenarios) {
    Link link = connect_pair(rank, Net::process());
    int turn = 0;
    for (Scenario& scenario : scenarios()) {
        ++turn;
        for (const Lead lead : kEitherFirst) {
            if (is_slow(rank) && lead != kEitherFirst[turn % 3]) continue;
            rank.step(scenario.name);
            scenario.plan.lead = lead;
            run_plan(rank, link, scenario.plan);
        }
    }
    rank.barrier();
}
DUOFI_CONFORMANCE_IN_THREADS(eager_scenarios)

// `count` messages are sent before any receive exists, then taken by groups of 8 in the order of the tags or the reverse.
Plan unmatched(int count, int bytes, bool reverse) {
    Plan plan;
    plan.lead = Lead::sender_first;
    plan.send_window = NCCL_NET_MAX_REQUESTS * NCCL_NET_MAX_RECVS;
    for (int tag = 0; tag < count; ++tag) plan.sends.push_back({bytes, tag});
    RecvSpec parts;
    for (int tag = 0; tag < count; ++tag) parts.push_back({bytes, reverse ? count - 1 - tag : tag});
    for (std::size_t at = 0; at < parts.size(); at += NCCL_NET_MAX_RECVS) {
        const std::size_t end = std::min(parts.size(), at + NCCL_NET_MAX_RECVS);
        plan.recvs.emplace_back(parts.begin() + static_cast<std::ptrdiff_t>(at),
                                parts.begin() + static_cast<std::ptrdiff_t>(end));
    }
    return plan;
}

DUOFI_CONFORMANCE(many_unmatched_eager_messages) {
    Link link = connect_pair(rank, Net::process());
    for (const int count : {31, 33, 63, 65, 129, 200}) {
        if ((is_slow(rank) || rank.count > 4) && count > 65) break;
        if (!is_full(rank) && count > (rank.count > 2 ? 65 : 129)) break;
        rank.step(std::to_string(count) + " unmatched");
        for (const int bytes : {64, 8184, 8192}) {
            if (is_slow(rank) && bytes != 64) continue;
            run_plan(rank, link, unmatched(count, bytes, false));
            run_plan(rank, link, unmatched(count, bytes, true));
        }
    }
    // A large message behind them is received before them.
    Plan plan = unmatched(96, 64, true);
    plan.sends.push_back({1 << 20, 1000});
    plan.recvs.insert(plan.recvs.begin(), RecvSpec{{1 << 20, 1000}});
    run_plan(rank, link, plan);
    rank.barrier();
}

// Four messages, two on either side of the limit: every order of sends meets every order of receives.
DUOFI_CONFORMANCE(all_orders_of_sends_and_receives) {
    Link link = connect_pair(rank, Net::process());
    constexpr std::array<int, 4> kSizes = {kSmall, 8192, 8193, 40000};
    std::array<int, 4> received = {0, 1, 2, 3};
    int turn = 0;
    do {
        Plan plan;
        plan.lead = kEitherFirst[turn % 3];
        std::array<int, 4> sent = {0, 1, 2, 3};
        int first_tag = 0;
        do {
            for (const int i : sent) plan.sends.push_back({kSizes[static_cast<std::size_t>(i)], first_tag + i});
            for (const int i : received) plan.recvs.push_back({{kSizes[static_cast<std::size_t>(i)], first_tag + i}});
            first_tag += 4;
        } while (std::next_permutation(sent.begin(), sent.end()));
        rank.step("order " + std::to_string(turn));
        run_plan(rank, link, plan);
        ++turn;
    } while (turn < (is_slow(rank) ? 3 : amount(rank, 24, 24)) && std::next_permutation(received.begin(), received.end()));
    rank.barrier();
}

// Three streams with a tag each, of both kinds, alone and in groups, are through in ten seconds.
DUOFI_CONFORMANCE(interleaved_streams_end_in_time) {
    Link link = connect_pair(rank, Net::process());
    const Deadline deadline(patience(10 * kSecond));
    Plan plan;
    plan.send_window = 96;
    for (int i = 0; i < amount(rank, 60); ++i) {
        const int bytes = i % 5 == 0 ? kLarge : 8190 + i % 5;
        sends_of(plan, bytes, {1, 2, 3});
        sends_of(plan, kSmall, {2, 1});
        plan.recvs.push_back(group_of(bytes, {3, 1}));
        plan.recvs.push_back({{bytes, 2}});
        plan.recvs.push_back(group_of(kSmall, {1, 2}));
    }
    for (const Lead lead : kEitherFirst) {
        plan.lead = lead;
        run_plan(rank, link, plan);
    }
    require(!deadline.passed(), "the streams took more than ten seconds");
    rank.barrier();
}

}  // namespace
}  // namespace duofi::test
