// What connect returns: all ranks of one group over one device (collComm). Owns its lanes, windows and contexts and a
// share of the endpoint. Made by connect, ended by close; both block for a bounded time.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "common/ofi/endpoint.hpp"
#include "common/ofi/listen_handle.hpp"
#include "rma_plugin/caller_objects.hpp"
#include "rma_plugin/context.hpp"
#include "rma_plugin/lane.hpp"
#include "rma_plugin/pause.hpp"
#include "rma_plugin/window_table.hpp"

namespace duofi::rma {

class ListenComm;

class Group : private ofi::PortOwner {
  public:
    static constexpr Nanoseconds kDrainLimit = 300 * kMillisecond;

    /// Joins the ranks whose handles are given, in rank order; `handles[rank]` is the listener's own. Waits for all of
    /// them, at most DUOFI_CONNECT_TIMEOUT (C-5). Errors, logged: invalid_argument for handles that are not ours,
    /// invalid_usage for ranks that disagree, remote when one is lost or refuses, timed_out.
    [[nodiscard]] static Result<std::unique_ptr<Group>> connect(ListenComm& listener,
                                                                std::span<const ofi::ListenHandle> handles,
                                                                std::uint32_t rank);
    /// closeColl: ends contexts and windows that are left, tells the others, forgets them. Local, about a second at
    /// most.
    ~Group() override;

    [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(lanes_.size()); }
    [[nodiscard]] std::uint32_t rank() const noexcept { return rank_; }
    [[nodiscard]] ofi::Endpoint& endpoint() noexcept { return *endpoint_; }
    [[nodiscard]] const Settings& settings() const noexcept { return endpoint_->domain().settings(); }
    [[nodiscard]] WindowTable& windows() noexcept { return windows_; }
    /// nullptr for the own rank.
    [[nodiscard]] Lane* lane(std::uint32_t rank) noexcept { return lanes_[rank].get(); }
    template <typename F>
    void for_each_lane(F&& f) {
        for (auto& lane : lanes_)
            if (lane != nullptr) f(*lane);
    }
    /// Is `done` = applied at the target (DUOFI_RMA_COMPLETION)?
    [[nodiscard]] bool remote_completion() const noexcept { return remote_completion_; }
    /// Largest piece of one operation, bytes.
    [[nodiscard]] std::size_t segment() const noexcept { return segment_; }

    [[nodiscard]] Context& add_context(int count);
    /// Waits at most `limit` for what is outstanding there.
    void end_context(Context& context, Nanoseconds limit = kDrainLimit);

    // --- lock of the endpoint held ---
    void rank_lost() noexcept;
    void fail_requests(const Lane& lane) noexcept;
    /// The request of this lane that has waited longest for its end, posted or not; nullptr if none waits.
    [[nodiscard]] Request* oldest_pending(const Lane& lane) noexcept;
    /// Is a read from that window of the lane's rank under way?
    [[nodiscard]] bool reads_from(const Lane& lane, std::uint32_t window) noexcept;
    /// What a rank sent makes no sense: it is given up.
    void violation(std::uint32_t rank, const char* what) noexcept;
    void late_signal() noexcept { ++late_signals_; }
    /// A control call waits for the other ranks: their silence is looked into.
    [[nodiscard]] bool awaiting() const noexcept { return awaiting_; }

    /// Polls until `done()` says so, checked with the lock held; false after `limit`. No lock held by the caller.
    template <typename Done>
    [[nodiscard]] bool wait(Done&& done, Nanoseconds limit) {
        const Deadline deadline(limit);
        Pause pause;
        for (;;) {
            {
                const std::scoped_lock lock(endpoint_->mutex());
                awaiting_ = true;
                endpoint_->poll();
                const bool over = done();
                if (over || deadline.passed()) {
                    awaiting_ = false;
                    return over;
                }
            }
            pause.next();
        }
    }

  private:
    explicit Group(ListenComm& listener, std::uint32_t rank, std::size_t ranks);
    [[nodiscard]] Status introduce(std::span<const ofi::ListenHandle> handles);
    [[nodiscard]] Status await_hellos(ListenComm& listener, std::span<const ofi::ListenHandle> handles);
    [[nodiscard]] bool take_hellos(ListenComm& listener, std::span<const ofi::ListenHandle> handles);
    [[nodiscard]] bool unknown_rank_gone() noexcept;
    [[nodiscard]] std::uint64_t agreement() const noexcept;
    void on_message(const ofi::Message& message) noexcept override;
    void on_refuse(std::uint32_t reason) noexcept;

    std::shared_ptr<ofi::Endpoint> endpoint_;
    std::uint32_t rank_;
    std::uint32_t port_ = 0;
    std::vector<std::unique_ptr<Lane>> lanes_;  ///< by rank
    WindowTable windows_;
    std::mutex contexts_mutex_;
    std::vector<std::unique_ptr<Context>> contexts_;  ///< guarded by both locks; read under either
    bool remote_completion_;
    std::size_t segment_;
    bool connected_ = false;
    bool awaiting_ = false;
    Errc setup_error_{};                ///< of connect; 0 = none
    std::uint64_t late_signals_ = 0;

  public:
    Instance* instance = nullptr;       ///< that keeps it
    ObjectHandle* handle = nullptr;     ///< the caller's pointer
};

}  // namespace duofi::rma
