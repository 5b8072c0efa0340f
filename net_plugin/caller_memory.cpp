#include "net_plugin/caller_memory.hpp"

#include <atomic>
#include <mutex>

namespace duofi::net {

namespace {

std::mutex g_mutex;
std::atomic<CallerMemory*> g_memory{nullptr};

}  // namespace

CallerMemory& caller_memory() {
    if (CallerMemory* memory = g_memory.load(std::memory_order_acquire)) return *memory;
    const std::scoped_lock lock(g_mutex);
    if (g_memory.load(std::memory_order_relaxed) == nullptr)
        g_memory.store(new CallerMemory, std::memory_order_release);
    return *g_memory.load(std::memory_order_relaxed);
}

void drop_caller_memory() noexcept { delete g_memory.exchange(nullptr); }

}  // namespace duofi::net
