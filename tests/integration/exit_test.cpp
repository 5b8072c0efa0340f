// How a process may end while comms are open: user report A19. The exit code is always the host's
// own.
#include <atomic>
#include <cstdlib>
#include <thread>

#include "tests/integration/integration.hpp"

namespace duofi::test {
namespace {

Link* open_link = nullptr;

Link& keep_link() {
    open_link = new Link(connect_self(Net::process()));
    return *open_link;
}

void close_send_at_exit() {
    if (open_link == nullptr) return;
    Comm send = std::move(open_link->send);
    // Success or an error, but it returns and nothing crashes.
    (void)send.net()->closeSend(send.abandon());
}

// A destructor that runs among the program's static ones.
struct ClosesInDestructor {
    ~ClosesInDestructor() {
        if (armed) close_send_at_exit();
    }
    bool armed = false;
};
ClosesInDestructor at_static_end;

DUOFI_RANK_BODY(return_with_open_comms) {
    transfer_self(keep_link(), 3000, 1);
    static MemoryBuffer buffer(5000);
    static auto* mr = new Registration(open_link->recv, buffer.data(), buffer.size());
    const Part part{buffer.data(), 5000, 9, mr->handle()};
    (void)post_recv(open_link->recv, {&part, 1});
}

DUOFI_RANK_BODY(close_in_handler_registered_first) {
    std::atexit(&close_send_at_exit);
    transfer_self(keep_link(), 3000, 1);
}

DUOFI_RANK_BODY(close_in_handler_registered_last) {
    transfer_self(keep_link(), 3000, 1);
    std::atexit(&close_send_at_exit);
}

DUOFI_RANK_BODY(close_in_static_destructor) {
    at_static_end.armed = true;
    transfer_self(keep_link(), 3000, 1);
}

DUOFI_RANK_BODY(exit_beside_a_testing_thread) {
    Link& link = keep_link();
    transfer_self(link, 3000, 1);
    static MemoryBuffer buffer(5000);
    static auto* mr = new Registration(link.recv, buffer.data(), buffer.size());  // left open
    const Part part{buffer.data(), 5000, 9, mr->handle()};
    void* request = post_recv(link.recv, {&part, 1});
    static std::atomic<bool> testing_now{false};
    std::thread([request] {
        const ncclNet_v6_t& net = Net::process().table();
        for (;;) {
            int done = 0;
            (void)net.test(request, &done, nullptr);
            testing_now.store(true);
        }
    }).detach();
    while (!testing_now.load()) relax();
    std::exit(7);
}

class EndOfProcess : public OnProvider {
  protected:
    void run(const char* body, int code = 0) {
        constexpr int kAtOnce = 5;  // each rank is a run of its own
        const bool brief = kSanitized || std::string(GetParam()) != "native";
        const int runs = full_tier() ? 200 : (brief ? 5 : 20);
        for (int i = 0; i < runs && !HasFailure(); i += kAtOnce) {
            GroupOptions options = on_provider(GetParam(), kAtOnce);
            options.timeout = 30 * kSecond;
            for (int rank = 0; rank < kAtOnce; ++rank) options.exit_codes[rank] = code;
            run_group(body, options);
        }
    }
};

TEST_P(EndOfProcess, by_return_with_open_comms) {
    run("return_with_open_comms");
}
TEST_P(EndOfProcess, closing_in_an_early_handler) {
    run("close_in_handler_registered_first");
}
TEST_P(EndOfProcess, closing_in_a_late_handler) {
    run("close_in_handler_registered_last");
}
TEST_P(EndOfProcess, closing_in_a_static_destructor) {
    run("close_in_static_destructor");
}
TEST_P(EndOfProcess, by_exit_beside_a_testing_thread) {
    run("exit_beside_a_testing_thread", 7);
}

INSTANTIATE_TEST_SUITE_P(providers, EndOfProcess, testing::Values("native", "rxm", "shm"),
                         provider_test_name);

}  // namespace
}  // namespace duofi::test
