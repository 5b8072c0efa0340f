#include "common/memory/neuron_runtime.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "common/memory/neuron_driver.hpp"
#include "common/util/messages/memory.hpp"

namespace duofi::memory {
namespace {

constexpr int kMajorVersion = 2;
constexpr int kPorts = 4;
constexpr std::size_t kBounce = 1U << 20;

Errc class_of(NeuronResult result) noexcept {
    switch (result) {
        case kNeuronInvalid:
        case kNeuronInvalidHandle:
            return Errc::invalid_argument;
        case kNeuronResource:
            return Errc::no_memory;
        case kNeuronUninitialized:
        case kNeuronClosed:
            return Errc::invalid_usage;
        default:
            return Errc::system;
    }
}

Status checked(NeuronResult result, const char* call) {
    if (result == kNeuronOk) return {};
    return fail(class_of(result), call, result);
}

int cores_per_chip(std::uint32_t family) noexcept {
    constexpr int kTwo = 2, kFour = 4, kEight = 8;
    if (family == kNeuronInf1) return kFour;
    const bool small = family == kNeuronTrn1 || family == kNeuronTrn1n || family == kNeuronInf2 ||
                       family == kNeuronInf2e;
    return small ? kTwo : kEight;
}

/// Devices are the (virtual) cores that this process sees; the library sets the current one by the
/// argument of each call, so there is nothing to put back.
class NeuronRuntime final : public DeviceRuntime {
  public:
    NeuronRuntime(const DriverLibrary& library, const NeuronDriver& driver, int version,
                  int devices, bool started)
        : driver_(driver), started_(started) {
        library_ = library.name();
        version_ = version;
        devices_ = devices;
    }
    ~NeuronRuntime() override {
        for (auto& [address, block] : blocks_) driver_.release(&block.tensor);
        if (started_) driver_.close();
    }
    [[nodiscard]] Status read_instance();

    DeviceKind kind() const noexcept override { return DeviceKind::neuron; }
    Result<std::string> bus_id(int device) override;
    Result<int> device_by_bus_id(const std::string& bus_id) override;
    Result<DeviceFacts> facts(int device) override;
    Result<DeviceFeatures> features(int device) override;
    Result<bool> can_access_peer(int device, int peer) override;
    Result<PeerAccess> enable_peer_access(int peer) override;
    Status disable_peer_access(int peer) override;
    Result<void*> allocate(std::size_t bytes) override;
    Status free(void* memory) override;
    Result<void*> host_allocate(std::size_t bytes) override;
    Status host_free(void* memory) override;
    Status fill(void* memory, int value, std::size_t bytes) override;
    Status copy(void* to, const void* from, std::size_t bytes) override;
    Result<IpcHandle> ipc_get(void*) override {
        return fail(Errc::unsupported, messages::kNotOffered);
    }
    Result<void*> ipc_open(const IpcHandle&) override {
        return fail(Errc::unsupported, messages::kNotOffered);
    }
    Status ipc_close(void*) override { return fail(Errc::unsupported, messages::kNotOffered); }
    Result<PointerFacts> classify(const void* pointer) override;
    Result<DmabufRange> export_dmabuf(const void* pointer, std::size_t bytes) override;
    const char* code_text(int code) const noexcept override;

  private:
    struct Block {
        NeuronTensor tensor = nullptr;
        std::size_t bytes = 0;
        int device = 0;
    };
    struct Place {
        NeuronTensor tensor = nullptr;  ///< NULL: memory of the CPU
        std::size_t offset = 0;
        std::size_t room = 0;
    };
    using Blocks = std::map<std::uintptr_t, Block>;  ///< by address
    /// The allocation that holds it; end() when none does. Lock held.
    [[nodiscard]] Blocks::const_iterator around(const void* pointer) const;
    [[nodiscard]] Place place_of(const void* pointer);
    [[nodiscard]] int mla_of(int device) const noexcept { return device / cores_per_mla_; }

