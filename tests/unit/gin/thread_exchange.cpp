#include "tests/unit/gin/thread_exchange.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

namespace duofi::gin::test {

namespace {

constexpr std::chrono::seconds kPatience(20);

/// Where the threads meet.
struct Meeting {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::byte> blocks;
    int here = 0;
    std::uint64_t round = 0;
};

Status meet(Meeting& meeting, int rank, int size, std::span<const std::byte> mine,
            std::span<std::byte> all) {
    std::unique_lock lock(meeting.mutex);
    const std::uint64_t round = meeting.round;
    meeting.blocks.resize(all.size());
    std::ranges::copy(mine,
                      meeting.blocks.begin() + rank * static_cast<std::ptrdiff_t>(mine.size()));
    if (++meeting.here == size) {
        meeting.here = 0;
        ++meeting.round;
        meeting.changed.notify_all();
    }
    const auto complete = [&] { return meeting.round != round; };
    if (!meeting.changed.wait_for(lock, kPatience, complete))
        return fail(Errc::timed_out, "all_gather");
    std::ranges::copy(meeting.blocks, all.begin());
    return {};
}

}  // namespace

std::vector<Exchange> thread_exchanges(int size) {
    auto meeting = std::make_shared<Meeting>();
    // A second meeting keeps a fast rank's next block out of a slow one's copy.
    auto leaving = std::make_shared<Meeting>();
    std::vector<Exchange> exchanges;
    for (int rank = 0; rank < size; ++rank)
        exchanges.push_back(
            {rank, size, [=](std::span<const std::byte> mine, std::span<std::byte> all) -> Status {
                 DUOFI_TRY(meet(*meeting, rank, size, mine, all));
                 std::vector<std::byte> none(static_cast<std::size_t>(size));
                 const std::array<std::byte, 1> one{};
                 return meet(*leaving, rank, size, one, none);
             }});
    return exchanges;
}

}  // namespace duofi::gin::test
