#include "sim_fabric/link_model.hpp"

#include <rdma/fabric.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>

#include "sim_fabric/knobs.hpp"

namespace duofi::sim {
namespace {

std::mutex g_mutex;
std::array<Nanoseconds, kMostNics> g_busy_until{};
std::atomic<std::uint64_t> g_endpoints{0};

double latency_of(const Nic& nic) noexcept { return nic.latency_us.value_or(knobs().latency_us); }

Nanoseconds wire_time(const Nic& nic, std::size_t bytes) noexcept {
    if (!knobs().model_speed) return 0;
    const double gbps = nic.gbps > 0 ? nic.gbps : knobs().personality->gbps;
    return static_cast<Nanoseconds>(static_cast<double>(bytes) * 8 / gbps);
}

bool modelled(const Nic& nic) noexcept { return knobs().model_speed || latency_of(nic) > 0; }

enum Class : std::uint8_t { kSend, kWrite, kRead, kAtomic, kClasses };

Class class_of(Kind kind) noexcept {
    return kind == Kind::write ? kWrite : kind == Kind::read ? kRead : kind == Kind::atomic ? kAtomic : kSend;
}

// The granted bits, any of which keeps the later (first index) behind the earlier one.
constexpr std::uint64_t kRules[kClasses][kClasses] = {
    {FI_ORDER_SAS, FI_ORDER_SAW, FI_ORDER_SAR, FI_ORDER_SAW},
    {FI_ORDER_WAS, FI_ORDER_WAW | FI_ORDER_RMA_WAW, FI_ORDER_WAR | FI_ORDER_RMA_WAR, FI_ORDER_WAW},
    {FI_ORDER_RAS, FI_ORDER_RAW | FI_ORDER_RMA_RAW, FI_ORDER_RAR | FI_ORDER_RMA_RAR, FI_ORDER_RAW},
    {FI_ORDER_WAS, FI_ORDER_WAW, FI_ORDER_WAR, FI_ORDER_WAW | FI_ORDER_ATOMIC_WAW}};

}  // namespace

Nanoseconds arrival_time(unsigned nic, std::size_t bytes, Nanoseconds now) noexcept {
    const Nic& is = knobs().nics[nic];
    if (!modelled(is)) return 0;
    const std::scoped_lock lock(g_mutex);
    return std::max(now, g_busy_until[nic]) + wire_time(is, bytes) + static_cast<Nanoseconds>(latency_of(is) * kMicrosecond);
}

void book_departure(unsigned nic, std::size_t bytes, Nanoseconds now) noexcept {
    if (!knobs().model_speed) return;
    const std::scoped_lock lock(g_mutex);
    g_busy_until[nic] = std::max(now, g_busy_until[nic]) + wire_time(knobs().nics[nic], bytes);
}

std::uint64_t Chance::next() noexcept {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

std::uint64_t next_endpoint_seed() noexcept {
    return Chance(knobs().seed + g_endpoints.fetch_add(1, std::memory_order_relaxed)).next();
}

Nanoseconds Order::place(Kind kind, bool fenced, Nanoseconds wanted) noexcept {
    if (kind > Kind::atomic) return wanted;  // answers are free
    const Class later = class_of(kind);
    Nanoseconds at = wanted;
    for (int earlier = 0; earlier < kClasses; ++earlier)
        if (fenced || (granted_ & kRules[later][earlier]) != 0) at = std::max(at, last_[earlier]);
    last_[later] = std::max(last_[later], at);
    return at;
}

}  // namespace duofi::sim
