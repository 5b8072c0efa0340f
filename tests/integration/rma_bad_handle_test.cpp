// Handles that no listen of this build wrote: rma contract 3.2, 6.1, 6.6, C-1.
#include <cstring>
#include <random>

#include "tests/integration/rma_integration.hpp"
#include "tests/support/scoped_env.hpp"

namespace duofi::test {
namespace {

constexpr std::size_t kVersionByte = 4;  ///< behind a 4-byte mark

// A group of two in which the other rank's handle is `bad`: the code, after one clear line.
void expect_code(const Rma& rma, const Handle& bad, ncclResult_t due, const char* what) {
    const int before = log_capture::count(NCCL_LOG_WARN, "");
    RmaOwned instance = open_instance(rma, 1);
    RmaListener listener = rma_listen(rma, instance.get());
    void* comm = &comm;
    const Nanoseconds start = now_ns();
    const ncclResult_t result =
        rma_connect(rma, instance.get(), {listener.handle, bad}, 0, listener.comm.get(), &comm);
    require(result == due, "connect with {} gave {}, not {}", what, result_name(result),
            result_name(due));
    require(comm == nullptr, "a failed connect gave a comm");
    require(now_ns() - start < patience(8 * kSecond), "connect with {} took {} ms", what,
            (now_ns() - start) / kMillisecond);
    require(log_capture::count(NCCL_LOG_WARN, "") == before + 1,
            "{} warnings about {}, one was due", log_capture::count(NCCL_LOG_WARN, "") - before,
            what);
}

DUOFI_RANK_BODY(rma_bad_handles) {
    log_capture::expect_warn("");
    const Rma& rma = Rma::process();
    RmaAlone bystander(rma);
    RmaOwned instance = open_instance(rma, 1);
    RmaListener listener = rma_listen(rma, instance.get());
    Handle bad{};
    expect_code(rma, bad, ncclInvalidArgument, "zeros");
    bad.fill('\xff');
    expect_code(rma, bad, ncclInvalidArgument, "0xff");
    bad = listener.handle;
    std::fill(bad.begin() + 16, bad.end(), '\0');
    expect_code(rma, bad, ncclInvalidArgument, "a truncated handle");
    std::minstd_rand random(1);
    for (int i = 0; i < 10; ++i) {
        for (char& byte : bad) byte = static_cast<char>(random());
        expect_code(rma, bad, ncclInvalidArgument, "random bytes");
    }
    bad = listener.handle;
    ++bad[kVersionByte];
    expect_code(rma, bad, ncclInvalidUsage, "another version");
    bystander.use(30000, 1);
    // A handle of the net table is none of the RMA table.
    Net& net = Net::process();
    Listener other = open_listener(net);
    expect_code(rma, other.handle, ncclInvalidArgument, "a handle of the net table");
    // A listen comm that is gone: nobody answers.
    const Handle gone = listener.handle;
    listener.comm.close();
    expect_code(rma, gone, ncclRemoteError, "the handle of a closed listen comm");
    bystander.use(30000, 2);
    RmaAlone again(rma);
    again.use(1000, 3);
}

DUOFI_RANK_BODY(rma_handle_of_another_provider) {
    log_capture::expect_warn("");
    const ScopedEnv provider("FI_PROVIDER",
                             rank.index == 0 ? rank.text("first") : rank.text("second"));
    const Rma& rma = Rma::process();
    RmaAlone bystander(rma);
    RmaOwned instance = open_instance(rma, 1);
    RmaListener listener = rma_listen(rma, instance.get());
    const auto handles = rank.all_gather(listener.handle);
    expect_code(rma, handles[static_cast<std::size_t>(1 - rank.index)], ncclInvalidUsage,
                "a handle of another provider");
    bystander.use(5000, 1);
    rank.barrier();
}

class RmaBadHandle : public OnProvider {};

TEST_P(RmaBadHandle, gets_its_code) {
    GroupOptions options = rma_on_provider(GetParam(), 1);
    options.env["DUOFI_CONNECT_TIMEOUT"] = "3";
    run_group("rma_bad_handles", options);
}

INSTANTIATE_TEST_SUITE_P(providers, RmaBadHandle,
                         testing::Values("native", "rxm", "shm", "sockets"), provider_test_name);

TEST(RmaBadHandles, of_another_provider) {
    GroupOptions options = rma_on_provider("native", 2);
    options.args["first"] = provider_name("native");
    options.args["second"] = provider_name("shm");
    run_group("rma_handle_of_another_provider", options);
}

}  // namespace
}  // namespace duofi::test
