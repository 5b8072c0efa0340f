// Something that happens in the middle of a function: when this thread is about to make a system call, another thread
// acts first. For races that would take days to meet. Needs a child of its own, which it leaves with the filter on.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>

namespace duofi::test {

class PausedCall {
  public:
    static constexpr std::uint32_t kAny = 0xffffffffU;

    /// Each time: `act`, then the call goes on. `second_argument`: only calls with this one.
    PausedCall(int number, std::uint32_t second_argument, std::function<void()> act) {
        // Begins before the filter, which therefore does not hold for it.
        std::thread([act = std::move(act), listener = &listener_] {
            while (listener->load() == kPending) std::this_thread::yield();
            seccomp_notif call{};
            while (::ioctl(listener->load(), SECCOMP_IOCTL_NOTIF_RECV, &call) == 0) {
                act();
                seccomp_notif_resp go_on{call.id, 0, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE};
                ::ioctl(listener->load(), SECCOMP_IOCTL_NOTIF_SEND, &go_on);
                call = {};
            }
        }).detach();
        const bool any = second_argument == kAny;
        sock_filter rules[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(number), 0, 3),
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[1])),
            BPF_JUMP(BPF_JMP | (any ? BPF_JGE : BPF_JEQ) | BPF_K, any ? 0 : second_argument, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        const sock_fprog program{6, rules};
        ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        listener_ = static_cast<int>(
            ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
    }
    PausedCall(const PausedCall&) = delete;
    PausedCall& operator=(const PausedCall&) = delete;

    /// False where the kernel has no such filters.
    explicit operator bool() const { return listener_.load() >= 0; }

  private:
    static constexpr int kPending = -2;
    std::atomic<int> listener_{kPending};
};

}  // namespace duofi::test
