// Large messages around the borders where they are split over rails: net contract 5.4, 5.5, 9.1 nccl_message_transfer and
// grouped_recv, T11, T13.
#include <algorithm>
#include <random>

#include "tests/conformance/conformance.hpp"
#include "tests/support/memory_buffer.hpp"

namespace duofi::test {
namespace {

constexpr int kStripe = 131072;
constexpr Lead kAllLeads[] = {Lead::free, Lead::sender_first, Lead::receiver_first};

// One byte around one to four times the least stripe, and around what stripes are rounded to.
std::vector<int> border_sizes() {
    std::vector<int> sizes;
    for (int stripes = 1; stripes <= 4; ++stripes) {
        for (const int off : {-1, 0, 1, 127, 129}) sizes.push_back(stripes * kStripe + off);
    }
    return sizes;
}

DUOFI_CONFORMANCE(sizes_at_stripe_borders) {
    Link link = connect_pair(rank, Net::process());
    Plan plan;
    plan.send_window = plan.recv_window = 8;
    for (const int bytes : border_sizes()) plan.add(bytes, bytes);
    for (const int bytes : border_sizes()) plan.add(bytes, bytes + 1);
    for (const Lead lead : kAllLeads) {
        if ((is_slow(rank) || rank.count > 4) && lead != Lead::free) continue;
        plan.lead = lead;
        run_plan(rank, link, plan);
    }
    rank.barrier();
}

// The receive decides how much is sent, and with it the number of parts; what follows is whole.
DUOFI_CONFORMANCE(messages_cut_at_stripe_borders) {
    Link link = connect_pair(rank, Net::process());
    Plan plan;
    plan.send_window = plan.recv_window = 8;
    for (const int bytes : border_sizes()) {
        for (const int posted : {bytes - 1, bytes - kStripe, 64, 8192, 8193, 0}) plan.add(bytes, std::max(posted, 0));
        plan.add(bytes % 1000, bytes);
    }
    plan.add(2 << 20, kStripe + 1);
    plan.add(2 << 20, 1);
    plan.add(5000, 5000);
    for (const Lead lead : kAllLeads) {
        if ((is_slow(rank) || rank.count > 4) && lead != Lead::free) continue;
        plan.lead = lead;
        run_plan(rank, link, plan);
    }
    rank.barrier();
}
DUOFI_CONFORMANCE_IN_THREADS(messages_cut_at_stripe_borders)

// 9.1 grouped_recv: the parts of a group arrive in every order; each is split, cut or small by itself.
DUOFI_CONFORMANCE(parts_of_a_group_in_any_order) {
    Link link = connect_pair(rank, Net::process());
    const std::vector<int> sizes = {0, 64, 8192, 8193, 60000, kStripe + 1, 3 * kStripe, 5000};
    std::minstd_rand random(23);
    Plan plan;
    plan.send_window = 64;
    plan.recv_window = 8;
    for (int group = 0; group < amount(rank, 24, 400); ++group) {
        std::vector<SendSpec> sends;
        RecvSpec parts;
        for (int tag = 0; tag < NCCL_NET_MAX_RECVS; ++tag) {
            const int bytes = sizes[random() % sizes.size()];
            sends.push_back({bytes, tag});
            parts.push_back({random() % 4 == 0 ? bytes / 2 : bytes + static_cast<int>(random() % 2), tag});
        }
        std::shuffle(sends.begin(), sends.end(), random);
        std::shuffle(parts.begin(), parts.end(), random);
        plan.sends.insert(plan.sends.end(), sends.begin(), sends.end());
        plan.recvs.push_back(parts);
    }
    for (const Lead lead : kAllLeads) {
        plan.lead = lead;
        run_plan(rank, link, plan);
    }
    rank.barrier();
}
DUOFI_CONFORMANCE_IN_THREADS(parts_of_a_group_in_any_order)

// 9.1 grouped_recv: eight parts with one tag, each of another size, are filled in the order of the sends.
DUOFI_CONFORMANCE(eight_parts_of_one_tag) {
    Link link = connect_pair(rank, Net::process());
    const std::vector<int> sizes = {1, kStripe + 1, 64, 8193, 0, 2 * kStripe + 5, 8192, 300};
    for (int turn = 0; turn < amount(rank, 8, 40); ++turn) {
        Plan plan;
        plan.lead = kAllLeads[turn % 3];
        for (std::size_t group = 0; group < 4; ++group) {
            RecvSpec parts;
            for (std::size_t i = 0; i < sizes.size(); ++i) {
                const std::size_t at = (i + group + static_cast<std::size_t>(turn)) % sizes.size();
                plan.sends.push_back({sizes[at], 42});
                parts.push_back({sizes[at] + static_cast<int>(i % 2), 42});
            }
            plan.recvs.push_back(parts);
        }
        run_plan(rank, link, plan);
    }
    rank.barrier();
}

// Phases with another pattern each on one comm: wide groups, single large ones, pairs, wide ones again.
DUOFI_CONFORMANCE(patterns_change_between_phases) {
    Link link = connect_pair(rank, Net::process());
    for (int phase = 0; phase < amount(rank, 16, 100); ++phase) {
        constexpr std::array<int, 4> kWidths = {8, 1, 2, 5};
        constexpr std::array<int, 4> kBytes = {300, 3 * kStripe, 9000, 8192};
        const int width = kWidths[static_cast<std::size_t>(phase) % 4];
        const int bytes = kBytes[static_cast<std::size_t>(phase / 2) % 4];
        Plan plan;
        plan.seed = static_cast<std::uint64_t>(phase);
        plan.lead = kAllLeads[phase % 3];
        for (int group = 0; group < 3; ++group) {
            RecvSpec parts;
            for (int tag = 0; tag < width; ++tag) {
                plan.sends.push_back({bytes, tag});
                parts.push_back({bytes + tag % 2, tag});
            }
            plan.recvs.push_back(parts);
        }
        rank.step("phase " + std::to_string(phase));
        run_plan(rank, link, plan);
    }
    rank.barrier();
}

// One large registration per side; messages lie anywhere in it, so that its start is not theirs.
DUOFI_CONFORMANCE(data_lies_inside_its_registration) {
    Net& net = Net::process();
    Link link = connect_pair(rank, net);
    constexpr std::size_t kRegion = 3 << 20;
    MemoryBuffer out(kRegion);
    MemoryBuffer in(kRegion);
    out.fill(4);
    Registration out_mr(link.send, out.data(), kRegion);
    Registration in_mr(link.recv, in.data(), kRegion);
    std::minstd_rand random(9);  // the same on both sides
    for (int round = 0; round < amount(rank, 16, 300); ++round) {
        constexpr std::array<int, 4> kBytes = {100, 9000, kStripe + 1, 300000};
        in.poison();
        std::array<std::size_t, 4> from{};
        std::array<std::size_t, 4> to{};
        std::array<void*, 4> sends{};
        std::array<Part, 4> parts;
        for (std::size_t i = 0; i < 4; ++i) {
            const std::size_t room = kRegion / 4;
            from[i] = random() % (kRegion - static_cast<std::size_t>(kBytes[i]));
            to[i] = i * room + random() % (room - static_cast<std::size_t>(kBytes[i]));
            parts[i] = {in.data() + to[i], kBytes[i], static_cast<int>(i), in_mr.handle()};
        }
        void* recv = post_recv(link.recv, parts);
        for (std::size_t i = 4; i-- > 0;)
            sends[i] = post_send(link.send, {out.data() + from[i], kBytes[i], static_cast<int>(i), out_mr.handle()});
        const std::vector<int> got = wait(net, recv, 4);
        for (std::size_t i = 0; i < 4; ++i) {
            wait(net, sends[i]);
            require(got[i] == kBytes[i], "part {} has {} bytes", i, got[i]);
            const auto* begin = in.data() + to[i];
            require(std::equal(begin, begin + kBytes[i], out.data() + from[i]), "part {} is wrong", i);
            require(begin[-1] == MemoryBuffer::kPoison && begin[kBytes[i]] == MemoryBuffer::kPoison,
                    "part {} wrote outside", i);
        }
    }
    rank.barrier();
}

// Many comms between two ranks have large messages under way at once, sent in another order than they are received.
DUOFI_CONFORMANCE(large_messages_of_many_comms_at_once) {
    Net& net = Net::process();
    constexpr std::size_t kComms = 8;
    std::vector<Link> links;
    std::vector<MemoryBuffer> outs;
    std::vector<MemoryBuffer> ins;
    for (std::size_t k = 0; k < kComms; ++k) {
        links.push_back(connect_pair(rank, net));
        outs.emplace_back(kStripe + 10000 * k);
        ins.emplace_back(kStripe + 10000 * k);
    }
    for (int round = 0; round < amount(rank, 12, 200); ++round) {
        std::vector<Registration> held;
        std::array<void*, kComms> sends{};
        std::array<void*, kComms> recvs{};
        const auto seed = [&](int of, std::size_t k) { return static_cast<std::uint64_t>(of * 1000 + round) * 10 + k; };
        for (std::size_t k = 0; k < kComms; ++k) {
            outs[k].fill(seed(rank.index, k));
            ins[k].poison();
            held.emplace_back(links[k].recv, ins[k].data(), ins[k].size());
            const Part part{ins[k].data(), static_cast<int>(ins[k].size()), 1, held.back().handle()};
            recvs[k] = post_recv(links[k].recv, {&part, 1});
        }
        for (std::size_t k = kComms; k-- > 0;) {
            held.emplace_back(links[k].send, outs[k].data(), outs[k].size());
            sends[k] = post_send(links[k].send, {outs[k].data(), static_cast<int>(outs[k].size()), 1,
                                                 held.back().handle()});
        }
        for (std::size_t i = 0; i < kComms; ++i) {
            const std::size_t k = (i * 3 + static_cast<std::size_t>(round)) % kComms;
            wait(net, sends[k]);
            require(wait(net, recvs[k])[0] == static_cast<int>(ins[k].size()), "size on comm {}", k);
            require(!first_mismatch(ins[k].data(), ins[k].size(), seed(partner_of(rank), k)), "comm {} is wrong", k);
            require(ins[k].guards_intact(), "comm {} wrote outside", k);
        }
    }
    rank.barrier();
}

}  // namespace
}  // namespace duofi::test