    NeuronDriver driver_;
    bool started_;
    std::uint32_t family_ = 0;
    int virtual_core_size_ = 1;
    int cores_per_mla_ = 1;
    std::mutex mutex_;
    Blocks blocks_;
};

Status NeuronRuntime::read_instance() {
    NeuronInstance instance{};
    DUOFI_TRY(checked(driver_.instance(&instance, sizeof(instance)), "nrt_get_instance_info"));
    family_ = instance.family;
    std::uint32_t size = 1;
    if (driver_.virtual_core_size != nullptr)
        DUOFI_TRY(checked(driver_.virtual_core_size(&size), "nec_get_virtual_core_size"));
    virtual_core_size_ = std::max(1, static_cast<int>(size));
    cores_per_mla_ = std::max(1, cores_per_chip(family_) / virtual_core_size_);
    return {};
}

Result<std::string> NeuronRuntime::bus_id(int device) {
    DUOFI_TRY(check_device(device, messages::kNoSuchDevice));
    if (driver_.device_bus_id == nullptr) return fail(Errc::unsupported, messages::kNotOffered);
    std::uint32_t domain = 0, bus = 0;
    std::uint8_t slot = 0, function = 0;
    if (driver_.device_bus_id(mla_of(device), &domain, &bus, &slot, &function) != 0)
        return fail(Errc::system, "nec_get_device_pci_bdf");
    char text[32];
    std::snprintf(text, sizeof(text), "%04x:%02x:%02x.%x", domain, bus, slot, function);
    return std::string(text);
}

/// The first core of the chip.
Result<int> NeuronRuntime::device_by_bus_id(const std::string& wanted) {
    for (int device = 0; device < devices_; device += cores_per_mla_) {
        DUOFI_ASSIGN(const std::string found, bus_id(device));
        if (found == wanted) return device;
    }
    return fail(Errc::invalid_argument, messages::kNoSuchDevice);
}

Result<DeviceFacts> NeuronRuntime::facts(int device) {
    DUOFI_TRY(check_device(device, messages::kNoSuchDevice));
    DeviceFacts facts;
    facts.family = static_cast<int>(family_);
    facts.mla_index = mla_of(device);
    facts.tpb_index = device % cores_per_mla_ * virtual_core_size_;
    facts.virtual_core_size = virtual_core_size_;
    facts.host_device = facts.mla_index;
    if (driver_.mla_to_rid != nullptr) {
        const int rid = driver_.mla_to_rid(facts.mla_index, facts.mla_index);
        facts.routing_id = rid < 0 ? -1 : rid;
    }
    return facts;
}

Result<DeviceFeatures> NeuronRuntime::features(int device) {
    DUOFI_TRY(check_device(device, messages::kNoSuchDevice));
    return DeviceFeatures{.ipc = false, .dmabuf = driver_.dmabuf != nullptr};
}

/// Cores of one chip, or of chips that a port joins (p2p contract 3.4).
Result<bool> NeuronRuntime::can_access_peer(int device, int peer) {
    DUOFI_TRY(check_device(device, messages::kNoSuchDevice));
    DUOFI_TRY(check_device(peer, messages::kNoSuchDevice));
    if (mla_of(device) == mla_of(peer) || family_ == kNeuronTrn3Switch) return true;
    if (driver_.peer_mla == nullptr) return fail(Errc::unsupported, messages::kNotOffered);
    for (int port = 0; port < kPorts; ++port)
        if (driver_.peer_mla(mla_of(device), mla_of(device), port) == mla_of(peer)) return true;
    return false;
}

Result<PeerAccess> NeuronRuntime::enable_peer_access(int peer) {
    DUOFI_TRY(check_device(peer, messages::kNoSuchDevice));
    return PeerAccess::was_enabled;  // one address space for all
}

Status NeuronRuntime::disable_peer_access(int peer) {
    return check_device(peer, messages::kNoSuchDevice);
}

Result<void*> NeuronRuntime::allocate(std::size_t bytes) {
    if (bytes == 0 || bytes > SIZE_MAX - kDeviceUnit)
        return fail(Errc::invalid_argument, "nrt_tensor_allocate", kNeuronInvalid);
    Block block;
    block.bytes = (bytes + kDeviceUnit - 1) / kDeviceUnit * kDeviceUnit;
    block.device = device();
    DUOFI_TRY(checked(driver_.allocate(kNeuronOnDevice, block.device, block.bytes, nullptr,
                                       &block.tensor),
                      "nrt_tensor_allocate"));
    void* address = driver_.address(block.tensor);
    Status made = address != nullptr
                      ? checked(driver_.set_bytes(block.tensor, 0, 0, block.bytes),
                                "nrt_tensor_memset")
                      : Status(fail(Errc::unsupported, "nrt_tensor_get_va"));
    if (!made) {
        driver_.release(&block.tensor);
        return tl::unexpected(made.error());
    }
    const std::scoped_lock lock(mutex_);
    blocks_[reinterpret_cast<std::uintptr_t>(address)] = block;
    return address;
}

Status NeuronRuntime::free(void* memory) {
    if (memory == nullptr) return {};
    const std::scoped_lock lock(mutex_);
    const auto found = blocks_.find(reinterpret_cast<std::uintptr_t>(memory));
    if (found == blocks_.end()) return fail(Errc::invalid_argument, messages::kNotAnAllocation);
    driver_.release(&found->second.tensor);
    blocks_.erase(found);
    return {};
}

Result<void*> NeuronRuntime::host_allocate(std::size_t bytes) {
    constexpr std::size_t kPage = 4096;
    void* made = nullptr;
    if (bytes == 0) return fail(Errc::invalid_argument, "posix_memalign");
    if (::posix_memalign(&made, kPage, bytes) != 0) return fail(Errc::no_memory, "posix_memalign");
    std::memset(made, 0, bytes);
    return made;
}

Status NeuronRuntime::host_free(void* memory) {
    std::free(memory);
    return {};
}

NeuronRuntime::Blocks::const_iterator NeuronRuntime::around(const void* pointer) const {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    auto block = blocks_.upper_bound(address);
    if (block == blocks_.begin()) return blocks_.end();
    --block;
    return address - block->first < block->second.bytes ? block : blocks_.end();
}

NeuronRuntime::Place NeuronRuntime::place_of(const void* pointer) {
    const std::scoped_lock lock(mutex_);
    const auto block = around(pointer);
    if (block == blocks_.end()) return {};
    const std::size_t offset = reinterpret_cast<std::uintptr_t>(pointer) - block->first;
    return {block->second.tensor, offset, block->second.bytes - offset};
}

Status NeuronRuntime::fill(void* memory, int value, std::size_t bytes) {
    const Place place = place_of(memory);
    if (place.tensor == nullptr || bytes > place.room)
        return fail(Errc::invalid_argument, messages::kNotDeviceMemory);
    return checked(driver_.set_bytes(place.tensor, place.offset, value, bytes),
                   "nrt_tensor_memset");
}

Status NeuronRuntime::copy(void* to, const void* from, std::size_t bytes) {
    const Place target = place_of(to);
    const Place source = place_of(from);
    if ((target.tensor != nullptr && bytes > target.room) ||
        (source.tensor != nullptr && bytes > source.room))
        return fail(Errc::invalid_argument, messages::kNotDeviceMemory);
    if (source.tensor == nullptr && target.tensor == nullptr) {
        if (bytes != 0) std::memmove(to, from, bytes);
        return {};
    }
    if (source.tensor == nullptr)
        return checked(driver_.write(target.tensor, from, target.offset, bytes), "nrt_tensor_write");
    if (target.tensor == nullptr)
        return checked(driver_.read(source.tensor, to, source.offset, bytes), "nrt_tensor_read");
    // The library copies between tensors of one core only.
    std::vector<std::byte> bounce(std::min(bytes, kBounce));
    for (std::size_t done = 0; done < bytes; done += bounce.size()) {
        const std::size_t n = std::min(bounce.size(), bytes - done);
        DUOFI_TRY(checked(driver_.read(source.tensor, bounce.data(), source.offset + done, n),
                          "nrt_tensor_read"));
        DUOFI_TRY(checked(driver_.write(target.tensor, bounce.data(), target.offset + done, n),
                          "nrt_tensor_write"));
    }
    return {};
}

Result<PointerFacts> NeuronRuntime::classify(const void* pointer) {
    const std::scoped_lock lock(mutex_);
    const auto block = around(pointer);
    if (block == blocks_.end()) return PointerFacts{};
    return PointerFacts{MemoryKind::device, block->second.device,
                        reinterpret_cast<void*>(block->first), block->second.bytes};
}

/// Any device address may be asked for, also one that a framework has allocated.
Result<DmabufRange> NeuronRuntime::export_dmabuf(const void* pointer, std::size_t bytes) {
    if (driver_.dmabuf == nullptr) return fail(Errc::unsupported, messages::kNotOffered);
    int fd = -1;
    DUOFI_TRY(checked(driver_.dmabuf(reinterpret_cast<std::uintptr_t>(pointer), bytes, &fd),
                      "nrt_get_dmabuf_fd"));
    return DmabufRange{UniqueFd(fd), 0};
}

const char* NeuronRuntime::code_text(int code) const noexcept {
    switch (code) {
        case kNeuronOk:
            return "NRT_SUCCESS";
        case kNeuronInvalid:
            return "NRT_INVALID";
        case kNeuronInvalidHandle:
            return "NRT_INVALID_HANDLE";
        case kNeuronResource:
            return "NRT_RESOURCE";
        case kNeuronUninitialized:
            return "NRT_UNINITIALIZED";
        case kNeuronClosed:
            return "NRT_CLOSED";
        default:
            return "NRT_FAILURE or another code of nrt_status.h";
    }
}

}  // namespace

Result<std::unique_ptr<DeviceRuntime>> open_neuron_runtime(const OpenOptions& options) {
    constexpr const char* kNames[] = {"libnrt.so.1"};
    DUOFI_ASSIGN(const DriverLibrary library,
                 DriverLibrary::open(DeviceKind::neuron, options, kNames));
    NeuronDriver driver{};
    DUOFI_TRY(bind_neuron(library, driver));
    NeuronVersion numbers{};
    if (const NeuronResult code = driver.version(&numbers, sizeof(numbers)); code != kNeuronOk)
        return did_not_start(library, "nrt_get_version", code, "see nrt_status.h");
    const int version = static_cast<int>(numbers.number[0]);
    if (version < kMajorVersion) return too_old(library, version, kMajorVersion);
    // Where the library is in use already, whoever uses it has started it and will close it.
    if (!options.only_if_loaded)
        if (const NeuronResult code = driver.init(kNeuronNoFramework, "", ""); code != kNeuronOk)
            return did_not_start(library, "nrt_init", code, "see nrt_status.h");
    std::uint32_t cores = 0;
    const NeuronResult counted = driver.visible_cores(&cores);
    auto made = std::make_unique<NeuronRuntime>(library, driver, version, static_cast<int>(cores),
                                                !options.only_if_loaded);
    if (counted != kNeuronOk || cores == 0)
        return did_not_start(library, "nrt_get_visible_vnc_count", counted, "no core");
    if (const Status read = made->read_instance(); !read)
        return did_not_start(library, read.error().place, read.error().provider_errno,
                             "see nrt_status.h");
    return made;
}

}  // namespace duofi::memory
