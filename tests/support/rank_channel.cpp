#include "tests/support/rank_channel.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <new>
#include <utility>

#include "tests/support/failure.hpp"

namespace duofi::test {
namespace {

constexpr std::size_t kStepBytes = 96;

void wake_all(std::atomic<std::uint32_t>& word) {
    ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void wait_change(std::atomic<std::uint32_t>& word, std::uint32_t seen, Nanoseconds at_most) {
    timespec t{};
    t.tv_sec = at_most / kSecond;
    t.tv_nsec = at_most % kSecond;
    ::syscall(SYS_futex, &word, FUTEX_WAIT, seen, &t, nullptr, 0);
}

}  // namespace

struct RankChannel::Shared {
    int ranks = 0;
    std::atomic<std::uint32_t> lock{0};  // guards arrived, members and the step to the next round
    std::atomic<std::uint32_t> round{0};
    std::atomic<std::uint32_t> arrived{0};
    std::atomic<std::uint32_t> members{0};
    std::atomic<std::uint32_t> failed{0};
    std::array<std::array<std::atomic<char>, kStepBytes>, kMaxRanks> steps{};
    // Two sets: a slow reader of one round is not overtaken by a fast writer of the next.
    std::array<std::array<std::array<char, kSlotBytes>, kMaxRanks>, 2> slots;

    void acquire() {
        while (lock.exchange(1, std::memory_order_acquire) != 0) ::sched_yield();
    }
    void release() { lock.store(0, std::memory_order_release); }
};

RankChannel RankChannel::create(int ranks) {
    require(ranks >= 1 && ranks <= kMaxRanks, "group of {} ranks", ranks);
    const int fd = ::memfd_create("duofi-ranks", MFD_CLOEXEC);
    require(fd >= 0 && ::ftruncate(fd, sizeof(Shared)) == 0, "no shared memory, errno {}", errno);
    void* at = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    require(at != MAP_FAILED, "cannot map shared memory, errno {}", errno);
    auto* shared = new (at) Shared;
    shared->ranks = ranks;
    shared->members.store(static_cast<std::uint32_t>(ranks));
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

int RankChannel::ranks() const { return shared_->ranks; }

// Called with the lock held and everybody arrived.
void RankChannel::release_members() {
    shared_->arrived.store(0);
    shared_->round.fetch_add(1);
    wake_all(shared_->round);
}

void RankChannel::barrier(Nanoseconds timeout) {
    const Deadline deadline(timeout);
    require(!broken(), "another rank failed");
    shared_->acquire();
    const std::uint32_t round = shared_->round.load();
    if (shared_->arrived.fetch_add(1) + 1 == shared_->members.load()) release_members();
    shared_->release();
    while (shared_->round.load() == round) {
        require(!broken(), "another rank failed");
        require(!deadline.passed(), "barrier: not all ranks arrived in time");
        wait_change(shared_->round, round, std::min<Nanoseconds>(deadline.remaining(), 50 * kMillisecond));
    }
}

void RankChannel::gather(int rank, const void* mine, std::size_t bytes, void* all,
                         Nanoseconds timeout) {
    require(bytes <= kSlotBytes, "gather of {} bytes", bytes);
    auto& set = shared_->slots[shared_->round.load() & 1U];
    std::memcpy(set[static_cast<std::size_t>(rank)].data(), mine, bytes);
    barrier(timeout);
    for (std::size_t i = 0; i < static_cast<std::size_t>(shared_->ranks); ++i) {
        std::memcpy(static_cast<char*>(all) + i * bytes, set[i].data(), bytes);
    }
}

void RankChannel::drop_members(int count) {
    shared_->acquire();
    const auto members = shared_->members.fetch_sub(static_cast<std::uint32_t>(count)) -
                         static_cast<std::uint32_t>(count);
    if (members > 0 && shared_->arrived.load() == members) release_members();
    shared_->release();
}

void RankChannel::break_group() noexcept {
    shared_->failed.store(1);
    wake_all(shared_->round);
}

bool RankChannel::broken() const noexcept { return shared_->failed.load() != 0; }

void RankChannel::set_step(int rank, const char* text) noexcept {
    auto& step = shared_->steps[static_cast<std::size_t>(rank)];
    std::size_t i = 0;
    for (; text[i] != '\0' && i + 1 < kStepBytes; ++i) step[i].store(text[i], std::memory_order_relaxed);
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
