// Connections: net contract 3.2, 9.1 nccl_connection and reuse_listen_comm, T5, T18, T19, T20.
#include <algorithm>
#include <cstring>
#include <set>

#include "tests/conformance/conformance.hpp"
#include "tests/support/memory_buffer.hpp"
#include "tests/support/process_facts.hpp"

namespace duofi::test {
namespace {

Plan small_plan(int messages, int bytes, std::uint64_t seed) {
    Plan plan;
    plan.seed = seed;
    for (int i = 0; i < messages; ++i) plan.add(bytes, bytes);
    return plan;
}

// Every rank with every rank, itself included; all devices. T19.
DUOFI_CONFORMANCE(every_rank_connects_to_every_rank) {
    Net& net = Net::process();
    std::vector<Link> links = connect_mesh(rank, net);
    for (int k = 0; k < rank.count; ++k) {
        rank.step("shift " + std::to_string(k));
        const int to = (rank.index + k) % rank.count;
        const int from = (rank.index - k + rank.count) % rank.count;
        run_plan(rank, links[static_cast<std::size_t>(to)].send,
                 links[static_cast<std::size_t>(from)].recv,
                 small_plan(4, 3000, static_cast<std::uint64_t>(k)), from);
    }
    rank.barrier();
}

// 9.1 nccl_connection: open and close with nothing between, several times.
DUOFI_CONFORMANCE(connections_open_and_close) {
    Net& net = Net::process();
    const int rounds = amount(rank, 10);
    for (int round = 0; round < rounds; ++round) {
        Link link = connect_pair(rank, net, round);
        link.send.close();
        link.recv.close();
    }
}
DUOFI_CONFORMANCE_IN_THREADS(connections_open_and_close)

// 9.1 reuse_listen_comm: one listen comm, copies of one handle, independent connections.
DUOFI_CONFORMANCE(one_listen_comm_serves_many_connects) {
    Net& net = Net::process();
    Listener listener = open_listener(net, device_of(rank, net, 0));
    const auto handles = rank.all_gather(listener.handle);
    const Handle& theirs = handles[static_cast<std::size_t>(partner_of(rank))];
    const int rounds = amount(rank, 10);
    std::vector<Link> kept;
    for (int round = 0; round < rounds; ++round) {
        Connecting connecting(net, device_of(rank, net, 0), theirs);
        Link link = finish_link(connecting, listener);
        run_plan(rank, link, small_plan(3, 100 + round, static_cast<std::uint64_t>(round)));
        if (round % 2 == 0) kept.push_back(std::move(link));
        rank.barrier();
    }
    listener.comm.close();
    for (const Link& link : kept) run_plan(rank, link, small_plan(2, 20000, 77));
}
DUOFI_CONFORMANCE_IN_THREADS(one_listen_comm_serves_many_connects)

// Two connects by one process to one listen comm, under way at the same time.
DUOFI_CONFORMANCE(connects_to_one_listen_comm_run_at_once) {
    Net& net = Net::process();
    Listener listener = open_listener(net);
    const auto handles = rank.all_gather(listener.handle);
    const Handle& theirs = handles[static_cast<std::size_t>(partner_of(rank))];
    std::vector<Connecting> connects(6, Connecting(net, 0, theirs));
    std::vector<Comm> sends(connects.size());
    std::vector<Comm> recvs;
    const Deadline deadline(kStepPatience);
    std::size_t open = connects.size();
    while (open > 0 || recvs.size() < connects.size()) {
        for (std::size_t i = 0; i < connects.size(); ++i) {
            if (sends[i]) continue;
            if (auto comm = connects[i].poll()) sends[i] = std::move(*comm), --open;
        }
        if (recvs.size() < connects.size()) {
            if (auto comm = poll_accept(listener)) recvs.push_back(std::move(*comm));
        }
        require(!deadline.passed(), "{} connects pending, {} accepted", open, recvs.size());
        relax();
    }
    // Which accept answers which connect is not promised: the first message tells.
    std::vector<int> mine(connects.size());
    std::vector<void*> requests;
    for (std::size_t i = 0; i < connects.size(); ++i) {
        mine[i] = static_cast<int>(i);
        Registration mr(sends[i], &mine[i], sizeof(int));
        requests.push_back(post_send(sends[i], {&mine[i], sizeof(int), 1, mr.handle()}));
        wait(net, requests.back());
    }
    std::set<int> seen;
    for (Comm& recv : recvs) {
        int got = -1;
        Registration mr(recv, &got, sizeof(int));
        const Part part{&got, sizeof(int), 1, mr.handle()};
        wait(net, post_recv(recv, {&part, 1}));
        seen.insert(got);
    }
    require(seen.size() == connects.size(), "{} of {} connections are distinct", seen.size(),
            connects.size());
    rank.barrier();
}

// 3.2: once accept gave the comm, the listen comm may go although the peer still polls connect.
DUOFI_CONFORMANCE(listen_comm_closes_before_the_peer_is_through) {
    Net& net = Net::process();
    const bool accepts = rank.index % 2 == 0;
    Listener listener = open_listener(net);
    const auto handles = rank.all_gather(listener.handle);
    Connecting connecting(net, 0, handles[static_cast<std::size_t>(partner_of(rank))]);
    std::optional<Comm> send;
    std::optional<Comm> recv;
    const Deadline deadline(kStepPatience);
    for (bool all = false; !all;) {
        const Deadline slice(5 * kMillisecond);
        while (accepts && !recv && !slice.passed()) recv = poll_accept(listener);
        if (!accepts && !send) send = connecting.poll();
        const auto accepted = rank.all_gather(accepts ? static_cast<int>(recv.has_value()) : 1);
        all = std::all_of(accepted.begin(), accepted.end(), [](int done) { return done == 1; });
        require(!deadline.passed(), "accept waits although connect was called");
    }
    listener.comm.close();
    rank.barrier();
    while (!accepts && !send) {
        send = connecting.poll();
        require(!deadline.passed(), "connect never completed after the listen comm closed");
        relax();
    }
    MemoryBuffer buffer(1000);
    if (accepts) {
        buffer.poison();
        Registration mr(*recv, buffer.data(), buffer.size());
        const Part part{buffer.data(), 1000, 3, mr.handle()};
        wait(net, post_recv(*recv, {&part, 1}));
        require(!first_mismatch(buffer.data(), 1000, 9), "wrong data");
    } else {
        buffer.fill(9);
        Registration mr(*send, buffer.data(), buffer.size());
        wait(net, post_send(*send, {buffer.data(), 1000, 3, mr.handle()}));
    }
    rank.barrier();
}

// T18: a connect that nobody polls again and a listen comm closed without accept.
DUOFI_CONFORMANCE(abandoned_connects_disturb_nobody) {
    log_capture::expect_warn("");
    Net& net = Net::process();
    Link bystander = connect_pair(rank, net);
    const int rounds = amount(rank, 6);
    for (int round = 0; round < rounds; ++round) {
        Listener listener = open_listener(net);
        const auto handles = rank.all_gather(listener.handle);
        {
            Connecting connecting(net, 0, handles[static_cast<std::size_t>(partner_of(rank))]);
            for (int i = 0; i <= round * 3; ++i) {
                if (auto comm = connecting.poll()) comm->close();
            }
        }
        rank.barrier();
        listener.comm.close();
        run_plan(rank, bystander, small_plan(4, 500, static_cast<std::uint64_t>(round)));
    }
    Link link = connect_pair(rank, net);
    run_plan(rank, link, small_plan(20, 4000, 5));
    rank.barrier();
}

// T19: many comms of one pair, open together, all of them used.
DUOFI_CONFORMANCE(many_comms_at_once) {
    Net& net = Net::process();
    const int count = amount(rank, 48, 200);
    std::vector<Link> links;
    for (int i = 0; i < count; ++i) links.push_back(connect_pair(rank, net, i));
    for (int i = 0; i < count; ++i) {
        rank.step("comm " + std::to_string(i));
        run_plan(rank, links[static_cast<std::size_t>(i)],
                 small_plan(2, 64 + i * 500, static_cast<std::uint64_t>(i)));
    }
    rank.barrier();
}

// T20: comm numbers are used again after many open and close cycles.
DUOFI_CONFORMANCE(comm_numbers_are_reused) {
    Net& net = Net::process();
    const int cycles = amount(rank, 60, rank.count == 2 ? 33000 : 500);
    for (int cycle = 0; cycle < cycles; ++cycle) {
        Link link = connect_pair(rank, net);
        if (cycle % 8 == 0)
            run_plan(rank, link, small_plan(2, 64, static_cast<std::uint64_t>(cycle)));
    }
}

// T5: cached strings, no growth, a bad index is an error.
DUOFI_CONFORMANCE(properties_are_stable) {
    log_capture::expect_warn("Error accessing device");
    Net& net = Net::process();
    const int devices = net.devices();
    require(devices > 0, "no device");
    std::set<std::string> names;
    for (int dev = 0; dev < devices; ++dev) {
        const ncclNetProperties_v6_t first = net.properties(dev);
        require(first.name != nullptr && std::strlen(first.name) > 0, "no name");
        names.insert(first.name);
        require(first.maxRecvs == NCCL_NET_MAX_RECVS, "maxRecvs {}", first.maxRecvs);
        require(first.maxComms > 0 && first.speed > 0 && (first.ptrSupport & NCCL_PTR_HOST) != 0,
                "maxComms {} speed {} ptrSupport {}", first.maxComms, first.speed,
                first.ptrSupport);
        const long before = ProcessFacts::now().rss_kib;
        for (int i = 0; i < 10000; ++i) {
            const ncclNetProperties_v6_t again = net.properties(dev);
            require(again.name == first.name && again.pciPath == first.pciPath &&
                        again.guid == first.guid,
                    "properties changed");
        }
        const long grown = ProcessFacts::now().rss_kib - before;
        if (rank.mode == RankMode::processes && !kSanitized)
            require(grown < 512, "grew by {} KiB", grown);
    }
    require(static_cast<int>(names.size()) == devices, "names are not unique");
    for (const int bad : {-1, devices, devices + 1000}) {
        ncclNetProperties_v6_t properties{};
        require(net->getProperties(bad, &properties) == ncclInternalError, "device {} accepted",
                bad);
    }
}

}  // namespace
}  // namespace duofi::test
