// How the ranks of one test group talk outside the plugin: barrier, all-gather and a note of what
// each rank is doing, in one shared-memory page set. Works between threads and between processes.
// Any thread; one caller per rank and lane at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "common/util/clock.hpp"
#include "common/util/unique_fd.hpp"

namespace duofi::test {

class RankChannel {
  public:
    static constexpr int kMaxRanks = 16;
    static constexpr std::size_t kSlotBytes = 16384;
    static constexpr int kLanes = 5;  ///< independent meeting places: lane 0, and one per thread of each rank

    /// A new channel; throws TestFailure when the system refuses.
    static RankChannel create(int ranks);
    /// The channel behind an inherited descriptor.
    static RankChannel attach(int fd);

    RankChannel(RankChannel&& other) noexcept;
    RankChannel& operator=(RankChannel&&) = delete;
    ~RankChannel();

    [[nodiscard]] int fd() const { return fd_.get(); }
    [[nodiscard]] int ranks() const;

    /// Waits for all members in this lane. Throws TestFailure on the deadline or when another rank failed.
    void barrier(Nanoseconds timeout, int lane = 0);

    /// Everybody's `bytes` bytes (at most kSlotBytes) in rank order, written to `all`.
    void gather(int rank, const void* mine, std::size_t bytes, void* all, Nanoseconds timeout,
                int lane = 0);

    /// `dropped` members will never arrive again: they were killed. Called by one survivor.
    void drop_members(int dropped);

    /// Lets every waiting and coming rank fail at once.
    void break_group() noexcept;
    [[nodiscard]] bool broken() const noexcept;

    /// Gives all ranks of a crew the next text (one caller). An empty text ends the crew.
    void post_order(const std::string& text);
    /// Waits, without limit, for the order after number `seen`; returns its text and sets `seen`. A
    /// broken group gets the order to end.
    std::string wait_order(std::uint32_t& seen);
    /// A rank carried out order `number`.
    void report(int rank, std::uint32_t number) noexcept;
    /// All ranks carried out the last order.
    [[nodiscard]] bool all_reported() const noexcept;

    /// A short note for the report of a group that did not end.
    void set_step(int rank, const char* text) noexcept;
    [[nodiscard]] std::string step(int rank) const;

  private:
    struct Lane;
    struct Shared;
    RankChannel(int fd, Shared* shared) : fd_(fd), shared_(shared) {}

    UniqueFd fd_;
    Shared* shared_;
};

}  // namespace duofi::test
