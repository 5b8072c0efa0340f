// Grouped receives and tags: net contract 3.4, 9.1 grouped_recv and eager_multirecv, T14.
#include <algorithm>
#include <random>

#include "tests/conformance/conformance.hpp"

namespace duofi::test {
namespace {

constexpr Lead kLeads[] = {Lead::free, Lead::sender_first, Lead::receiver_first};

// `groups` receives of `parts` parts; tag(i) and bytes(i) of part i of the whole plan.
template <typename Tag, typename Bytes>
Plan grouped(int groups, int parts, Tag tag, Bytes bytes) {
    Plan plan;
    plan.send_window = 32 * parts;
    for (int g = 0; g < groups; ++g) {
        RecvSpec recv;
        for (int p = 0; p < parts; ++p) {
            const int i = g * parts + p;
            plan.sends.push_back({bytes(i), tag(i)});
            recv.push_back({bytes(i) + i % 3, tag(i)});
        }
        plan.recvs.push_back(std::move(recv));
    }
    return plan;
}

// n = 1, 2, 8; own tags, one tag for all; small, mixed and large.
DUOFI_CONFORMANCE(groups_of_every_width) {
    Link link = connect_pair(rank, Net::process());
    const int groups = amount(rank, 12);
    for (const int parts : {1, 2, 3, 8}) {
        rank.step("width " + std::to_string(parts));
        const auto own = [&](int i) { return i % parts; };
        const auto same = [](int) { return 42; };
        const auto small = [](int i) { return 100 + i; };
        const auto mixed = [](int i) { return i % 2 == 0 ? 256 : 20000 + i; };
        run_plan(rank, link, grouped(groups, parts, own, small));
        run_plan(rank, link, grouped(groups, parts, own, mixed));
        run_plan(rank, link, grouped(groups, parts, same, mixed));
    }
    rank.barrier();
}

DUOFI_CONFORMANCE(groups_of_eight_megabytes) {
    Link link = connect_pair(rank, Net::process());
    Plan plan = grouped(
        2, 8, [](int i) { return i % 8; }, [](int) { return 1 << 20; });
    plan.recv_window = 1;
    plan.send_window = 8;
    run_plan(rank, link, plan);
    rank.barrier();
}

// Widths 1 to 8 in turn on one comm, either side first.
DUOFI_CONFORMANCE(changing_widths) {
    Link link = connect_pair(rank, Net::process());
    Plan plan;
    plan.send_window = 64;
    for (int i = 0; i < amount(rank, 64); ++i) {
        RecvSpec recv;
        for (int p = 0; p <= i % 8; ++p) {
            const int bytes = (p + i) % 4 == 0 ? 9000 + i : 10 * p;
            plan.sends.push_back({bytes, p});
            recv.push_back({bytes, p});
        }
        plan.recvs.push_back(recv);
    }
    for (const Lead lead : kLeads) {
        plan.lead = lead;
        run_plan(rank, link, plan);
    }
    rank.barrier();
}

DUOFI_CONFORMANCE_IN_THREADS(changing_widths)

// recv(n=1, tag 8), recv(n=8, tags 0-7); sends come as 0, 8, 1..7.
DUOFI_CONFORMANCE(a_later_group_is_served_first) {
    Link link = connect_pair(rank, Net::process());
    for (const int bytes : {64, 8192, 8193, 100000}) {
        for (const Lead lead : kLeads) {
            if (is_slow(rank) && lead != kLeads[bytes % 3]) continue;
            Plan plan;
            plan.lead = lead;
            for (int round = 0; round < 3; ++round) {
                for (const int tag : {0, 8, 1, 2, 3, 4, 5, 6, 7})
                    plan.sends.push_back({bytes, tag});
                plan.recvs.push_back({{bytes, 8}});
                RecvSpec rest;
                for (int tag = 0; tag < 8; ++tag) rest.push_back({bytes, tag});
                plan.recvs.push_back(rest);
            }
            run_plan(rank, link, plan);
        }
    }
    rank.barrier();
}

// All orders of an eager, a border and a large message, in a group and alone, either side first.
DUOFI_CONFORMANCE(all_orders_of_eager_and_large) {
    Link link = connect_pair(rank, Net::process());
    const std::vector<SendSpec> kinds = {{100, 1}, {8192, 2}, {8193, 3}, {70000, 4}};
    std::vector<int> order = {0, 1, 2, 3};
    int turn = 0;
    int left = is_slow(rank) ? 6 : 24;
    do {
        Plan plan;
        plan.lead = kLeads[turn++ % 3];
        for (const int i : order) plan.sends.push_back(kinds[static_cast<std::size_t>(i)]);
        for (const int i : order) plan.sends.push_back(kinds[static_cast<std::size_t>(3 - i)]);
        RecvSpec group;
        for (const SendSpec& kind : kinds) group.push_back({kind.bytes, kind.tag});
        plan.recvs.push_back(group);
        for (const SendSpec& kind : kinds) plan.recvs.push_back({{kind.bytes + 1, kind.tag}});
        run_plan(rank, link, plan);
    } while (--left > 0 && std::next_permutation(order.begin(), order.end()));
    rank.barrier();
}

// The queue of 32 groups of 8 is full, sizes at the eager limit with and without header.
DUOFI_CONFORMANCE(full_queue_of_groups) {
    Link link = connect_pair(rank, Net::process());
    const int groups = rank.text("provider") == "sockets" ? 8 : 32;
    for (const int bytes : {8184, 8185, 16}) {
        Plan plan = grouped(
            groups, 8, [](int i) { return i % 8; }, [&](int) { return bytes; });
        plan.lead = Lead::receiver_first;
        run_plan(rank, link, plan);
    }
    rank.barrier();
}

// T14: tags in another order than the receives, duplicates, short and long receives.
Plan shuffled_plan(std::uint32_t seed, int blocks) {
    std::minstd_rand random(seed);
    const std::vector<int> sizes = {0, 8, 500, 8100, 8192, 8193, 12000, 70000};
    Plan plan;
    plan.seed = seed;
    plan.send_window = 64;
    plan.sometimes_no_sizes = true;
    for (int block = 0; block < blocks; ++block) {
        std::vector<PartSpec> parts;
        for (int i = 0; i < 24; ++i) {
            const int bytes = sizes[random() % sizes.size()];
            const int tag = static_cast<int>(random() % 5) * 1000;
            plan.sends.push_back({bytes, tag});
            parts.push_back(
                {random() % 4 == 0 ? bytes / 2 : bytes + static_cast<int>(random() % 2), tag});
        }
        std::shuffle(parts.begin(), parts.end(), random);
        for (std::size_t at = 0; at < parts.size();) {
            const std::size_t width = std::min<std::size_t>(1 + random() % 8, parts.size() - at);
            plan.recvs.emplace_back(parts.begin() + static_cast<std::ptrdiff_t>(at),
                                    parts.begin() + static_cast<std::ptrdiff_t>(at + width));
            at += width;
        }
    }
    return plan;
}

DUOFI_CONFORMANCE(tags_in_any_order) {
    Link link = connect_pair(rank, Net::process());
    const int rounds = amount(rank, 24, 200);
    for (int round = 0; round < rounds; ++round) {
        Plan plan = shuffled_plan(static_cast<std::uint32_t>(round) + 1, 3);
        plan.lead = kLeads[round % 3];
        rank.step("round " + std::to_string(round));
        run_plan(rank, link, plan);
    }
    rank.barrier();
}

// Tags of the whole int range mean themselves.
DUOFI_CONFORMANCE(extreme_tags) {
    Link link = connect_pair(rank, Net::process());
    Plan plan;
    const std::vector<int> tags = {0, 1, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x1000000, 0x7FFFFFFF};
    for (const int tag : tags) plan.sends.push_back({300, tag});
    for (auto tag = tags.rbegin(); tag != tags.rend(); ++tag) plan.recvs.push_back({{300, *tag}});
    run_plan(rank, link, plan);
    rank.barrier();
}

}  // namespace
}  // namespace duofi::test
