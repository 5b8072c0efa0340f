// init, fini, init again, and what callers get between: net contract 1.7, 3.7, 3.9, T2, T28. Each body opens the module
// for itself. Units: net_plugin/plugin, net_plugin/comm_registry.
#include "tests/conformance/neuron/neuron_conformance.hpp"
#include "tests/support/process_facts.hpp"
#include "tests/support/scoped_env.hpp"

namespace duofi::test {
namespace {

void start(const Nccom& net) { expect_success(net.call(Slot::init, ncclDebugLogger_t{&log_capture::record}), "init"); }

void one_message(const NccomLink& link) {
    MemoryBuffer out(100), in(100);
    out.fill(1);
    const NccomMemory from(link.send, out.data(), 100), to(link.recv, in.data(), 100);
    void* receiving = nccom_recv(link.recv, in.data(), 100, 0, to);
    (void)nccom_wait(link.send.net(), nccom_send(link.send, out.data(), 100, 0, from));
    require(nccom_wait(link.recv.net(), receiving) == 100 && !first_mismatch(in.data(), 100, 1), "wrong message");
}

DUOFI_NEURON_CONFORMANCE_WITH(calls_before_init_are_refused, 4, Ranks::own) {
    log_capture::expect_warn("");
    const Nccom net(rank.number("version", 6));
    char memory[192] = {};
    void* pointer = memory;
    int number = 0;
    const std::size_t bytes = 8;
    const auto refused = [](ncclResult_t result, const char* what) {
        require(result == ncclInternalError, "{} before init gave {}", what, result_name(result));
    };
    refused(net.call(Slot::devices, &number), "devices");
    refused(net.call(Slot::get_properties, 0, pointer), "getProperties");
    refused(net.call(Slot::listen, 0, pointer, &pointer), "listen");
    refused(net.call(Slot::connect, 0, static_cast<void*>(memory), &pointer), "connect");
    refused(net.call(Slot::accept, static_cast<void*>(memory), &pointer), "accept");
    refused(net.call(Slot::reg_mr, static_cast<void*>(memory), static_cast<void*>(memory), bytes, 1, &pointer), "regMr");
    refused(net.call(Slot::dereg_mr, static_cast<void*>(memory), static_cast<void*>(memory)), "deregMr");
    refused(net.call(Slot::test, static_cast<void*>(memory), &number, &number), "test");
    for (const Slot slot : {Slot::close_send, Slot::close_recv, Slot::close_listen})
        refused(net.call(slot, static_cast<void*>(memory)), "close");
    if (net.version() == 4) return;
    std::uint64_t key = 0;
    refused(net.call(Slot::get_mr_key, static_cast<void*>(memory), &key), "getMrKey");
    for (const Slot slot : {Slot::iwrite, Slot::iread})
        refused(net.call(slot, static_cast<void*>(memory), static_cast<void*>(memory), bytes,
                         static_cast<void*>(memory), key, key, &pointer), "iwrite or iread");
    if (!net.has(Slot::fini)) return;
    require(net.call(Slot::fini) == ncclSystemError, "fini before init is no system error");
}

// A second init without fini is cheap and succeeds; tables without fini leak nothing that way.
DUOFI_NEURON_CONFORMANCE_WITH(init_twice, 4, Ranks::own) {
    const Nccom net(rank.number("version", 6));
    start(net);
    start(net);
    NccomLink link = nccom_pair(rank, net);
    one_message(link);
    rank.barrier();
    link.send.close();
    link.recv.close();
}

DUOFI_NEURON_CONFORMANCE_WITH(init_after_fini, 6, Ranks::own) {
    const Nccom net(6);
    for (int round = 0; round < 5; ++round) {
        start(net);
        NccomLink link = nccom_pair(rank, net);
        one_message(link);
        rank.barrier();
        link.send.close();
        link.recv.close();
        expect_success(net.call(Slot::fini), "fini");
        rank.barrier();
    }
    log_capture::expect_warn("fini: the plugin is not initialized");
    require(net.call(Slot::fini) == ncclSystemError, "a second fini is no system error");
    require(ProcessFacts::now().threads == 1, "{} threads are left", ProcessFacts::now().threads);
}

// An error path of a caller: fini first, then everything that is still open. No line, nothing left behind.
DUOFI_NEURON_CONFORMANCE_WITH(close_after_fini_is_quiet, 6, Ranks::own) {
    const Nccom net(6);
    start(net);
    NccomLink link = nccom_pair(rank, net);
    one_message(link);
    MemoryBuffer memory(100);
    void* handle = nullptr;
    expect_success(net.call(Slot::reg_mr, link.send.get(), static_cast<void*>(memory.data()), std::size_t{100}, 1,
                            &handle), "regMr");
    char address[128];
    void* listening = nullptr;
    expect_success(net.call(Slot::listen, 0, static_cast<void*>(address), &listening), "listen");
    rank.barrier();
    expect_success(net.call(Slot::fini), "fini");
    require(net.call(Slot::dereg_mr, link.send.get(), handle) == ncclInvalidArgument, "deregMr after fini");
    link.send.close(ncclInvalidArgument);
    link.recv.close(ncclInvalidArgument);
    require(net.call(Slot::close_listen, listening) == ncclInvalidArgument, "closeListen after fini");
    require(net.call(Slot::close_listen, listening) == ncclInvalidArgument, "and once more");
    require(log_capture::count(NCCL_LOG_WARN, "") == 0, "closing after fini wrote: {}", log_capture::dump());
    rank.barrier();
    require(ProcessFacts::now().threads == 1, "{} threads are left", ProcessFacts::now().threads);
    start(net);
    NccomLink again = nccom_pair(rank, net);
    one_message(again);
    rank.barrier();
    again.send.close();
    again.recv.close();
}

// What was open at fini and is closed only after the next init.
DUOFI_NEURON_CONFORMANCE_WITH(comms_outlive_fini, 6, Ranks::own) {
    const Nccom net(6);
    start(net);
    NccomLink old = nccom_pair(rank, net);
    expect_success(net.call(Slot::fini), "fini");
    start(net);
    NccomLink link = nccom_pair(rank, net);
    one_message(link);
    rank.barrier();
    old.send.close();
    old.recv.close();
    one_message(link);
    rank.barrier();
    link.send.close();
    link.recv.close();
    expect_success(net.call(Slot::fini), "fini");
}

// Nobody connects: accept of v4 gives up after the limit, that of the others says "not yet" at once.
DUOFI_NEURON_CONFORMANCE_WITH(accept_of_nobody, 4, Ranks::own) {
    const Nccom net(rank.number("version", 6));
    const ScopedEnv limit("DUOFI_CONNECT_TIMEOUT", "1");
    start(net);
    char handle[128];
    void *listening = nullptr, *comm = nullptr;
    expect_success(net.call(Slot::listen, 0, static_cast<void*>(handle), &listening), "listen");
    const Nanoseconds begin = now_ns();
    log_capture::expect_warn("accept gave up after 1");
    const ncclResult_t result = net.call(Slot::accept, listening, &comm);
    const Nanoseconds took = now_ns() - begin;
    require(comm == nullptr && result == (net.version() == 4 ? ncclRemoteError : ncclSuccess), "accept gave {}",
            result_name(result));
    require((took >= kSecond) == (net.version() == 4) && took < patience(3 * kSecond), "accept took {} ms",
            took / kMillisecond);
    expect_success(net.call(Slot::close_listen, listening), "closeListen");
}

// v4 asks for the tagged protocol.
DUOFI_NEURON_CONFORMANCE_WITH(protocol_of_v4, 4, Ranks::own) {
    const Nccom net(rank.number("version", 6));
    start(net);
    require(log_capture::count(NCCL_LOG_INFO, "Using transport protocol SENDRECV") == 1, "{}", log_capture::dump());
    require(log_capture::count(NCCL_LOG_INFO, "SENDRECV (platform set)") == (net.version() == 4 ? 1 : 0), "{}",
            log_capture::dump());
}

DUOFI_NEURON_CONFORMANCE_WITH(the_module_can_be_unloaded, 4, Ranks::own) {
    for (int round = 0; round < 3; ++round) {
        Nccom net(rank.number("version", 6));
        start(net);
        NccomLink link = nccom_pair(rank, net);
        one_message(link);
        rank.barrier();
        link.send.close();
        link.recv.close();
        if (net.has(Slot::fini) && round == 1) expect_success(net.call(Slot::fini), "fini");
        net.close();
        require(!ProcessFacts::now().maps_library("libnccom-net"), "the module is still mapped");
        require(ProcessFacts::now().threads == 1, "{} threads are left", ProcessFacts::now().threads);
        rank.barrier();
    }
}

}  // namespace
}  // namespace duofi::test
