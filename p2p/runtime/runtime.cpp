#include "p2p/runtime/runtime.hpp"

#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <utility>

#include "common/local/process_watch.hpp"
#include "common/util/fork_mark.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/p2p_runtime.hpp"
#include "p2p/runtime/cuda.hpp"
#include "p2p/runtime/hip.hpp"
#include "p2p/runtime/host.hpp"
#include "p2p/runtime/neuron.hpp"
#include "p2p/runtime/options.hpp"
#include "p2p/runtime/sim.hpp"
#include "p2p/runtime/slot_error.hpp"
#include "p2p/runtime/unified.hpp"

namespace duofi::p2p {

namespace runtime {
namespace {

// What lives from the first Use to the last.
struct Installation {
    const RuntimeTable* table = nullptr;
    Settings settings;
    ForkMark fork_mark;
    local::ProcessWatch watch;
    int uses = 0;
};

constinit std::mutex mutex;
// Not destroyed when the process exits: communicators may still be in use then.
constinit Installation* installation = nullptr;
constinit std::atomic<Installation*> in_force{nullptr};

// The mutex is held.
void drop_installation() {
    in_force.store(nullptr, std::memory_order_release);
    delete std::exchange(installation, nullptr);
}

// A child of a fork meanwhile would wait for ever for a thread that it does not have.
void keep_mutex_over_forks() {
    [[maybe_unused]] static const int once =
        ::pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); }, [] { mutex.unlock(); });
}

Status start(Installation& made) {
    const RuntimeTable& table = *made.table;
    if (const int code = table.init(); code != kRuntimeOk) {
        const char* text = table.error_string(code);
        log::warn(NCCL_INIT | NCCL_P2P, messages::kRuntimeFailed, table.name, "init", code, text);
        return fail(slot_errc(code), text);
    }
    int count = 0;
    (void)table.get_device_count(&count);
    const std::uint64_t bits = table.capabilities();
    const char* reach = (bits & kUnified) != 0 ? "as it is" : (bits & kRealIpc) != 0 ? "by handles" : "none";
    log::info(NCCL_INIT | NCCL_P2P, messages::kRuntimeReady, table.name, count, bits, reach);
    return {};
}

}  // namespace

const RuntimeTable* find_table(std::string_view name) noexcept {
    for (const RuntimeTable* table :
         {&host_runtime, &unified_runtime, &sim_runtime, &cuda_runtime, &hip_runtime, &neuron_runtime})
        if (name == table->name) return table;
    return nullptr;
}

Result<Use> acquire(const Settings& settings) {
    const RuntimeTable* table = find_table(settings.p2p_runtime);
    if (table != nullptr) return acquire(*table, settings);
    log::warn(NCCL_INIT | NCCL_P2P, messages::kRuntimeUnavailable, settings.p2p_runtime);
    return fail(Errc::unsupported, messages::kSlotMissing, EOPNOTSUPP);
}

Result<Use> acquire(const RuntimeTable& table, const Settings& settings) {
    keep_mutex_over_forks();
    const std::scoped_lock lock(mutex);
    if (installation != nullptr) {
        if (installation->fork_mark.in_child()) {
            log::warn(NCCL_INIT | NCCL_P2P, messages::kRuntimeFailed, table.name, "init",
                      static_cast<int>(Errc::invalid_usage), messages::kRuntimeChild);
            return fail(Errc::invalid_usage, messages::kRuntimeChild, EPERM);
        }
        if (installation->table != &table) {
            log::warn(NCCL_INIT | NCCL_P2P, messages::kRuntimeInUse, table.name, installation->table->name);
            return fail(Errc::invalid_usage, messages::kOtherRuntime, EBUSY);
        }
        ++installation->uses;
        return Use(&table);
    }
    installation = new Installation;
    installation->table = &table;
    installation->settings = settings;
    in_force.store(installation, std::memory_order_release);
    if (const Status started = start(*installation); !started) {
        drop_installation();
        return tl::unexpected(started.error());
    }
    installation->uses = 1;
    return Use(&table);
}

Use::Use(Use&& other) noexcept : table_(std::exchange(other.table_, nullptr)) {}

Use& Use::operator=(Use&& other) noexcept {
    std::swap(table_, other.table_);
    return *this;
}

Use::~Use() {
    if (table_ == nullptr) return;
    const std::scoped_lock lock(mutex);
    // A child has no part in what its parent uses.
    if (installation == nullptr || installation->fork_mark.in_child() || --installation->uses != 0) return;
    (void)table_->finalize();
    drop_installation();
}

const RuntimeTable* installed() noexcept {
    const Installation* now = in_force.load(std::memory_order_acquire);
    return now != nullptr && !now->fork_mark.in_child() ? now->table : nullptr;
}

bool in_forked_child() noexcept {
    const Installation* now = in_force.load(std::memory_order_acquire);
    return now != nullptr && now->fork_mark.in_child();
}

std::uint64_t capabilities() noexcept {
    const RuntimeTable* table = installed();
    return table != nullptr ? table->capabilities() : 0;
}

local::ProcessWatch* process_watch() noexcept {
    Installation* now = in_force.load(std::memory_order_acquire);
    return now != nullptr && !now->fork_mark.in_child() ? &now->watch : nullptr;
}

}  // namespace runtime

const Settings& runtime_settings() noexcept {
    static const Settings defaults;
    const runtime::Installation* now = runtime::in_force.load(std::memory_order_acquire);
    return now != nullptr ? now->settings : defaults;
}

}  // namespace duofi::p2p
