// Messages: net contract 3.4, 3.5, 9.1 nccl_message_transfer and ring, T8, T9, T11, T13, T20.
#include <climits>
#include <random>

#include "tests/conformance/conformance.hpp"
#include "tests/support/memory_buffer.hpp"

namespace duofi::test {
namespace {

// Around every threshold of the protocols and of the providers below (T13).
const std::vector<int> kThresholds = {
    0,    1,    63,   64,   65,   127,   128,   129,   8183,  8184,   8185,   8186,   8187,  8188,
    8189, 8190, 8191, 8192, 8193, 16383, 16384, 16385, 65536, 131071, 131072, 131073, 262145};

int outstanding(const Rank& rank, int bytes) {
    if (bytes <= 16384 && rank.text("provider") != "sockets") return 32;
    return std::max(4, 32 / rank.count / (rank.lane > 0 ? threads_of(rank) : 1));
}

void transfer(Rank& rank, const Link& link, int send_bytes, int recv_bytes) {
    rank.step(std::to_string(send_bytes) + " into " + std::to_string(recv_bytes));
    Plan plan;
    plan.seed = static_cast<std::uint64_t>(send_bytes) * 3 + static_cast<std::uint64_t>(recv_bytes);
    const int count = outstanding(rank, std::max(send_bytes, recv_bytes));
    for (int i = 0; i < count; ++i) plan.add(send_bytes, recv_bytes, i % 3);
    run_plan(rank, link, plan);
}

// 32 outstanding in each direction; equal sizes.
DUOFI_CONFORMANCE(messages_of_equal_size) {
    Link link = connect_pair(rank, Net::process());
    for (const int bytes : {512, 4096, 16384, 1 << 20}) transfer(rank, link, bytes, bytes);
    rank.barrier();
}
DUOFI_CONFORMANCE_IN_THREADS(messages_of_equal_size)

// 3.4: a short message reports its own size.
DUOFI_CONFORMANCE(messages_into_larger_receives) {
    Link link = connect_pair(rank, Net::process());
    transfer(rank, link, 4096, 5120);
    transfer(rank, link, 16384, 17408);
    transfer(rank, link, 1 << 20, 2 << 20);
    transfer(rank, link, 1, 8 << 20);
    transfer(rank, link, 4 << 20, 8 << 20);
    rank.barrier();
}
DUOFI_CONFORMANCE_IN_THREADS(messages_into_larger_receives)

// T11, A14, P5: a long message is cut to the receive, and the following ones are whole.
DUOFI_CONFORMANCE(messages_into_smaller_receives) {
    Link link = connect_pair(rank, Net::process());
    for (const auto& [send, recv] : std::vector<std::pair<int, int>>{{64, 16},
                                                                     {64, 0},
                                                                     {5120, 4096},
                                                                     {8192, 8191},
                                                                     {8193, 8192},
                                                                     {17408, 16384},
                                                                     {20000, 1},
                                                                     {20000, 0},
                                                                     {2 << 20, 1 << 20}}) {
        transfer(rank, link, send, recv);
        transfer(rank, link, recv, recv);
    }
    Plan mixed;
    for (int i = 0; i < amount(rank, 120); ++i) {
        const int bytes = kThresholds[static_cast<std::size_t>(i) % kThresholds.size()];
        mixed.add(bytes, kThresholds[static_cast<std::size_t>(i * 7 + 3) % kThresholds.size()]);
    }
    for (const Lead lead : {Lead::free, Lead::sender_first, Lead::receiver_first}) {
        mixed.lead = lead;
        run_plan(rank, link, mixed);
    }
    rank.barrier();
}
DUOFI_CONFORMANCE_IN_THREADS(messages_into_smaller_receives)

// 9.1 ring: 5000 bytes into 5200, the size is 5000 on both sides, one registration per request.
DUOFI_CONFORMANCE(ring) {
    Net& net = Net::process();
    const int next = (rank.index + 1) % rank.count;
    const int previous = (rank.index + rank.count - 1) % rank.count;
    Link link = connect_link(rank, net, next);
    for (int round = 0; round < amount(rank, 40); ++round) {
        MemoryBuffer out(5000);
        MemoryBuffer in(5200);
        out.fill(static_cast<std::uint64_t>(rank.index * 1000 + round));
        in.poison();
        Registration send_mr(link.send, out.data(), out.size());
        Registration recv_mr(link.recv, in.data(), in.size());
        const Part part{in.data(), 5200, previous, recv_mr.handle()};
        void* recv = post_recv(link.recv, {&part, 1});
        void* send = post_send(link.send, {out.data(), 5000, rank.index, send_mr.handle()});
        const int sent = wait(net, send)[0];
        const int got = wait(net, recv)[0];
        require(sent == 5000 && got == 5000, "sizes {} and {}", sent, got);
        require(
            !first_mismatch(in.data(), 5000, static_cast<std::uint64_t>(previous * 1000 + round)),
            "wrong data");
        require(in.guards_intact(5200), "wrote outside");
    }
    rank.barrier();
}

// T13: every size around every threshold, either side first and at random.
DUOFI_CONFORMANCE(sizes_around_thresholds) {
    Link link = connect_pair(rank, Net::process());
    Plan plan;
    plan.send_window = plan.recv_window = 16;
    for (const int bytes : kThresholds) plan.add(bytes, bytes);
    for (const Lead lead : {Lead::sender_first, Lead::receiver_first}) {
        plan.lead = lead;
        rank.step(lead == Lead::sender_first ? "sender first" : "receiver first");
        run_plan(rank, link, plan);
    }
    std::minstd_rand random(17);
    Plan mixed;
    mixed.send_window = mixed.recv_window = 16;
    mixed.sometimes_no_sizes = true;
    for (int i = 0; i < amount(rank, 600, 1000); ++i) {
        const int bytes = kThresholds[random() % kThresholds.size()];
        mixed.add(bytes, bytes + static_cast<int>(random() % 3));
    }
    rank.step("random order");
    run_plan(rank, link, mixed);
    rank.barrier();
}

// T8: zero bytes are messages, with NULL data and NULL mhandle, alone and between large ones.
DUOFI_CONFORMANCE(zero_byte_messages) {
    Link link = connect_pair(rank, Net::process());
    for (const bool null : {true, false}) {
        for (const Lead lead : {Lead::free, Lead::sender_first, Lead::receiver_first}) {
            Plan plan;
            plan.null_when_empty = null;
            plan.lead = lead;
            for (int i = 0; i < amount(rank, 32); ++i) plan.add(0, 0);
            for (int i = 0; i < amount(rank, 32); ++i)
                plan.add(i % 2 == 0 ? 0 : 70000, i % 3 == 0 ? 70000 : 100);
            for (int group = 0; group < 4; ++group) {
                RecvSpec parts;
                for (int i = 0; i < 8; ++i) {
                    plan.sends.push_back({i % 2 == 0 ? 0 : 300, 20 + i});
                    parts.push_back({i % 2 == 0 ? 0 : 400, 20 + i});
                }
                plan.recvs.push_back(parts);
            }
            run_plan(rank, link, plan);
        }
    }
    rank.barrier();
}

// T20: more messages than any counter of the protocol holds.
DUOFI_CONFORMANCE(sequence_numbers_wrap) {
    Link link = connect_pair(rank, Net::process());
    Plan plan;
    for (int i = 0; i < amount(rank, 3000, 70000); ++i) plan.add(i % 64, 64, i % 5);
    run_plan(rank, link, plan);
    rank.barrier();
}

// T13: the largest size of the table, one way, in the long tier.
DUOFI_CONFORMANCE(largest_message) {
    if (!is_full(rank) || rank.count != 2 || rank.text("provider") == "sockets") return;
    Net& net = Net::process();
    Link link = connect_pair(rank, net);
    constexpr int kBytes = INT_MAX;
    MemoryBuffer buffer(kBytes);
    if (rank.index == 0) {
        buffer.fill(3);
        Registration mr(link.send, buffer.data(), kBytes);
        require(
            wait(net, post_send(link.send, {buffer.data(), kBytes, 0, mr.handle()}))[0] == kBytes,
            "size");
    } else {
        Registration mr(link.recv, buffer.data(), kBytes);
        const Part part{buffer.data(), kBytes, 0, mr.handle()};
        require(wait(net, post_recv(link.recv, {&part, 1}))[0] == kBytes, "size");
        require(!first_mismatch(buffer.data(), kBytes, 3), "wrong data");
    }
    rank.barrier();
}

}  // namespace
}  // namespace duofi::test
