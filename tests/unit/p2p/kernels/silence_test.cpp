// Steady state without a single system call (V-40, C-50): two processes, each with a filter that
// kills it on anything but its exit; and a process that proves that the filter bites.
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <thread>

#include "p2p/kernels/transfer.hpp"
#include "tests/support/failure.hpp"
#include "tests/unit/p2p/kernels/wired.hpp"

namespace duofi::test {
namespace {

using p2p::KernelResult;
using p2p::Protocol;

/// From here on only exit, exit_group and getrusage (after the loop, for the count of faults) are
/// survived.
bool forbid_system_calls() {
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrusage, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter{static_cast<unsigned short>(std::size(program)), program};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

struct Traffic {
    Protocol protocol = Protocol::ll;
    EdgeMode mode = EdgeMode::slots;
    std::size_t bytes = 8;
    int messages = 0;
};

constexpr int kOk = 0, kNoFilter = 40, kFailed = 41, kFaults = 42;

/// Messages in both directions, as many in a row as there are slots; rank 0 sends first.
KernelResult bounce(int rank, const Traffic& traffic, int messages, p2p::SendLink& out,
                    p2p::RecvLink& in, std::byte* data, const p2p::KernelContext& context) {
    constexpr int kInARow = 8;
    for (int i = 0; i < messages; i += kInARow) {
        for (int k = 0; k < 2 * kInARow; ++k) {
            KernelResult result;
            if (k / kInARow == rank) {
                p2p::SendTransfer send(out, data, traffic.bytes, traffic.protocol);
                result = p2p::run_transfers({&send, 1}, {}, context);
            } else {
                p2p::RecvTransfer receive(in, data, traffic.bytes, traffic.protocol);
                result = p2p::run_transfers({}, {&receive, 1}, context);
            }
            if (result != KernelResult::ok) return result;
        }
    }
    return KernelResult::ok;
}

long faults() {
    rusage usage{};
    ::getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_minflt + usage.ru_majflt;
}

/// One rank, in a process of its own; returns its exit code.
int rank_process(int rank, const Traffic& traffic, Edge& to, Edge& from, bool breaks_silence) {
    std::uint32_t abort = 0;
    p2p::KernelContext context;  // never yields, no timeout: no clock either
    context.abort = &abort;
    p2p::SendLink out = to.sender();
    p2p::RecvLink in = from.receiver();
    std::vector<std::byte> data(traffic.bytes + 64);
    constexpr int kWarmUp = 64;  // every slot was touched, eight times over
    if (bounce(rank, traffic, kWarmUp, out, in, data.data(), context) != KernelResult::ok)
        return kFailed;
    if (!forbid_system_calls()) return kNoFilter;
    const long before = faults();
    if (bounce(rank, traffic, traffic.messages, out, in, data.data(), context) != KernelResult::ok)
        return kFailed;
    if (breaks_silence) ::sched_yield();
    return faults() == before ? kOk : kFaults;
}

/// Both ranks; the wait statuses. The direct mode needs one address space: there rank 1's buffer is
/// shared memory at the same address in both, since children inherit it.
std::pair<int, int> run_pair(const Traffic& traffic, bool breaks_silence) {
    EdgeSettings settings;
    settings.mode = traffic.mode;
    Edge first(settings), second(settings);
    const auto start = [&](int rank) {
        const pid_t child = ::fork();
        if (child == 0) {
            ::alarm(120);
            ::_exit(rank_process(rank, traffic, rank == 0 ? first : second,
                                 rank == 0 ? second : first, breaks_silence));
        }
        return child;
    };
    const pid_t a = start(0), b = start(1);
    int status_a = 0, status_b = 0;
    ::waitpid(a, &status_a, 0);
    ::waitpid(b, &status_b, 0);
    return {status_a, status_b};
}

bool exited(int status, int code) {
    return WIFEXITED(status) && WEXITSTATUS(status) == code;
}

bool filters_work() {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(forbid_system_calls() ? kOk : kNoFilter);
    int status = 0;
    ::waitpid(child, &status, 0);
    return exited(status, kOk);
}

/// DUOFI_TEST_MESSAGES, set by the entry of the label `full`, gives the million that C-50 asks for.
int messages_per_case() {
    const char* text = std::getenv("DUOFI_TEST_MESSAGES");
    return text ? std::atoi(text) : 1'000;
}

class Silence : public testing::Test {
  protected:
    void SetUp() override {
        if (kSanitized)
            GTEST_SKIP() << "the sanitizer's runtime makes system calls of its own";
        if (std::thread::hardware_concurrency() < 2)
            GTEST_SKIP() << "needs a CPU per kernel thread";
        if (!filters_work()) GTEST_SKIP() << "this kernel refuses seccomp filters";
    }
};

TEST_F(Silence, NoSystemCallAndNoFaultPerProtocolAndMode_V40_C50) {
    for (const EdgeMode mode : {EdgeMode::slots, EdgeMode::read}) {
        for (const Protocol protocol : kProtocols) {
            if (mode == EdgeMode::read && protocol != Protocol::simple) continue;  // the same lines
            for (const std::size_t bytes : {std::size_t{8}, std::size_t{3000}}) {
                const Traffic traffic{protocol, mode, bytes, messages_per_case()};
                const auto [a, b] = run_pair(traffic, false);
                EXPECT_TRUE(exited(a, kOk) && exited(b, kOk))
                    << to_string(protocol) << " " << bytes << " bytes: wait statuses " << a
                    << " and " << b << " (" << kFaults << " << 8: page faults)";
            }
        }
    }
}

TEST_F(Silence, TheFilterBites_V40) {
    const auto [a, b] = run_pair({Protocol::ll, EdgeMode::slots, 8, 100}, true);
    for (const int status : {a, b}) {
        EXPECT_TRUE(WIFSIGNALED(status));
        EXPECT_EQ(WTERMSIG(status), SIGSYS);
    }
}

/// The same between threads, where one writes the other's buffer: the filter is the thread's own.
TEST_F(Silence, DirectPointersAreSilentToo_V40_C50) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(120);
        const Traffic traffic{Protocol::simple, EdgeMode::direct, 3000, messages_per_case()};
        EdgeSettings settings;
        settings.mode = EdgeMode::direct;
        Edge first(settings), second(settings);
        std::atomic<int> code{-1};  // of rank 1; joining would be a system call
        std::thread other([&] {
            code = rank_process(1, traffic, second, first, false);
            while (true) p2p::cpu_relax();
        });
        const int mine = rank_process(0, traffic, first, second, false);
        while (code == -1) p2p::cpu_relax();
        ::_exit(mine != kOk ? mine : code.load());
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(exited(status, kOk)) << status;
}

}  // namespace
}  // namespace duofi::test
