#include "common/local/process_watch.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <utility>
#include <vector>

#include "common/local/background.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/local.hpp"

namespace duofi::local {

namespace {

constexpr Nanoseconds kLook = 100 * kMillisecond;  // where there is no descriptor to sleep on

struct Watched {
    ProcessWatch::Id id;
    UniqueFd process;  // empty: looked at by the clock
    HostIdentity who;
    DeathNote note;
};

void enter(const DeathNote& note) noexcept {
    if (note.dead_rank != nullptr) {
        std::int32_t nobody = -1;
        std::atomic_ref<std::int32_t>(*note.dead_rank)
            .compare_exchange_strong(nobody, note.rank, std::memory_order_release, std::memory_order_relaxed);
    }
    if (note.abort_flag != nullptr)
        std::atomic_ref<std::uint32_t>(*note.abort_flag).store(1, std::memory_order_release);
}

void report(const Watched& dead) {
    if (dead.who.pid != 0)
        log::info(log::init, messages::kProcessDied, dead.who.pid, dead.note.rank);
    else
        log::info(log::init, messages::kConnectionEnded, dead.note.rank);
}

}  // namespace

Result<UniqueFd> open_process(const HostIdentity& who, const HostIdentity& self, const char* proc_root) {
    UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(who.pid), 0U)));
    const int error = process ? 0 : errno;
    if (error == ESRCH) return fail(Errc::system, messages::kExporterGone, ESRCH);
    // The descriptor holds on to whoever has the pid now, so looking at its age afterwards is enough.
    if (process_gone(who, self, proc_root)) {
        const bool replaced = process && !process_ended(process);
        return fail(Errc::system, replaced ? messages::kExporterReplaced : messages::kExporterGone, ESRCH);
    }
    if (!process) return fail(Errc::system, messages::kPidfdOpen, error);
    return process;
}

bool process_ended(const UniqueFd& process) noexcept {
    pollfd entry{process.get(), POLLIN, 0};
    return ::poll(&entry, 1, 0) > 0;
}

class ProcessWatch::Loop {
  public:
    Result<Id> add(Watched watched) {
        if (thread_.in_child()) return fail(Errc::invalid_usage, messages::kForkedChild, EPERM);
        Id id = 0;
        {
            const std::scoped_lock lock(mutex_);
            if (!thread_.started()) DUOFI_TRY(thread_.start("duofi-watch", [this] { run(); }));
            id = watched.id = ++ids_;
            watched_.push_back(std::move(watched));
        }
        thread_.wake();
        return id;
    }

    void remove(Id id) noexcept {
        if (thread_.in_child()) return;
        const std::scoped_lock lock(mutex_);
        std::erase_if(watched_, [id](const Watched& watched) { return watched.id == id; });
    }

    std::size_t size() const {
        const std::scoped_lock lock(mutex_);
        return watched_.size();
    }

    // Before the members go.
    void stop() noexcept { thread_.stop(); }

    const HostIdentity self_ = read_host_identity();

  private:
    void run() {
        std::vector<pollfd> waited;
        std::vector<Id> ids;
        while (!thread_.stopping()) {
            const bool by_clock = collect(waited, ids);
            const int patience = by_clock ? static_cast<int>(kLook / kMillisecond) : -1;
            if (::poll(waited.data(), waited.size(), patience) < 0 && errno != EINTR) thread_.pause(kLook);
            if (waited[0].revents != 0) thread_.silence();
            for (const Watched& dead : bury(waited, ids)) report(dead);
        }
    }

    // True when somebody is watched without a descriptor.
    bool collect(std::vector<pollfd>& waited, std::vector<Id>& ids) {
        bool by_clock = false;
        waited.assign(1, {thread_.alarm(), POLLIN, 0});
        ids.assign(1, 0);
        const std::scoped_lock lock(mutex_);
        for (const Watched& watched : watched_) {
            by_clock = by_clock || !watched.process;
            if (!watched.process) continue;
            waited.push_back({watched.process.get(), POLLIN, 0});
            ids.push_back(watched.id);
        }
        return by_clock;
    }

    std::vector<Watched> bury(const std::vector<pollfd>& waited, const std::vector<Id>& ids) {
        std::vector<Watched> dead;
        const std::scoped_lock lock(mutex_);
        for (auto watched = watched_.begin(); watched != watched_.end();) {
            if (!ended(*watched, waited, ids)) {
                ++watched;
                continue;
            }
            enter(watched->note);
            dead.push_back(std::move(*watched));
            watched = watched_.erase(watched);
        }
        return dead;
    }

    bool ended(const Watched& watched, const std::vector<pollfd>& waited, const std::vector<Id>& ids) const {
        if (!watched.process) return process_gone(watched.who, self_);
        const auto found = std::find(ids.begin(), ids.end(), watched.id);
        return found != ids.end() && waited[static_cast<std::size_t>(found - ids.begin())].revents != 0;
    }

    mutable std::mutex mutex_;
    std::vector<Watched> watched_;
    Id ids_ = 0;
    BackgroundThread thread_;
};

ProcessWatch::ProcessWatch() : loop_(std::make_unique<Loop>()) {}
ProcessWatch::~ProcessWatch() { loop_->stop(); }

Result<ProcessWatch::Id> ProcessWatch::add(const HostIdentity& who, const DeathNote& note) {
    if (!same_kernel_and_pid_namespace(who, loop_->self_))
        return fail(Errc::invalid_usage, messages::kWatchForeign, EINVAL);
    auto process = open_process(who, loop_->self_);
    if (process) return loop_->add({0, std::move(*process), who, note});
    // Gone already, or no such call here: the thread finds out at its first look.
    return loop_->add({0, UniqueFd(), who, note});
}

Result<ProcessWatch::Id> ProcessWatch::add(UniqueFd descriptor, const DeathNote& note) {
    if (!descriptor) return fail(Errc::invalid_argument, messages::kWatchNothing, EBADF);
    return loop_->add({0, std::move(descriptor), HostIdentity{}, note});
}

void ProcessWatch::remove(Id id) noexcept { loop_->remove(id); }
std::size_t ProcessWatch::size() const { return loop_->size(); }

}  // namespace duofi::local
