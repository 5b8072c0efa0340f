#include "net_plugin/comm_registry.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <vector>

#include "common/util/clock.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/net.hpp"
#include "common/util/scope_exit.hpp"

namespace duofi::net {

namespace {

constexpr Nanoseconds kAbandonedAlone = kSecond;

std::mutex g_mutex;
std::vector<CommHandle*>* g_attempts = nullptr;  // guarded; freed when empty
std::atomic<std::size_t> g_comms{0};
std::atomic<std::uint64_t> g_generation{0};
std::atomic<Nanoseconds> g_abandoned{120 * kSecond};

void forget_attempt(CommHandle& handle) noexcept {
    const std::scoped_lock lock(g_mutex);
    if (g_attempts == nullptr) return;
    g_attempts->erase(std::remove(g_attempts->begin(), g_attempts->end(), &handle), g_attempts->end());
    if (!g_attempts->empty()) return;
    delete g_attempts;
    g_attempts = nullptr;
}

}  // namespace

CommHandle* open_comm(CommKind kind, Comm& comm) {
    CommHandle* handle = caller_memory().comm_handles.acquire();
    handle->comm = &comm;
    handle->generation = ++g_generation;
    handle->last_call = now_ns();
    handle->kind = kind;
    ++g_comms;
    if (kind == CommKind::connecting) {
        const std::scoped_lock lock(g_mutex);
        if (g_attempts == nullptr) g_attempts = new std::vector<CommHandle*>;
        g_attempts->push_back(handle);
    }
    return handle;
}

Comm* find_comm(void* pointer, CommKind kind, const char* operation) noexcept {
    auto* handle = static_cast<CommHandle*>(pointer);
    if (handle != nullptr && handle->magic == CommHandle::kMagic && handle->kind == kind) [[likely]]
        return handle->comm;
    log::warn(log::net, messages::kBadComm, operation);
    return nullptr;
}

DataComm* find_data_comm(void* pointer, const char* operation) noexcept {
    auto* handle = static_cast<CommHandle*>(pointer);
    if (handle != nullptr && handle->magic == CommHandle::kMagic &&
        (handle->kind == CommKind::send || handle->kind == CommKind::recv))
        return static_cast<DataComm*>(handle->comm);
    log::warn(log::net, messages::kBadComm, operation);
    return nullptr;
}

void end_comm(CommHandle& handle) {
    if (handle.kind == CommKind::connecting) forget_attempt(handle);
    Comm* comm = handle.comm;
    handle.kind = CommKind::none;
    handle.comm = nullptr;
    caller_memory().comm_handles.release(&handle);
    Endpoint& endpoint = comm->endpoint();
    std::exception_ptr failed;
    try {
        comm->close();
    } catch (...) {
        failed = std::current_exception();
    }
    const ScopeExit gone([] { --g_comms; });  // when nothing of the comm needs the plugin any more
    endpoint.release();
    if (failed) std::rethrow_exception(failed);
}

void set_connect_timeout(Nanoseconds timeout) noexcept { g_abandoned = 2 * timeout; }
Nanoseconds connect_timeout() noexcept { return g_abandoned / 2; }

void drop_attempt(CommHandle& handle) noexcept {
    forget_attempt(handle);
    handle.kind = CommKind::none;
    handle.comm = nullptr;
    caller_memory().comm_handles.release(&handle);
    --g_comms;
}

CommHandle* find_attempt(const ConnectState& state) noexcept {
    const std::scoped_lock lock(g_mutex);
    if (g_attempts == nullptr) return nullptr;
    const auto it = std::find(g_attempts->begin(), g_attempts->end(), state.attempt);
    if (it == g_attempts->end() || (*it)->generation != state.generation) return nullptr;
    (*it)->last_call = now_ns();  // so that no sweep takes it while it is continued
    return *it;
}

void sweep_attempts() {
    std::vector<CommHandle*> abandoned;
    {
        const std::scoped_lock lock(g_mutex);
        if (g_attempts == nullptr) return;
        const Nanoseconds now = now_ns();
        const bool alone = g_comms == g_attempts->size();
        for (CommHandle* handle : *g_attempts)
            if (now - handle->last_call > (alone ? kAbandonedAlone : g_abandoned.load())) abandoned.push_back(handle);
    }
    for (CommHandle* handle : abandoned) end_comm(*handle);
}

void end_attempts() {
    std::vector<CommHandle*> attempts;
    {
        const std::scoped_lock lock(g_mutex);
        if (g_attempts != nullptr) attempts = *g_attempts;
    }
    for (CommHandle* handle : attempts) end_comm(*handle);
}

void end_comm_if_open(void* pointer, CommKind kind) {
    auto* handle = static_cast<CommHandle*>(pointer);
    if (handle != nullptr && handle->magic == CommHandle::kMagic && handle->kind == kind) end_comm(*handle);
}

std::size_t comm_count() noexcept { return g_comms; }

}  // namespace duofi::net
