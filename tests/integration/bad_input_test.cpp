// Arguments no caller should pass: each gives its documented code, one clear line, and disturbs
// nothing else. Net contract 3.2, 3.7, 3.9, S14.
#include <unistd.h>

#include <cstring>
#include <random>

#include "tests/integration/integration.hpp"
#include "tests/support/plugin_module.hpp"
#include "tests/support/scoped_env.hpp"

namespace duofi::test {
namespace {

constexpr std::size_t kVersionByte =
    4;                                ///< of the travelling part of a handle, behind a 4-byte mark
constexpr std::size_t kTravels = 64;  ///< bytes of a handle that carry something

// Before init every entry answers with an error.
DUOFI_RANK_BODY(calls_before_init) {
    PluginModule module;
    const ncclNet_v6_t& net = module.net_v6();
    require(net.name != nullptr && std::strlen(net.name) > 0, "no name before init");
    int n = 0;
    void* comm = nullptr;
    void* request = nullptr;
    Handle handle{};
    ncclNetProperties_v6_t properties{};
    require(net.devices(&n) == ncclInternalError, "devices");
    require(net.getProperties(0, &properties) == ncclInternalError, "getProperties");
    require(net.listen(0, handle.data(), &comm) == ncclInternalError, "listen");
    require(net.connect(0, handle.data(), &comm) == ncclInternalError, "connect");
    require(net.accept(nullptr, &comm) == ncclInternalError, "accept");
    require(net.regMr(nullptr, &n, 4, NCCL_PTR_HOST, &comm) != ncclSuccess, "regMr");
    require(net.regMrDmaBuf(nullptr, &n, 4, NCCL_PTR_HOST, 0, 0, &comm) != ncclSuccess,
            "regMrDmaBuf");
    require(net.deregMr(nullptr, nullptr) != ncclSuccess, "deregMr");
    require(net.isend(nullptr, &n, 4, 0, nullptr, &request) == ncclInternalError, "isend");
    require(net.test(nullptr, &n, nullptr) == ncclInternalError, "test");
    // Closing nothing: an error or success, as long as nothing breaks (3.7).
    for (const auto close : {net.closeSend, net.closeRecv, net.closeListen}) {
        const ncclResult_t result = close(nullptr);
        require(result == ncclInternalError || result == ncclSuccess, "close gave {}",
                result_name(result));
    }
    require(comm == nullptr && request == nullptr, "an out pointer was set");
}

ncclResult_t connect_until_decided(const Net& net, const Handle& handle, Nanoseconds limit) {
    Connecting connecting(net, 0, handle);
    const Deadline deadline(limit);
    for (;;) {
        void* comm = nullptr;
        const Nanoseconds start = now_ns();
        const ncclResult_t result = connecting.raw_poll(&comm);
        require(now_ns() - start < patience(500 * kMillisecond), "connect blocks");
        if (comm != nullptr) Comm(net, CommKind::send, comm).close();
        if (result != ncclSuccess || comm != nullptr) return result;
        require(!deadline.passed(), "connect stayed undecided");
        relax();
    }
}

void expect_one_warning(int before) {
    const int now = log_capture::count(NCCL_LOG_WARN, "");
    require(now == before + 1, "{} warnings, one was due", now - before);
}

void expect_code(const Net& net, const Handle& handle, ncclResult_t code, const char* what) {
    const int before = log_capture::count(NCCL_LOG_WARN, "");
    const ncclResult_t result = connect_until_decided(net, handle, patience(15 * kSecond));
    require(result == code, "connect with {} gave {}, not {}", what, result_name(result),
            result_name(code));
    expect_one_warning(before);
}

DUOFI_RANK_BODY(bad_handles) {
    log_capture::expect_warn("");
    Net& net = Net::process();
    Link bystander = connect_self(net);
    Listener listener = open_listener(net);
    Handle bad{};
    expect_code(net, bad, ncclInvalidArgument, "zeros");
    bad.fill('\xff');
    expect_code(net, bad, ncclInvalidArgument, "0xff");
    bad = listener.handle;
    std::fill(bad.begin() + 16, bad.end(), '\0');
    expect_code(net, bad, ncclInvalidArgument, "a truncated handle");
    std::minstd_rand random(1);
    for (int i = 0; i < 20; ++i) {
        for (char& byte : bad) byte = static_cast<char>(random());
        expect_code(net, bad, ncclInvalidArgument, "random bytes");
    }
    bad = listener.handle;
    ++bad[kVersionByte];
    expect_code(net, bad, ncclInvalidUsage, "another version");
    transfer_self(bystander, 30000, 1);

    Listener gone = open_listener(net);
    gone.comm.close();
    expect_code(net, gone.handle, ncclRemoteError, "the handle of a closed listen comm");
    transfer_self(bystander, 30000, 2);
    Link again = connect_self(net);
    transfer_self(again, 30000, 3);
}

// One changed byte anywhere: any answer but a crash or a hang of one call.
DUOFI_RANK_BODY(changed_bytes_of_a_handle) {
    log_capture::expect_warn("");
    Net& net = Net::process();
    Link bystander = connect_self(net);
    Listener listener = open_listener(net);
    for (std::size_t at = 0; at < kTravels; ++at) {
        Handle bad = listener.handle;
        bad[at] = static_cast<char>(bad[at] ^ 0x5A);
        Connecting connecting(net, 0, bad);
        const Deadline some(30 * kMillisecond);
        while (!some.passed()) {
            void* comm = nullptr;
            const Nanoseconds start = now_ns();
            const ncclResult_t result = connecting.raw_poll(&comm);
            require(now_ns() - start < patience(500 * kMillisecond), "connect blocks at byte {}",
                    at);
            if (comm != nullptr) Comm(net, CommKind::send, comm).close();
            if (result != ncclSuccess || comm != nullptr) break;
            void* accepted = nullptr;
            (void)net->accept(listener.comm.get(), &accepted);
            if (accepted != nullptr) Comm(net, CommKind::recv, accepted).close();
        }
        if (at % 16 == 0) transfer_self(bystander, 9000, at);
    }
    Link again = connect_self(net);
    transfer_self(again, 30000, 3);
}

DUOFI_RANK_BODY(bad_pointers_and_devices) {
    log_capture::expect_warn("");
    Net& net = Net::process();
    Link link = connect_self(net);
    Handle handle{};
    void* comm = nullptr;
    for (const int dev : {-1, net.devices(), 1 << 20}) {
        ncclNetProperties_v6_t properties{};
        require(net->getProperties(dev, &properties) == ncclInternalError, "getProperties({})",
                dev);
        require(net->listen(dev, handle.data(), &comm) == ncclInternalError, "listen({})", dev);
        require(log_capture::count(NCCL_LOG_WARN,
                                   "Error accessing device " + std::to_string(dev) + ".") > 0,
                "no line about device {}", dev);
        Listener listener = open_listener(net);
        require(net->connect(dev, listener.handle.data(), &comm) == ncclInternalError,
                "connect({})", dev);
    }
    require(net->listen(0, nullptr, &comm) == ncclInvalidArgument, "listen without handle");
    require(log_capture::count(NCCL_LOG_WARN, "Provided handle is NULL") > 0,
            "no line about the handle");
    require(net->connect(0, nullptr, &comm) == ncclInvalidArgument, "connect without handle");
    require(net->listen(0, handle.data(), nullptr) != ncclSuccess,
            "listen without place for the comm");
    require(net->connect(0, handle.data(), nullptr) != ncclSuccess,
            "connect without place for the comm");
    require(net->accept(nullptr, &comm) == ncclInternalError, "accept on NULL");
    require(net->devices(nullptr) != ncclSuccess, "devices without place");
    require(net->getProperties(0, nullptr) != ncclSuccess, "getProperties without place");
    require(net->isend(link.send.get(), nullptr, 8, 0, nullptr, &comm) == ncclInvalidArgument,
            "isend of NULL data");
    std::array<char, 8> data{};
    require(net->isend(link.send.get(), data.data(), 8, 0, nullptr, nullptr) != ncclSuccess,
            "isend without request");
    require(net->test(nullptr, nullptr, nullptr) != ncclSuccess, "test of nothing");
    for (const auto close : {net->closeSend, net->closeRecv, net->closeListen}) {
        const ncclResult_t result = close(nullptr);
        require(result == ncclInternalError || result == ncclSuccess, "close gave {}",
                result_name(result));
    }
    transfer_self(link, 40000, 1);
}

// A send comm is no receive comm, and a listen comm is neither.
DUOFI_RANK_BODY(comms_of_the_wrong_kind) {
    log_capture::expect_warn("");
    Net& net = Net::process();
    Link link = connect_self(net);
    Listener listener = open_listener(net);
    std::array<char, 64> data{};
    void* out = nullptr;
    for (void* comm : {link.recv.get(), listener.comm.get()}) {
        require(net->isend(comm, data.data(), 8, 0, nullptr, &out) != ncclSuccess,
                "isend on another kind of comm");
    }
    require(net->accept(link.send.get(), &out) != ncclSuccess, "accept on a send comm");
    require(net->regMr(listener.comm.get(), data.data(), 64, NCCL_PTR_HOST, &out) != ncclSuccess,
            "regMr on a listen comm");
    transfer_self(link, 5000, 1);
}

// The handle of a process that runs another provider.
DUOFI_RANK_BODY(handle_of_another_provider) {
    log_capture::expect_warn("");
    const ScopedEnv provider("FI_PROVIDER",
                             rank.index == 0 ? rank.text("first") : rank.text("second"));
    Net& net = Net::process();
    Link bystander = connect_self(net);
    Listener listener = open_listener(net);
    const auto handles = rank.all_gather(listener.handle);
    expect_code(net, handles[static_cast<std::size_t>(1 - rank.index)], ncclInvalidUsage,
                "a handle of another provider");
    transfer_self(bystander, 5000, 1);
    rank.barrier();
}

class BadInput : public OnProvider {};

TEST_P(BadInput, before_init) {
    run_group("calls_before_init", on_provider(GetParam(), 1));
}
TEST_P(BadInput, handles) {
    GroupOptions options = on_provider(GetParam(), 1);
    options.env["DUOFI_CONNECT_TIMEOUT"] = "5";
    run_group("bad_handles", options);
}
TEST_P(BadInput, changed_handles) {
    if (std::string(GetParam()) == "sockets")
        GTEST_SKIP() << "the provider itself waits in connect(2) for a wrong address";
    GroupOptions options = on_provider(GetParam(), 1);
    options.env["DUOFI_CONNECT_TIMEOUT"] = "2";
    run_group("changed_bytes_of_a_handle", options);
}
TEST_P(BadInput, pointers_and_devices) {
    run_group("bad_pointers_and_devices", on_provider(GetParam(), 1));
}
TEST_P(BadInput, comms_of_the_wrong_kind) {
    run_group("comms_of_the_wrong_kind", on_provider(GetParam(), 1));
}

INSTANTIATE_TEST_SUITE_P(providers, BadInput, testing::Values("native", "rxm", "shm", "sockets"),
                         provider_test_name);

TEST(BadHandle, of_another_provider) {
    GroupOptions options = on_provider("native", 2);
    options.args["first"] = provider_name("native");
    options.args["second"] = provider_name("shm");
    run_group("handle_of_another_provider", options);
    options.args["second"] = provider_name("rxm");
    run_group("handle_of_another_provider", options);
}

}  // namespace
}  // namespace duofi::test
