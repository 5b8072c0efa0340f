// Tells when a process of this node ends (p2p contract 2.6): one thread per watch object, asleep on descriptors of the
// watched processes. No per-message work, no timers. Any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>

#include "common/util/clock.hpp"
#include "common/util/error.hpp"
#include "common/util/host_identity.hpp"
#include "common/util/unique_fd.hpp"

namespace duofi::local {

/// A descriptor that polls readable when the process ends, and is of that very process (start time compared). Errors:
/// system with ESRCH (gone already, or the pid has another owner; `place` says which), system with another number
/// (kernel too old or call forbidden).
[[nodiscard]] Result<UniqueFd> open_process(const HostIdentity& who, const HostIdentity& self,
                                            const char* proc_root = "/proc");

/// Whether the process behind a descriptor of open_process or hold_connection has ended.
[[nodiscard]] bool process_ended(const UniqueFd& process) noexcept;

/// What a death is written into. Both words must outlive the watch.
struct DeathNote {
    int rank = -1;                        ///< who dies
    std::int32_t* dead_rank = nullptr;    ///< gets `rank` if it holds -1; may be NULL
    std::uint32_t* abort_flag = nullptr;  ///< gets 1; may be NULL
};

class ProcessWatch {
  public:
    using Id = std::uint64_t;

    ProcessWatch();
    /// Stops and joins the thread. In a forked child it only closes descriptors.
    ~ProcessWatch();
    ProcessWatch(const ProcessWatch&) = delete;
    ProcessWatch& operator=(const ProcessWatch&) = delete;

    /// Watches a process of this PID namespace. One that is gone already is noted at once. Where the kernel offers no
    /// descriptor of processes, the thread looks ten times a second instead. Errors: invalid_usage (another kernel or
    /// PID namespace, forked child), system (no thread).
    [[nodiscard]] Result<Id> add(const HostIdentity& who, const DeathNote& note);
    /// Watches whatever polls readable at the end of a process (hold_connection). Takes the descriptor. Errors: system,
    /// invalid_argument (none), invalid_usage (forked child).
    [[nodiscard]] Result<Id> add(UniqueFd descriptor, const DeathNote& note);
    /// On return the words of the note are not touched any more. Unknown ids are ignored.
    void remove(Id id) noexcept;

    [[nodiscard]] std::size_t size() const;

  private:
    class Loop;
    std::unique_ptr<Loop> loop_;
};

}  // namespace duofi::local
