// Two nodes as two network namespaces: transfer, and a peer that is killed where no process of ours
// can see it. Architecture 4.8: death across nodes shows within 10 s.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "tests/integration/integration.hpp"
#include "tests/support/namespaces.hpp"

namespace duofi::test {
namespace {

constexpr Nanoseconds kFarDeathLimit = patience(10 * kSecond);

DUOFI_RANK_BODY(transfer_between_nodes) {
    Net& net = Net::process();
    Link link = connect_pair(rank, net);
    run_plan(rank, link, mixed_plan(60, 1));
    rank.barrier();
}

DUOFI_RANK_BODY(death_on_another_node) {
    log_capture::expect_warn("");
    Net& net = Net::process();
    Link link = connect_pair(rank, net);
    run_plan(rank, link, mixed_plan(12, 1));
    MemoryBuffer buffer(1 << 20);
    if (rank.index == 1) {
        rank.channel->drop_members(1);
        ::raise(SIGKILL);
    }
    const Registration mr(link.recv, buffer.data(), buffer.size());
    const Part part{buffer.data(), 1 << 20, 3, mr.handle()};
    const Nanoseconds start = now_ns();
    void* recv = post_recv(link.recv, {&part, 1});
    const ncclResult_t result = wait_error(net, recv, kFarDeathLimit);
    require(result == ncclRemoteError, "a receive gave {}", result_name(result));
    require(now_ns() - start < kFarDeathLimit, "death showed late");
    const Registration send_mr(link.send, buffer.data(), buffer.size());
    void* request = nullptr;
    const ncclResult_t late =
        net->isend(link.send.get(), buffer.data(), 64, 3, send_mr.handle(), &request);
    require(late == ncclSuccess || late == ncclRemoteError, "isend gave {}", result_name(late));
    if (request != nullptr)
        require(wait_error(net, request, kFarDeathLimit) == ncclRemoteError, "send to the dead");
}

// Stops this process for `seconds`; a child continues it.
void stop_for(int seconds) {
    const pid_t self = ::getpid();
    const pid_t child = ::fork();
    require(child >= 0, "no child");
    if (child == 0) {
        ::sleep(static_cast<unsigned>(seconds));
        ::kill(self, SIGCONT);
        ::_exit(0);
    }
    ::raise(SIGSTOP);
    int status = 0;
    require(::waitpid(child, &status, 0) == child && status == 0, "the child that continues did not end well");
}

// More than any buffer on the way holds is under way to a node whose process is stopped: nothing can be sent to it, and
// yet it is no death (A18).
DUOFI_RANK_BODY(stopped_on_another_node) {
    log_capture::expect_warn("");  // one line about the stalled operations
    constexpr std::size_t kCount = 8;
    constexpr int kBytes = 4 << 20;
    const bool victim = rank.index == 1;
    const int seconds = rank.number("seconds", 8);
    Net& net = Net::process();
    Link link = connect_pair(rank, net);
    run_plan(rank, link, mixed_plan(12, 1));
    std::vector<MemoryBuffer> buffers;
    std::vector<Registration> registrations;
    std::vector<void*> requests(kCount);
    for (std::size_t i = 0; i < kCount; ++i) {
        MemoryBuffer& buffer = buffers.emplace_back(kBytes);
        if (!victim) buffer.fill(i);
        registrations.emplace_back(victim ? link.recv : link.send, buffer.data(), buffer.size());
    }
    const auto part = [&](std::size_t i) { return Part{buffers[i].data(), kBytes, 5, registrations[i].handle()}; };
    for (std::size_t i = 0; victim && i < kCount; ++i) {
        const Part into = part(i);
        requests[i] = post_recv(link.recv, {&into, 1});
    }
    rank.barrier();
    if (victim) stop_for(seconds);
    for (std::size_t i = 0; !victim && i < kCount; ++i) requests[i] = post_send(link.send, part(i));
    const Deadline deadline(seconds * kSecond + patience(30 * kSecond));
    for (void* request : requests) {
        while (!test_once(net, request, nullptr)) {
            require(!deadline.passed(), "no resumption");
            relax();
        }
    }
    for (std::size_t i = 0; victim && i < kCount; ++i)
        require(!first_mismatch(buffers[i].data(), kBytes, i), "wrong data in message {}", i);
    rank.barrier();
    run_plan(rank, link, mixed_plan(12, 2));
    rank.barrier();
}

// An interface of node 0, link=, goes down while both ranks wait. With DUOFI_PEER_TIMEOUT the comms fail; without it a stall is
// told, and everything goes on when the interface is up again.
DUOFI_RANK_BODY(unplugged) {
    log_capture::expect_warn("");
    Net& net = Net::process();
    Link link = connect_pair(rank, net);
    run_plan(rank, link, mixed_plan(12, 1));
    constexpr int kBytes = 1 << 20;
    MemoryBuffer in(kBytes), out(kBytes);
    out.fill(static_cast<std::uint64_t>(rank.index));
    const Registration recv_mr(link.recv, in.data(), kBytes), send_mr(link.send, out.data(), kBytes);
    rank.barrier();
    const auto set_link = [&](const char* state) {
        const std::string command = fmt::format("ip link set {} {}", rank.text("link"), state);
        if (rank.index == 0) require(std::system(command.c_str()) == 0, "{} fails", command);
    };
    set_link("down");
    rank.barrier();
    const Part part{in.data(), kBytes, 1, recv_mr.handle()};
    void* recv = post_recv(link.recv, {&part, 1});
    if (rank.number("fails", 0) != 0) {
        const ncclResult_t result = wait_error(net, recv, patience(30 * kSecond));
        require(result == ncclRemoteError, "a receive gave {}", result_name(result));
        rank.barrier();
        return;
    }
    void* send = post_send(link.send, {out.data(), kBytes, 1, send_mr.handle()});
    const Deadline told(patience(15 * kSecond));
    bool sent = false;  // it may have left
    while (log_capture::count(NCCL_LOG_WARN, "no progress") == 0) {
        require(!test_once(net, recv, nullptr), "a receive completed over an interface that is down");
        if (!sent) sent = test_once(net, send, nullptr);
        require(!told.passed(), "nobody tells of the stall: {}", log_capture::dump());
        relax();
    }
    rank.barrier();
    set_link("up");
    wait(net, recv);
    require(!first_mismatch(in.data(), kBytes, static_cast<std::uint64_t>(1 - rank.index)), "wrong data");
    rank.barrier();
}

TEST(Nodes, transfer) {
    const JoinedNamespaces nodes;
    if (!nodes.problem().empty()) GTEST_SKIP() << nodes.problem();
    for (const char* provider : {"native", "rxm", "sockets"}) {
        GroupOptions options = on_provider(provider, 2);
        options.prefixes = {nodes.prefix(0, false), nodes.prefix(1, false)};
        SCOPED_TRACE(provider);
        run_group("transfer_between_nodes", options);
    }
}

TEST(Nodes, death_of_the_other_one) {
    const JoinedNamespaces nodes;
    if (!nodes.problem().empty()) GTEST_SKIP() << nodes.problem();
    for (const char* provider : {"native", "rxm", "sockets"}) {
        GroupOptions options = on_provider(provider, 2);
        options.prefixes = {nodes.prefix(0, true), nodes.prefix(1, true)};
        options.ends[1] = RankEnd::any;
        SCOPED_TRACE(provider);
        run_group("death_on_another_node", options);
    }
}

TEST(Nodes, stop_of_the_other_one) {
    const JoinedNamespaces nodes;
    if (!nodes.problem().empty()) GTEST_SKIP() << nodes.problem();
    for (const char* provider : {"native", "rxm", "sockets"}) {
        if (provider != std::string_view("native") && !full_tier()) continue;
        GroupOptions options = on_provider(provider, 2);
        options.prefixes = {nodes.prefix(0, true), nodes.prefix(1, true)};
        options.args["seconds"] = full_tier() ? "40" : "8";
        SCOPED_TRACE(provider);
        run_group("stopped_on_another_node", options);
    }
}

// Over one interface, or over the second of two that are rails of one device.
void run_unplugged(bool fails, bool second_rail) {
    for (const char* provider : {"native", "rxm", "sockets"}) {
        if (provider != std::string_view("native") && !full_tier()) continue;
        const JoinedNamespaces nodes(*parse_nodes_shape(second_rail ? "2" : "1"));
        if (!nodes.problem().empty()) GTEST_SKIP() << nodes.problem();
        GroupOptions options = on_provider(provider, 2);
        options.prefixes = {nodes.prefix(0, true), nodes.prefix(1, true)};
        options.args["fails"] = fails ? "1" : "0";
        options.args["link"] = second_rail ? "net1" : "net0";
        if (second_rail) {
            options.env["OFI_NCCL_PROTOCOL"] = "RDMA";
            options.env["DUOFI_NET_TCP_RAILS"] = "2";
        }
        if (fails)
            options.env["DUOFI_PEER_TIMEOUT"] = "5";
        else
            options.env["DUOFI_STALL_SECONDS"] = "2";
        SCOPED_TRACE(provider);
        run_group("unplugged", options);
    }
}

TEST(Nodes, an_unplugged_interface_fails_the_comms_after_the_timeout) { run_unplugged(true, false); }
TEST(Nodes, an_unplugged_interface_is_told_as_a_stall_without_one) { run_unplugged(false, false); }
TEST(Nodes, an_unplugged_rail_fails_the_comms_after_the_timeout) { run_unplugged(true, true); }
TEST(Nodes, an_unplugged_rail_is_told_as_a_stall_without_one) { run_unplugged(false, true); }

}  // namespace
}  // namespace duofi::test
