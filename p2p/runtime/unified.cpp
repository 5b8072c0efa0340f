#include "p2p/runtime/unified.hpp"

#include <algorithm>
#include <map>
#include <mutex>

#include "common/local/crc32c.hpp"
#include "common/local/ipc_handle.hpp"
#include "common/local/pages.hpp"
#include "common/util/host_identity.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/p2p_runtime.hpp"
#include "p2p/runtime/devices.hpp"
#include "p2p/runtime/events.hpp"
#include "p2p/runtime/options.hpp"
#include "p2p/runtime/relay_service.hpp"
#include "p2p/runtime/slot_error.hpp"

namespace duofi::p2p {

namespace {

struct Block {
    std::size_t bytes = 0;
    int device = 0;
    std::uint32_t retains = 0;
    bool freed = false;
};
using Blocks = std::map<std::uintptr_t, Block>;

struct Memory {
    std::mutex mutex;
    Blocks blocks;
};
Memory& memory_of_process() {
    static Memory& instance = *new Memory;  // other statics may still be in use at exit
    return instance;
}

std::uintptr_t number(const void* address) noexcept { return reinterpret_cast<std::uintptr_t>(address); }

// Lock held; end() when the address is in none.
Blocks::iterator around(const void* address) {
    Blocks& blocks = memory_of_process().blocks;
    auto block = blocks.upper_bound(number(address));
    if (block == blocks.begin()) return blocks.end();
    --block;
    return number(address) - block->first < block->second.bytes ? block : blocks.end();
}

// Lock held.
void drop_if_unused(Blocks::iterator block) {
    if (!block->second.freed || block->second.retains != 0) return;
    local::unmap(reinterpret_cast<void*>(block->first), block->second.bytes);
    memory_of_process().blocks.erase(block);
}

int init_unified() {
    devices::set_device_nodes(devices::device_nodes(runtime_settings().p2p_host_devices));
    return kRuntimeOk;
}

int finalize() {
    const std::scoped_lock lock(memory_of_process().mutex);
    Blocks& blocks = memory_of_process().blocks;
    if (!blocks.empty())
        log::warn(NCCL_INIT | NCCL_P2P, messages::kRuntimeLeftovers, unified_runtime.name, blocks.size());
    for (const auto& [base, block] : blocks) local::unmap(reinterpret_cast<void*>(base), block.bytes);
    blocks.clear();
    return kRuntimeOk;
}

std::uint64_t capabilities() {
    const std::uint64_t relay = runtime_settings().p2p_compat ? 0U : std::uint64_t{kRelay};
    return kUnified | kHostAccessible | relay;
}

// Pointers of this process mean nothing in another one.
int ipc_domain_id(std::uint64_t* id) {
    if (id == nullptr) return null_pointer();
    const HostIdentity self = read_host_identity();
    std::array<std::byte, kHostIdentityBytes> bytes{};
    ByteWriter out(bytes);
    write(out, self);
    *id = std::uint64_t{local::crc32c(bytes) | 1U} << 32;
    return kRuntimeOk;
}

int ipc_open_nothing(void**, const p2pIpcHandle*, unsigned) { return kRuntimeOk; }
int ipc_get_nothing(p2pIpcHandle*, void*) { return kRuntimeOk; }
int nothing(void*) { return kRuntimeOk; }

int allocate(void** memory, std::size_t bytes) {
    if (memory == nullptr) return null_pointer();
    if (bytes == 0 || bytes > local::kLargestSegment)
        return slot_failure(Errc::invalid_argument, messages::kRuntimeSize);
    const std::size_t alignment = bytes >= local::kSegmentUnit ? local::kSegmentUnit : local::page_size();
    void* made = local::map_aligned(-1, bytes, alignment);
    if (made == nullptr) return slot_failure(Errc::no_memory, messages::kRuntimeNoMemory);
    const int device = devices::current();
    if (devices::node_of(device) >= 0) local::prefer_node(made, local::round_to_pages(bytes), devices::node_of(device));
    const std::scoped_lock lock(memory_of_process().mutex);
    memory_of_process().blocks.emplace(number(made), Block{local::round_to_pages(bytes), device});
    *memory = made;
    return kRuntimeOk;
}

int free_memory(void* memory) {
    if (memory == nullptr) return kRuntimeOk;
    const std::scoped_lock lock(memory_of_process().mutex);
    const auto block = memory_of_process().blocks.find(number(memory));
    if (block == memory_of_process().blocks.end() || block->second.freed) return not_ours();
    block->second.freed = true;
    drop_if_unused(block);
    return kRuntimeOk;
}

int pointer_query(PointerInfo* info, const void* pointer) {
    if (info == nullptr) return null_pointer();
    const std::scoped_lock lock(memory_of_process().mutex);
    const auto block = around(pointer);
    if (block == memory_of_process().blocks.end()) return not_ours();
    *info = {reinterpret_cast<void*>(block->first), block->second.bytes, block->second.device, false};
    return kRuntimeOk;
}

int remote_alloc(RelayLease* lease, const RelayAddress* at, std::size_t bytes) {
    if (lease == nullptr || at == nullptr) return null_pointer();
    if ((capabilities() & kRelay) == 0) return slot_failure(Errc::unsupported, messages::kSlotMissing);
    const auto granted = relay_allocate(*at, bytes);
    if (!granted) return slot_failure(granted.error().code, granted.error().place);
    *lease = *granted;
    return kRuntimeOk;
}

int remote_free(std::int32_t lease_id) { return slot_code(relay_free(lease_id)); }

int retain(const void* memory) {
    const std::scoped_lock lock(memory_of_process().mutex);
    const auto block = around(memory);
    if (block == memory_of_process().blocks.end()) return not_ours();
    ++block->second.retains;
    return kRuntimeOk;
}

int release(const void* memory) {
    const std::scoped_lock lock(memory_of_process().mutex);
    const auto block = around(memory);
    if (block == memory_of_process().blocks.end() || block->second.retains == 0) return not_ours();
    --block->second.retains;
    drop_if_unused(block);
    return kRuntimeOk;
}

int reserve(const void* memory, std::size_t bytes) {
    {
        const std::scoped_lock lock(memory_of_process().mutex);
        const auto block = around(memory);
        if (block == memory_of_process().blocks.end()) return not_ours();
        if (bytes > block->second.bytes - (number(memory) - block->first))
            return slot_failure(Errc::invalid_argument, messages::kRuntimeSize);
        ++block->second.retains;
    }
    const int code = slot_code(local::populate(const_cast<void*>(memory), bytes));
    (void)release(memory);
    return code;
}

int copy_nothing(void* to, const void* from, std::size_t bytes, int kind) { return check_copy(to, from, bytes, kind); }

}  // namespace

constinit const RuntimeTable unified_runtime{
    .name = "unified",
    .init = init_unified,
    .finalize = finalize,
    .capabilities = capabilities,
    .get_device_count = devices::get_device_count,
    .set_device = devices::set_device,
    .get_device = devices::get_device,
    .device_family = devices::device_family,
    .device_info = devices::device_info,
    .device_by_pci_bus_id = devices::device_by_pci_bus_id,
    .device_pci_bus_id = devices::device_pci_bus_id,
    .device_numa_node = devices::device_numa_node,
    .device_can_access_peer = devices::can_access_peer,
    .device_enable_peer_access = [](int, unsigned) -> int { return kRuntimeOk; },
    .device_disable_peer_access = [](int) -> int { return kRuntimeOk; },
    .ipc_domain_id = ipc_domain_id,
    .ipc_open_mem_handle = ipc_open_nothing,
    .ipc_get_mem_handle = ipc_get_nothing,
    .ipc_close_mem_handle = nothing,
    .malloc = allocate,
    .free = free_memory,
    .host_alloc = host_alloc,
    .host_free = host_free,
    .memset = memset_now,
    .pointer_query = pointer_query,
    .memcpy_async = copy_nothing,
    .memcpy = copy_nothing,
    .events = &finished_event_table,
    .error_string = slot_error_text,
    .remote_alloc = remote_alloc,
    .remote_free = remote_free,
    .retain = retain,
    .release = release,
    .reserve = reserve,
    .end_exports = nothing,
};

}  // namespace duofi::p2p
