// More messages than a sequence number of 10 or 12 bits holds, all of them above the eager limit, in both directions and
// in one: net contract 5.4, 3.5, T20.
#include "tests/conformance/conformance.hpp"

namespace duofi::test {
namespace {

constexpr int kAboveEager = 8193;

// T20: a number that wraps must not mistake a message for one of the round before.
DUOFI_CONFORMANCE(sequence_numbers_of_large_messages_wrap) {
    Link link = connect_pair(rank, Net::process());
    Plan plan;
    for (int i = 0; i < amount(rank, 5000, 70000); ++i) plan.add(kAboveEager, kAboveEager + i % 2, i % 3);
    run_plan(rank, link, plan);
    rank.barrier();
}

// T20 with groups, which count once for several messages: widths 1 to 8 in turn, one message of eight is large.
DUOFI_CONFORMANCE(sequence_numbers_of_groups_wrap) {
    Link link = connect_pair(rank, Net::process());
    Plan plan;
    plan.send_window = 128;
    for (int group = 0; group < amount(rank, 1300, 20000); ++group) {
        RecvSpec parts;
        for (int tag = 0; tag <= group % 8; ++tag) {
            const int bytes = (group + tag) % 8 == 0 ? kAboveEager : 40 + tag;
            plan.sends.push_back({bytes, tag});
            parts.push_back({bytes, tag});
        }
        plan.recvs.push_back(parts);
    }
    run_plan(rank, link, plan);
    rank.barrier();
}

// No traffic of the other direction carries anything along: one rank of a pair only sends, then only receives.
DUOFI_CONFORMANCE(traffic_in_one_direction) {
    Link link = connect_pair(rank, Net::process());
    Plan plan;
    for (int i = 0; i < amount(rank, 800, 20000); ++i) {
        const int bytes = i % 4 == 0 ? 100 : i % 50 == 1 ? 300000 : kAboveEager;
        plan.add(bytes, i % 7 == 0 ? bytes / 2 : bytes);
    }
    for (const int sender : {0, 1}) {
        plan.sending = rank.index % 2 == sender;
        plan.receiving = !plan.sending;
        for (const Lead lead : {Lead::free, Lead::sender_first, Lead::receiver_first}) {
            plan.lead = lead;
            rank.step("rank " + std::to_string(sender) + " sends");
            run_plan(rank, link, plan);
        }
    }
    rank.barrier();
}

// One message at a time, each an answer to the one before.
DUOFI_CONFORMANCE(messages_answer_each_other) {
    Link link = connect_pair(rank, Net::process());
    for (int round = 0; round < amount(rank, 100, 5000); ++round) {
        for (const int sender : {0, 1}) {
            Plan plan;
            plan.seed = static_cast<std::uint64_t>(round);
            plan.sending = rank.index % 2 == sender;
            plan.receiving = !plan.sending;
            plan.add(round % 2 == 0 ? kAboveEager + round : round, 20000);
            run_plan(rank, link, plan);
        }
    }
    rank.barrier();
}

}  // namespace
}  // namespace duofi::test
