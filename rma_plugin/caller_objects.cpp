#include "rma_plugin/caller_objects.hpp"

#include <atomic>
#include <mutex>

namespace duofi::rma {

namespace {

std::mutex g_mutex;
std::atomic<CallerObjects*> g_objects{nullptr};
std::atomic<std::size_t> g_open{0};

}  // namespace

CallerObjects& caller_objects() {
    if (CallerObjects* known = g_objects.load(std::memory_order_acquire)) return *known;
    const std::scoped_lock lock(g_mutex);
    if (g_objects.load(std::memory_order_relaxed) == nullptr)
        g_objects.store(new CallerObjects, std::memory_order_release);
    return *g_objects.load(std::memory_order_relaxed);
}

void drop_caller_objects() noexcept { delete g_objects.exchange(nullptr); }

std::size_t open_objects() noexcept { return g_open.load(); }

ObjectHandle* open_object(ObjectKind kind, void* object) {
    ObjectHandle* handle = caller_objects().handles.acquire();
    handle->failed.store(false, std::memory_order_relaxed);
    handle->object.store(object, std::memory_order_relaxed);
    handle->kind.store(kind, std::memory_order_release);
    ++g_open;
    return handle;
}

void end_object(ObjectHandle& handle) noexcept {
    handle.kind = ObjectKind::none;
    handle.object = nullptr;
    caller_objects().handles.release(&handle);
    --g_open;
}

}  // namespace duofi::rma
