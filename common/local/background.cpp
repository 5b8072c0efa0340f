#include "common/local/background.hpp"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "common/util/messages/local.hpp"
#include "common/util/scope_exit.hpp"

namespace duofi::local {

BackgroundThread::BackgroundThread() : alarm_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Status BackgroundThread::start(const char* name, std::function<void()> body) {
    if (!alarm_) return fail(Errc::system, messages::kBackgroundThread, EMFILE);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const ScopeExit restore([&] { pthread_sigmask(SIG_SETMASK, &before, nullptr); });
    try {
        thread_ = std::thread([name, work = std::move(body)] {
            pthread_setname_np(pthread_self(), name);
            work();
        });
    } catch (const std::system_error& error) {
        return fail(Errc::system, messages::kBackgroundThread, error.code().value());
    }
    return {};
}

void BackgroundThread::stop() noexcept {
    if (!thread_.joinable()) return;
    if (in_child()) return thread_.detach();
    stopping_.store(true, std::memory_order_release);
    wake();
    thread_.join();
}

void BackgroundThread::wake() noexcept {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(alarm_.get(), &one, sizeof(one));
}

void BackgroundThread::silence() noexcept {
    std::uint64_t rung = 0;
    [[maybe_unused]] const ssize_t got = ::read(alarm_.get(), &rung, sizeof(rung));
}

void BackgroundThread::pause(Nanoseconds longest) const noexcept {
    pollfd entry{alarm_.get(), POLLIN, 0};
    ::poll(&entry, 1, static_cast<int>(longest / kMillisecond));
}

}  // namespace duofi::local
