#include "tests/support/rank_channel.hpp"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <new>
#include <utility>

#include "tests/support/failure.hpp"

namespace duofi::test {
namespace {

constexpr std::size_t kStepBytes = 96;

// Round in the low half (the word that waiters sleep on), then arrived and members with 16 bits
// each: one atomic word, because a rank may be killed anywhere in here.
struct Count {
    std::uint32_t round = 0;
    std::uint32_t arrived = 0;
    std::uint32_t members = 0;

    static Count of(std::uint64_t word) {
        return {static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(word >> 32U) & 0xFFFFU,
                static_cast<std::uint32_t>(word >> 48U)};
    }
    [[nodiscard]] std::uint64_t word() const {
        return round | (static_cast<std::uint64_t>(arrived) << 32U) |
               (static_cast<std::uint64_t>(members) << 48U);
    }
    // The last arrival opens the next round.
    void settle() {
        if (members == 0 || arrived < members) return;
        ++round;
        arrived = 0;
    }
};

void wake_all(void* word) {
    ::syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void wait_change(void* word, std::uint32_t seen, Nanoseconds at_most) {
    timespec t{};
    t.tv_sec = at_most / kSecond;
    t.tv_nsec = at_most % kSecond;
    ::syscall(SYS_futex, word, FUTEX_WAIT, seen, &t, nullptr, 0);
}

}  // namespace

struct RankChannel::Lane {
    std::atomic<std::uint64_t> count{0};
    // Two sets: a slow reader of one round is not overtaken by a fast writer of the next.
    std::array<std::array<std::array<char, kSlotBytes>, kMaxRanks>, 2> slots;

    [[nodiscard]] std::uint32_t round() const { return Count::of(count.load()).round; }

    // Changes the count; returns the round before. Wakes everybody when a new round began.
    template <typename Change>
    std::uint32_t update(Change change) {
        std::uint64_t seen = count.load();
        for (;;) {
            Count next = Count::of(seen);
            change(next);
            next.settle();
            if (!count.compare_exchange_weak(seen, next.word())) continue;
            if (next.round != Count::of(seen).round) wake_all(&count);
            return Count::of(seen).round;
        }
    }
};

struct RankChannel::Shared {
    int ranks = 0;
    std::atomic<std::uint32_t> failed{0};
    std::atomic<std::uint32_t> order{0};
    std::array<char, kStepBytes> order_text{};
    std::array<std::atomic<std::uint32_t>, kMaxRanks> reported{};
    std::array<std::array<std::atomic<char>, kStepBytes>, kMaxRanks> steps{};
    std::array<Lane, kLanes> lanes;

    Lane& lane(int index) { return lanes.at(static_cast<std::size_t>(index)); }
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

RankChannel RankChannel::create(int ranks) {
    require(ranks >= 1 && ranks <= kMaxRanks, "group of {} ranks", ranks);
    const int fd = ::memfd_create("duofi-ranks", MFD_CLOEXEC);
    require(fd >= 0 && ::ftruncate(fd, sizeof(Shared)) == 0, "no shared memory, errno {}", errno);
    void* at = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    require(at != MAP_FAILED, "cannot map shared memory, errno {}", errno);
    auto* shared = new (at) Shared;
    shared->ranks = ranks;
    for (Lane& lane : shared->lanes)
        lane.update([&](Count& count) { count.members = static_cast<std::uint32_t>(ranks); });
    return RankChannel(fd, shared);
}

RankChannel RankChannel::attach(int fd) {
    void* at = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    require(at != MAP_FAILED, "cannot map the group's memory, errno {}", errno);
    return RankChannel(fd, static_cast<Shared*>(at));
}

RankChannel::RankChannel(RankChannel&& other) noexcept
    : fd_(std::move(other.fd_)), shared_(std::exchange(other.shared_, nullptr)) {}

RankChannel::~RankChannel() {
    if (shared_ != nullptr) ::munmap(static_cast<void*>(shared_), sizeof(Shared));
}

int RankChannel::ranks() const {
    return shared_->ranks;
}

void RankChannel::barrier(Nanoseconds timeout, int lane) {
    const Deadline deadline(timeout);
    Lane& here = shared_->lane(lane);
    require(!broken(), "another rank failed");
    const std::uint32_t round = here.update([](Count& count) { ++count.arrived; });
    while (here.round() == round) {
        require(!broken(), "another rank failed");
        require(!deadline.passed(), "barrier: not all ranks arrived in time");
        wait_change(&here.count, round,
                    std::min<Nanoseconds>(deadline.remaining(), 50 * kMillisecond));
    }
}

void RankChannel::gather(int rank, const void* mine, std::size_t bytes, void* all,
                         Nanoseconds timeout, int lane) {
    require(bytes <= kSlotBytes, "gather of {} bytes", bytes);
    Lane& here = shared_->lane(lane);
    auto& set = here.slots[here.round() & 1U];
    std::memcpy(set[static_cast<std::size_t>(rank)].data(), mine, bytes);
    barrier(timeout, lane);
    for (std::size_t i = 0; i < static_cast<std::size_t>(shared_->ranks); ++i) {
        std::memcpy(static_cast<char*>(all) + i * bytes, set[i].data(), bytes);
    }
}

void RankChannel::drop_members(int dropped) {
    for (Lane& lane : shared_->lanes)
        lane.update([&](Count& count) { count.members -= static_cast<std::uint32_t>(dropped); });
}

void RankChannel::break_group() noexcept {
    shared_->failed.store(1);
    for (Lane& lane : shared_->lanes) wake_all(&lane.count);
}

bool RankChannel::broken() const noexcept {
    return shared_->failed.load() != 0;
}

void RankChannel::post_order(const std::string& text) {
    require(text.size() < kStepBytes, "order of {} bytes", text.size());
    std::memcpy(shared_->order_text.data(), text.c_str(), text.size() + 1);
    shared_->order.fetch_add(1);
    wake_all(&shared_->order);
}

std::string RankChannel::wait_order(std::uint32_t& seen) {
    while (shared_->order.load() == seen) {
        if (broken()) return "";
        wait_change(&shared_->order, seen, 100 * kMillisecond);
    }
    seen = shared_->order.load();
    return shared_->order_text.data();
}

void RankChannel::report(int rank, std::uint32_t number) noexcept {
    shared_->reported[static_cast<std::size_t>(rank)].store(number);
}

bool RankChannel::all_reported() const noexcept {
    const std::uint32_t number = shared_->order.load();
    for (int i = 0; i < shared_->ranks; ++i) {
        if (shared_->reported[static_cast<std::size_t>(i)].load() != number) return false;
    }
    return true;
}

void RankChannel::set_step(int rank, const char* text) noexcept {
    auto& step = shared_->steps[static_cast<std::size_t>(rank)];
    std::size_t i = 0;
    for (; text[i] != '\0' && i + 1 < kStepBytes; ++i)
        step[i].store(text[i], std::memory_order_relaxed);
    step[i].store('\0', std::memory_order_relaxed);
}

std::string RankChannel::step(int rank) const {
    std::string text;
    for (const auto& c : shared_->steps[static_cast<std::size_t>(rank)]) {
        const char value = c.load(std::memory_order_relaxed);
        if (value == '\0') break;
        text += value;
    }
    return text;
}

}  // namespace duofi::test
