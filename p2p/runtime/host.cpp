#include "p2p/runtime/host.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <span>

#include "common/local/ipc_domain.hpp"
#include "common/local/pages.hpp"
#include "common/local/segment_table.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/p2p_runtime.hpp"
#include "p2p/runtime/devices.hpp"
#include "p2p/runtime/events.hpp"
#include "p2p/runtime/options.hpp"
#include "p2p/runtime/relay_service.hpp"
#include "p2p/runtime/slot_error.hpp"

namespace duofi::p2p {

namespace {

constexpr std::size_t kFirstPage = P2P_MEM_ALIGN;  // the head of a FIFO, which both sides touch while connecting

struct Host {
    explicit Host(const Settings& settings)
        : huge_pages(settings.p2p_huge_pages),
          segments({.socket_dir = settings.p2p_fd_socket_dir, .accept_huge_pages = settings.p2p_huge_pages}) {}
    bool huge_pages;
    std::uint64_t capabilities = 0;
    local::SegmentTable segments;
};

// From init to finalize. Slots run between the two only.
std::atomic<Host*> host{nullptr};

Host* running() noexcept { return host.load(std::memory_order_acquire); }

// Connections under way need a descriptor each.
void raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

bool can_bind() {
    void* page = local::map_aligned(-1, local::page_size(), local::page_size());
    const int node = std::max(devices::node_of(0), 0);
    const bool bound = page != nullptr && local::prefer_node(page, local::page_size(), node);
    local::unmap(page, local::page_size());
    return bound;
}

int init_host() {
    raise_descriptor_limit();
    const Settings& settings = runtime_settings();
    devices::set_device_nodes(devices::device_nodes(settings.p2p_host_devices));
    auto made = std::make_unique<Host>(settings);
    std::uint64_t capabilities = kHostAccessible | kIpcInterior | kSameProcessIpc;
    if (const Status probed = made->segments.probe(); probed)
        capabilities |= kRealIpc;
    else
        log::warn(NCCL_INIT | NCCL_P2P, messages::kRuntimeNoIpc, host_runtime.name, probed.error().place,
                  probed.error().provider_errno);
    if (local::free_huge_pages() != 0) capabilities |= kHugePages;
    if (can_bind()) capabilities |= kNumaBind;
    if (!settings.p2p_compat) capabilities |= kRelay;
    made->capabilities = capabilities;
    host.store(made.release(), std::memory_order_release);
    return kRuntimeOk;
}

int finalize() {
    const std::unique_ptr<Host> last(host.exchange(nullptr, std::memory_order_acq_rel));
    if (last == nullptr) return kRuntimeOk;
    if (const std::size_t left = last->segments.size(); left != 0)
        log::warn(NCCL_INIT | NCCL_P2P, messages::kRuntimeLeftovers, host_runtime.name, left);
    return kRuntimeOk;
}

std::uint64_t capabilities() {
    const Host* self = running();
    return self != nullptr ? self->capabilities : 0;
}

int ipc_domain_id(std::uint64_t* id) {
    if (id == nullptr) return null_pointer();
    Host* self = running();
    if (self == nullptr) return not_running();
    const local::DomainFacts facts = local::read_domain_facts(runtime_settings().p2p_fd_socket_dir);
    *id = local::domain_id(facts, (self->capabilities & kRealIpc) != 0, self->segments.serve());
    return kRuntimeOk;
}

int ipc_open(void** memory, const p2pIpcHandle* handle, unsigned flags) {
    if (memory == nullptr || handle == nullptr) return null_pointer();
    if (flags != P2P_IPC_LAZY_PEER_ACCESS) return slot_failure(Errc::invalid_argument, messages::kRuntimeOpenFlag);
    Host* self = running();
    if (self == nullptr) return not_running();
    const auto opened = self->segments.open(std::as_bytes(std::span(handle->bytes)));
    if (!opened) return slot_failure(opened.error().code, opened.error().place);
    *memory = *opened;
    return kRuntimeOk;
}

int ipc_get(p2pIpcHandle* handle, void* memory) {
    if (handle == nullptr) return null_pointer();
    Host* self = running();
    if (self == nullptr) return not_running();
    const auto bytes = self->segments.export_handle(memory);
    if (!bytes) return slot_failure(bytes.error().code, bytes.error().place);
    std::memcpy(handle->bytes, bytes->data(), bytes->size());
    return kRuntimeOk;
}

int ipc_close(void* memory) {
    Host* self = running();
    return self == nullptr ? not_running() : slot_code(self->segments.close(memory));
}

int allocate(void** memory, std::size_t bytes) {
    if (memory == nullptr) return null_pointer();
    Host* self = running();
    if (self == nullptr) return not_running();
    const int device = devices::current();
    const auto made = self->segments.allocate({.bytes = bytes,
                                               .reserve_bytes = kFirstPage,
                                               .numa_node = devices::node_of(device),
                                               .tag = device,
                                               .huge_pages = self->huge_pages});
    if (!made) return slot_failure(made.error().code, made.error().place);
    *memory = *made;
    return kRuntimeOk;
}

int free_memory(void* memory) {
    Host* self = running();
    return self == nullptr ? not_running() : slot_code(self->segments.free(memory));
}

int pointer_query(PointerInfo* info, const void* pointer) {
    if (info == nullptr) return null_pointer();
    Host* self = running();
    if (self == nullptr) return not_running();
    const auto found = self->segments.find(pointer);
    if (!found) return slot_failure(Errc::invalid_argument, messages::kRuntimeNotOurs);
    *info = {found->base, found->bytes, found->tag, !found->owned};
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
    Host* self = running();
    return self == nullptr ? not_running() : slot_code(self->segments.retain(memory));
}

int release(const void* memory) {
    Host* self = running();
    return self == nullptr ? not_running() : slot_code(self->segments.release(memory));
}

int reserve(const void* memory, std::size_t bytes) {
    Host* self = running();
    return self == nullptr ? not_running() : slot_code(self->segments.reserve(memory, bytes));
}

int end_exports(void* memory) {
    if (memory == nullptr) return null_pointer();
    Host* self = running();
    return self == nullptr ? not_running() : slot_code(self->segments.close_descriptors(memory));
}

}  // namespace

constinit const RuntimeTable host_runtime{
    .name = "host",
    .init = init_host,
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
    .device_enable_peer_access = devices::enable_peer_access,
    .device_disable_peer_access = devices::disable_peer_access,
    .ipc_domain_id = ipc_domain_id,
    .ipc_open_mem_handle = ipc_open,
    .ipc_get_mem_handle = ipc_get,
    .ipc_close_mem_handle = ipc_close,
    .malloc = allocate,
    .free = free_memory,
    .host_alloc = host_alloc,
    .host_free = host_free,
    .memset = memset_now,
    .pointer_query = pointer_query,
    .memcpy_async = memcpy_now,
    .memcpy = memcpy_now,
    .events = &finished_event_table,
    .error_string = slot_error_text,
    .remote_alloc = remote_alloc,
    .remote_free = remote_free,
    .retain = retain,
    .release = release,
    .reserve = reserve,
    .end_exports = end_exports,
};

}  // namespace duofi::p2p
