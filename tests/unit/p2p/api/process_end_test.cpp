// Ends of processes: one in another PID namespace is noticed, and one that exits while its
// communicator lives ends in order. V-29, V-34.
// Units: p2p/transport/communicator, p2p/transport/communicator_init, p2p/runtime/runtime.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <new>
#include <thread>

#include "p2p/operations.hpp"
#include "p2p/p2p.h"
#include "tests/support/failure.hpp"
#include "tests/unit/p2p/api/processes.hpp"

namespace duofi::p2p::test {
namespace {

/// Outlives everything that other files construct: what was made first is destroyed last.
struct Belated {
    std::unique_ptr<Meeting> meeting;
    std::unique_ptr<Communicator> communicator;
    ~Belated() { communicator.reset(); }
};
[[gnu::init_priority(200)]] Belated belated;

CommunicatorOptions options_of_test() {
    CommunicatorOptions options;
    options.settings.p2p_runtime = "host";
    options.timeout = 30 * kSecond;
    return options;
}

constexpr int kCannot = 77;

/// What both processes of a run see.
struct Board {
    std::atomic<Nanoseconds> death{0};
    std::atomic<bool> skipped{false};
};

class SharedBoard {
  public:
    SharedBoard()
        : page_(::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                       -1, 0)) {
        if (page_ != MAP_FAILED) new (page_) Board;
    }
    ~SharedBoard() { ::munmap(page_, sizeof(Board)); }
    SharedBoard(const SharedBoard&) = delete;
    SharedBoard& operator=(const SharedBoard&) = delete;
    [[nodiscard]] Board& operator*() const { return *static_cast<Board*>(page_); }

  private:
    void* page_;
};

/// Works with rank 1 until that one has died inside its own PID namespace.
int stay(Board& board) {
    auto meeting = meet(0, 2);
    RANK_REQUIRE(meeting);
    auto made = Communicator::create(*meeting->bootstrap, options_of_test());
    RANK_REQUIRE(made);
    RANK_REQUIRE((*made)->connect_all());
    Operations operations(**made, kAllProtocols);
    std::int32_t word = 1;
    RANK_REQUIRE(operations.transfer({&word, sizeof(word), 1}, {}));
    // Nothing comes any more: only the watch can end this wait.
    const Status done = operations.transfer({}, {&word, sizeof(word), 1});
    const Nanoseconds end = now_ns();
    RANK_REQUIRE(!done && done.error().code == Errc::remote);
    RANK_REQUIRE((*made)->comm().lost_rank() == 1);
    RANK_REQUIRE(board.death != 0);
    RANK_REQUIRE(end - board.death < duofi::test::patience(kSecond));
    return 0;
}

[[noreturn]] void fall(Board& board) {
    auto meeting = meet(1, 2);
    if (!meeting) ::_exit(2);
    auto made = Communicator::create(*meeting->bootstrap, options_of_test());
    if (!made || !(*made)->connect_all()) ::_exit(3);
    Operations operations(**made, kAllProtocols);
    std::int32_t word = 0;
    if (!operations.transfer({}, {&word, sizeof(word), 0})) ::_exit(4);
    board.death = now_ns();
    ::raise(SIGKILL);
    ::_exit(5);
}

TEST(ProcessEnd, in_another_pid_namespace_is_noticed) {  // V-29, V-34
    if (::geteuid() != 0) GTEST_SKIP() << "needs root for a PID namespace";
    const SharedBoard board;
    const auto can = [] {
        const pid_t child = ::fork();
        if (child == 0) ::_exit(::unshare(CLONE_NEWPID) == 0 ? 0 : kCannot);
        int status = -1;
        ::waitpid(child, &status, 0);
        return status == 0;
    };
    if (!can()) GTEST_SKIP() << "no PID namespaces here";
    run_processes(2, [&](int rank) {
        if (rank == 0) return stay(*board);
        if (::unshare(CLONE_NEWPID) != 0) return kCannot;
        const pid_t inner = ::fork();  // the first process of the new namespace
        if (inner == 0) {
            // There a signal that is not handled does not end the first process, so it has a child.
            const pid_t member = ::fork();
            if (member == 0) fall(*board);
            int status = 0;
            ::waitpid(member, &status, 0);
            ::_exit(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? 0 : 1);
        }
        int status = -1;
        ::waitpid(inner, &status, 0);
        return status == 0 ? 0 : 1;
    });
}

TEST(ProcessEnd, exit_with_a_live_communicator_is_in_order) {
    run_processes(1, [](int) {
        const pid_t child = ::fork();
        if (child == 0) {
            ::alarm(30);
            belated.meeting = meet(0, 1);
            if (!belated.meeting) ::_exit(2);
            auto made = Communicator::create(*belated.meeting->bootstrap, options_of_test());
            if (!made) ::_exit(3);
            belated.communicator = std::move(*made);
            ::exit(0);
        }
        int status = -1;
        RANK_REQUIRE(::waitpid(child, &status, 0) == child);
        RANK_REQUIRE(WIFEXITED(status));
        RANK_REQUIRE(WEXITSTATUS(status) == 0);
        return 0;
    });
}

TEST(ProcessEnd, an_abort_ends_a_wait_for_the_exchange) {  // V-30
    const auto port = bootstrap::free_port();
    ASSERT_TRUE(port);
    run_processes(2, [&](int rank) {
        constexpr int kPatienceMs = 30000;
        duofiP2pBootstrap meeting;
        RANK_REQUIRE(duofiP2pBootstrapTcp("127.0.0.1", *port, rank, 2, kPatienceMs, &meeting) ==
                     ncclSuccess);
        duofiP2pComm* comm = nullptr;
        RANK_REQUIRE(duofiP2pCommCreate(&comm, &meeting, nullptr) == ncclSuccess);
        if (rank == 0) {
            std::thread aborter([comm] {
                std::this_thread::sleep_for(std::chrono::milliseconds(200));  // inside by then
                (void)duofiP2pCommAbort(comm);
            });
            const Nanoseconds start = now_ns();
            const ncclResult_t result = duofiP2pConnectAll(comm);
            const Nanoseconds took = now_ns() - start;
            aborter.join();
            RANK_REQUIRE(result == ncclRemoteError);
            RANK_REQUIRE(took < duofi::test::patience(5 * kSecond));
        } else {
            // Does not connect; takes what the other one sends until it says that it gave up.
            unsigned type = 0;
            for (int messages = 0; type != 4 && messages < 5; ++messages) {
                std::byte room[8192];
                std::size_t bytes = 0;
                RANK_REQUIRE(meeting.recv(meeting.context, 0, &type, room, sizeof(room), &bytes,
                                          "test", kPatienceMs) == ncclSuccess);
            }
            RANK_REQUIRE(type == 4);
            RANK_REQUIRE(duofiP2pCommAbort(comm) == ncclSuccess);
        }
        RANK_REQUIRE(duofiP2pCommDestroy(comm) == ncclSuccess);
        RANK_REQUIRE(duofiP2pBootstrapFree(&meeting) == ncclSuccess);
        return 0;
    });
}

}  // namespace
}  // namespace duofi::p2p::test
