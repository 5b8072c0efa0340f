#include "p2p/runtime/device_backend.hpp"

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

#include "common/local/ipc_domain.hpp"
#include "common/topology/pci_address.hpp"
#include "common/topology/sysfs.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/p2p_runtime.hpp"
#include "p2p/runtime/options.hpp"
#include "p2p/runtime/slot_error.hpp"

namespace duofi::p2p::device_backend {
namespace {

using memory::DeviceKind;
using memory::DeviceRuntime;

struct Block {
    std::size_t bytes = 0;
    std::uint32_t retains = 0;
    bool freed = false;
};

struct Backend {
    std::unique_ptr<DeviceRuntime> driver;
    std::uint64_t capabilities = 0;
    std::mutex mutex;
    std::map<std::uintptr_t, Block> blocks;  ///< own allocations
    std::multiset<const void*> imports;
};

// From start to finalize; slots run between the two only.
std::unique_ptr<Backend> backend;
std::atomic<Backend*> in_use{nullptr};

Backend* running() noexcept {
    return in_use.load(std::memory_order_acquire);
}
std::uintptr_t number(const void* address) noexcept {
    return reinterpret_cast<std::uintptr_t>(address);
}

int failed(const Error& error) {
    const bool drivers = error.provider_errno != 0 && running() != nullptr;
    return slot_failure(
        error.code,
        drivers ? running()->driver->code_text(error.provider_errno) : error.place);
}
int code_of(const Status& status) {
    return status ? static_cast<int>(kRuntimeOk) : failed(status.error());
}
template <typename T, typename U>
int code_of(const Result<T>& result, U* out) {
    if (!result) return failed(result.error());
    *out = static_cast<U>(*result);
    return kRuntimeOk;
}

// Domain, bus, device and function in hexadecimal digits, one after the other (p2p contract 3.6).
std::int64_t number_of(const topology::PciAddress& pci) {
    constexpr int kDomain = 20, kBus = 12, kDevice = 4;
    return static_cast<std::int64_t>(pci.domain) << kDomain |
           static_cast<std::int64_t>(pci.bus) << kBus |
           static_cast<std::int64_t>(pci.device) << kDevice | pci.function;
}
topology::PciAddress address_of(std::int64_t bus_id) {
    topology::PciAddress pci;
    pci.domain = static_cast<std::uint32_t>(bus_id >> 20);
    pci.bus = static_cast<std::uint8_t>(bus_id >> 12);
    pci.device = static_cast<std::uint8_t>(bus_id >> 4 & 0xff);
    pci.function = static_cast<std::uint8_t>(bus_id & 0xf);
    return pci;
}
Result<topology::PciAddress> pci_of(DeviceRuntime& driver, int device) {
    DUOFI_ASSIGN(const std::string text, driver.bus_id(device));
    const auto parsed = topology::PciAddress::parse(text);
    if (!parsed) return fail(Errc::system, messages::kRuntimeBusId);
    return *parsed;
}

/// Lock held; end() when the address is in none.
std::map<std::uintptr_t, Block>::iterator around(Backend& self, const void* address) {
    auto block = self.blocks.upper_bound(number(address));
    if (block == self.blocks.begin()) return self.blocks.end();
    --block;
    return number(address) - block->first < block->second.bytes ? block : self.blocks.end();
}

}  // namespace

memory::DeviceRuntime* driver() noexcept {
    Backend* self = running();
    return self != nullptr ? self->driver.get() : nullptr;
}

int start(DeviceKind kind) {
    auto opened =
        memory::open_device_runtime(kind, memory::open_options(kind, runtime_settings()));
    if (!opened) return slot_failure(opened.error().code, messages::kRuntimeNoDriver);
    auto made = std::make_unique<Backend>();
    made->driver = std::move(*opened);
    if (kind == DeviceKind::neuron) {
        made->capabilities = kUnified;
    } else {
        const auto features = made->driver->features(0);
        if (features && features->ipc) made->capabilities = kRealIpc;
    }
    backend = std::move(made);
    in_use.store(backend.get(), std::memory_order_release);
    return kRuntimeOk;
}

int finalize() {
    Backend* self = in_use.exchange(nullptr, std::memory_order_acq_rel);
    if (self == nullptr) return kRuntimeOk;
    if (!self->blocks.empty())
        log::warn(NCCL_INIT | NCCL_P2P, messages::kRuntimeLeftovers, to_string(self->driver->kind()),
                  self->blocks.size());
    for (const auto& [base, block] : self->blocks)
        static_cast<void>(self->driver->free(reinterpret_cast<void*>(base)));
    backend.reset();
    return kRuntimeOk;
}

std::uint64_t capabilities() {
    const Backend* self = running();
    return self != nullptr ? self->capabilities : 0;
}

int get_device_count(int* count) {
    if (count == nullptr) return null_pointer();
    if (running() == nullptr) return not_running();
    *count = driver()->device_count();
    return kRuntimeOk;
}

int set_device(int device) {
    return running() == nullptr ? not_running() : code_of(driver()->set_device(device));
}

int get_device(int* device) {
    if (device == nullptr) return null_pointer();
    if (running() == nullptr) return not_running();
    *device = driver()->device();
    return kRuntimeOk;
}

int device_family(int device, int* family) {
    if (family == nullptr) return null_pointer();
    if (running() == nullptr) return not_running();
    const auto facts = driver()->facts(device);
    if (!facts) return failed(facts.error());
    *family = facts->family;
    return kRuntimeOk;
}

int device_info(int device, DeviceInfo* info) {
    if (info == nullptr) return null_pointer();
    if (running() == nullptr) return not_running();
    const auto facts = driver()->facts(device);
    if (!facts) return failed(facts.error());
    *info = {};
    info->family = facts->family;
    info->mla_index = facts->mla_index;
    info->tpb_index = facts->tpb_index;
    info->virtual_core_size = facts->virtual_core_size;
    info->host_device = facts->host_device;
    info->routing_id = facts->routing_id;
    return device_numa_node(device, &info->numa_node);
}

int device_by_pci_bus_id(std::int64_t bus_id, int* device) {
    if (device == nullptr) return null_pointer();
    if (running() == nullptr) return not_running();
    return code_of(driver()->device_by_bus_id(address_of(bus_id).text()), device);
}

int device_pci_bus_id(int device, std::int64_t* bus_id) {
    if (bus_id == nullptr) return null_pointer();
    if (running() == nullptr) return not_running();
    const auto pci = pci_of(*driver(), device);
    if (!pci) return failed(pci.error());
    *bus_id = number_of(*pci);
    return kRuntimeOk;
}

int device_numa_node(int device, int* node) {
    if (node == nullptr) return null_pointer();
    if (running() == nullptr) return not_running();
    const auto pci = pci_of(*driver(), device);
    if (!pci) return failed(pci.error());
    const auto found =
        topology::Sysfs().number("/sys/bus/pci/devices/" + pci->text() + "/numa_node");
    *node = found ? static_cast<int>(*found) : -1;
    return kRuntimeOk;
}

int can_access_peer(int* can, int device, int peer) {
    if (can == nullptr) return null_pointer();
    if (running() == nullptr) return not_running();
    return code_of(driver()->can_access_peer(device, peer), can);
}

int enable_peer_access(int peer, unsigned) {
    if (running() == nullptr) return not_running();
    const auto access = driver()->enable_peer_access(peer);
    if (!access) return failed(access.error());
    return *access == memory::PeerAccess::was_enabled ? kPeerAccessAlreadyEnabled : kRuntimeOk;
}

int disable_peer_access(int peer) {
    return running() == nullptr ? not_running() : code_of(driver()->disable_peer_access(peer));
}

int ipc_domain_id(std::uint64_t* id) {
    if (id == nullptr) return null_pointer();
    if (running() == nullptr) return not_running();
    const local::DomainFacts facts = local::read_domain_facts("");
    *id = local::domain_id(facts, (capabilities() & kRealIpc) != 0, false);
    return kRuntimeOk;
}

int ipc_open(void** memory, const p2pIpcHandle* handle, unsigned flags) {
    if (memory == nullptr || handle == nullptr) return null_pointer();
    if (flags != P2P_IPC_LAZY_PEER_ACCESS)
        return slot_failure(Errc::invalid_argument, messages::kRuntimeOpenFlag);
    if (running() == nullptr) return not_running();
    memory::IpcHandle bytes;
    std::memcpy(bytes.data(), handle->bytes, bytes.size());
    const auto opened = driver()->ipc_open(bytes);
    if (!opened) return failed(opened.error());
    const std::scoped_lock lock(running()->mutex);
    running()->imports.insert(*opened);
    *memory = *opened;
    return kRuntimeOk;
}

int ipc_get(p2pIpcHandle* handle, void* memory) {
    if (handle == nullptr) return null_pointer();
    if (running() == nullptr) return not_running();
    const auto bytes = driver()->ipc_get(memory);
    if (!bytes) return failed(bytes.error());
    std::memcpy(handle->bytes, bytes->data(), bytes->size());
    return kRuntimeOk;
}

int ipc_close(void* memory) {
    if (running() == nullptr) return not_running();
    const Status closed = driver()->ipc_close(memory);
    if (!closed) return failed(closed.error());
    const std::scoped_lock lock(running()->mutex);
    running()->imports.erase(running()->imports.find(memory));
    return kRuntimeOk;
}

int allocate(void** memory, std::size_t bytes) {
    if (memory == nullptr) return null_pointer();
    if (running() == nullptr) return not_running();
    const auto made = driver()->allocate(bytes);
    if (!made) return failed(made.error());
    const std::scoped_lock lock(running()->mutex);
    running()->blocks[number(*made)] = {bytes, 0, false};
    *memory = *made;
    return kRuntimeOk;
}

int free_memory(void* memory) {
    if (running() == nullptr) return not_running();
    if (memory == nullptr) return code_of(driver()->free(nullptr));
    const std::scoped_lock lock(running()->mutex);
    const auto block = running()->blocks.find(number(memory));
    if (block == running()->blocks.end() || block->second.freed) return not_ours();
    block->second.freed = true;
    if (block->second.retains != 0) return kRuntimeOk;
    running()->blocks.erase(block);
    return code_of(driver()->free(memory));
}

int host_allocate(void** memory, std::size_t bytes) {
    if (memory == nullptr) return null_pointer();
    if (running() == nullptr) return not_running();
    return code_of(driver()->host_allocate(bytes), memory);
}

int host_release(void* memory) {
    return running() == nullptr ? not_running() : code_of(driver()->host_free(memory));
}

int fill(void* memory, int value, std::size_t bytes) {
    if (bytes == 0) return kRuntimeOk;
    if (memory == nullptr) return null_pointer();
    return running() == nullptr ? not_running() : code_of(driver()->fill(memory, value, bytes));
}

int pointer_query(PointerInfo* info, const void* pointer) {
    if (info == nullptr) return null_pointer();
    if (running() == nullptr) return not_running();
    const auto facts = driver()->classify(pointer);
    if (!facts) return failed(facts.error());
    if (facts->kind != memory::MemoryKind::device) return not_ours();
    const std::scoped_lock lock(running()->mutex);
    *info = {facts->base, facts->bytes, facts->device, running()->imports.contains(facts->base)};
    return kRuntimeOk;
}

int copy(void* to, const void* from, std::size_t bytes, int kind) {
    if (const int code = check_copy(to, from, bytes, kind); code != kRuntimeOk) return code;
    return running() == nullptr ? not_running() : code_of(driver()->copy(to, from, bytes));
}

int retain(const void* memory) {
    if (running() == nullptr) return not_running();
    const std::scoped_lock lock(running()->mutex);
    const auto block = around(*running(), memory);
    if (block == running()->blocks.end()) return not_ours();
    ++block->second.retains;
    return kRuntimeOk;
}

int release(const void* memory) {
    if (running() == nullptr) return not_running();
    const std::scoped_lock lock(running()->mutex);
    const auto block = around(*running(), memory);
    if (block == running()->blocks.end() || block->second.retains == 0) return not_ours();
    if (--block->second.retains != 0 || !block->second.freed) return kRuntimeOk;
    void* base = reinterpret_cast<void*>(block->first);
    running()->blocks.erase(block);
    return code_of(driver()->free(base));
}

}  // namespace duofi::p2p::device_backend
