// A caller that forks after init: net contract 5.2 (fork), T26, architecture 4.14.
#include <sys/wait.h>
#include <unistd.h>

#include "tests/integration/integration.hpp"
#include "tests/support/process_facts.hpp"

namespace duofi::test {
namespace {

// In the child, before it ends: 0 when every call answers with an error.
int calls_of_a_child(const ncclNet_v6_t& net, const Link& link, void* mhandle, char* data,
                     void* request) {
    Handle handle{};
    void* out = nullptr;
    int number = 0;
    if (net.listen(0, handle.data(), &out) == ncclSuccess) return 2;
    if (net.isend(link.send.get(), data, 8, 0, mhandle, &out) == ncclSuccess) return 3;
    if (net.test(request, &number, nullptr) == ncclSuccess) return 4;
    if (net.regMr(link.send.get(), data, 64, NCCL_PTR_HOST, &out) == ncclSuccess) return 5;
    if (net.closeSend(link.send.get()) == ncclSuccess) return 6;
    if (net.devices(&number) == ncclSuccess) return 7;
    return 0;
}

DUOFI_RANK_BODY(fork_after_init) {
    log_capture::expect_warn("");
    Net& net = Net::process();
    Link link = connect_self(net);
    transfer_self(link, 10000, 1);
    std::array<char, 64> data{};
    const Registration mr(link.recv, data.data(), data.size());
    const Registration send_mr(link.send, data.data(), data.size());
    const Part part{data.data(), 64, 5, mr.handle()};
    void* request = post_recv(link.recv, {&part, 1});
    for (const bool leaves_by_exit : {false, true}) {
        const pid_t child = ::fork();
        require(child >= 0, "no fork");
        if (child == 0) {
            const int code =
                calls_of_a_child(net.table(), link, send_mr.handle(), data.data(), request);
            // exit() also runs whatever the plugin left for the end of a process.
            if (leaves_by_exit) std::exit(code);
            ::_exit(code);
        }
        int status = 0;
        const Deadline deadline(kStepPatience);
        while (::waitpid(child, &status, WNOHANG) == 0) {
            if (deadline.passed()) ::kill(child, SIGKILL);
            (void)test_once(net, request, nullptr);
            relax();
        }
        require(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with status {:#x}",
                status);
        transfer_self(link, 300000, 2);
    }
    wait(net, post_send(link.send, {data.data(), 8, 5, send_mr.handle()}));
    require(wait(net, request)[0] == 8, "size");
    Link again = connect_self(net);
    transfer_self(again, 10000, 3);
}

class Fork : public OnProvider {};

TEST_P(Fork, leaves_the_parent_alone) {
    run_group("fork_after_init", on_provider(GetParam(), 1));
}

INSTANTIATE_TEST_SUITE_P(providers, Fork, testing::Values("native", "rxm", "shm"),
                         provider_test_name);

}  // namespace
}  // namespace duofi::test
