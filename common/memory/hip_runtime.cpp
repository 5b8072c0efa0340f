#include "common/memory/hip_runtime.hpp"

#include <cstdint>
#include <cstring>
#include <mutex>
#include <vector>

#include "common/memory/hip_driver.hpp"
#include "common/memory/imports.hpp"
#include "common/util/messages/memory.hpp"
#include "common/util/scope_exit.hpp"

namespace duofi::memory {
namespace {

constexpr int kLeastHip = 50000000;

class HipRuntime final : public DeviceRuntime {
  public:
    HipRuntime(const DriverLibrary& library, const HipDriver& driver, int version, int devices)
        : driver_(driver), devices_found_(static_cast<std::size_t>(devices)) {
        library_ = library.name();
        version_ = version;
        devices_ = devices;
    }

    DeviceKind kind() const noexcept override { return DeviceKind::hip; }
    Result<std::string> bus_id(int device) override;
    Result<int> device_by_bus_id(const std::string& bus_id) override;
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
    Result<IpcHandle> ipc_get(void* memory) override;
    Result<void*> ipc_open(const IpcHandle& handle) override;
    Status ipc_close(void* memory) override;
    Result<PointerFacts> classify(const void* pointer) override;
    Result<DmabufRange> export_dmabuf(const void* pointer, std::size_t bytes) override;
    const char* code_text(int code) const noexcept override { return driver_.error_string(code); }

  private:
    struct PerDevice {
        bool probed = false;
        DeviceFeatures features;
    };
    /// The runtime remembers the last failure of a thread for the application, which did not cause
    /// this one.
    [[nodiscard]] Status checked(GpuResult result, const char* call) {
        if (result != kGpuOk) static_cast<void>(driver_.last_error());
        return gpu_status(result, call);
    }
    /// Runs `body` with that device; the one that the application had comes back.
    template <typename Body>
    [[nodiscard]] Status with(int device, const Body& body);
    [[nodiscard]] Status allocate_zeroed(void*& made, std::size_t bytes);
    [[nodiscard]] Status probe_ipc(bool& works);
    [[nodiscard]] int device_kind() const noexcept {
        return version_ >= kHipRenumbered ? kHipMemoryDevice : kHipMemoryDeviceBefore6;
    }

    HipDriver driver_;
    Imports imports_;
    std::mutex mutex_;
    std::vector<PerDevice> devices_found_;
};

template <typename Body>
Status HipRuntime::with(int device, const Body& body) {
    DUOFI_TRY(check_device(device, messages::kNoSuchDevice));
    int before = -1;
    DUOFI_TRY(checked(driver_.get_device(&before), "hipGetDevice"));
    if (before == device) return body();
    DUOFI_TRY(checked(driver_.set_device(device), "hipSetDevice"));
    const auto back = [&] { static_cast<void>(driver_.set_device(before)); };
    const ScopeExit restore(back);
    return body();
}

Result<std::string> HipRuntime::bus_id(int device) {
    DUOFI_TRY(check_device(device, messages::kNoSuchDevice));
    char text[kGpuBusIdBytes] = {};
    DUOFI_TRY(checked(driver_.device_bus_id(text, kGpuBusIdBytes, device), "hipDeviceGetPCIBusId"));
    return std::string(text);
}

Result<int> HipRuntime::device_by_bus_id(const std::string& bus_id) {
    int device = -1;
    DUOFI_TRY(
        checked(driver_.device_by_bus_id(&device, bus_id.c_str()), "hipDeviceGetByPCIBusId"));
    return device;
}

Status HipRuntime::probe_ipc(bool& works) {
    void* block = nullptr;
    DUOFI_TRY(allocate_zeroed(block, kDeviceUnit));
    GpuIpcHandle handle;
    works = checked(driver_.ipc_get(&handle, block), "hipIpcGetMemHandle").has_value();
    return checked(driver_.release(block), "hipFree");
}

Result<DeviceFeatures> HipRuntime::features(int device) {
    DUOFI_TRY(check_device(device, messages::kNoSuchDevice));
    PerDevice& known = devices_found_[static_cast<std::size_t>(device)];
    {
        const std::scoped_lock lock(mutex_);
        if (known.probed) return known.features;
    }
    DeviceFeatures found;
    DUOFI_TRY(with(device, [&] { return probe_ipc(found.ipc); }));
    found.dmabuf = driver_.range_handle != nullptr;
    const std::scoped_lock lock(mutex_);
    known.probed = true;
    return known.features = found;
}

Result<bool> HipRuntime::can_access_peer(int device, int peer) {
    DUOFI_TRY(check_device(device, messages::kNoSuchDevice));
    DUOFI_TRY(check_device(peer, messages::kNoSuchDevice));
    if (device == peer) return true;
    int can = 0;
    DUOFI_TRY(checked(driver_.can_access_peer(&can, device, peer), "hipDeviceCanAccessPeer"));
    return can != 0;
}

Result<PeerAccess> HipRuntime::enable_peer_access(int peer) {
    DUOFI_TRY(check_device(peer, messages::kNoSuchDevice));
    PeerAccess answer = PeerAccess::enabled;
    DUOFI_TRY(with(device(), [&]() -> Status {
        const Status status =
            checked(driver_.enable_peer(peer, 0), "hipDeviceEnablePeerAccess");
        if (status || status.error().provider_errno != kGpuPeerEnabled) return status;
        answer = PeerAccess::was_enabled;
        return {};
    }));
    return answer;
}

Status HipRuntime::disable_peer_access(int peer) {
    DUOFI_TRY(check_device(peer, messages::kNoSuchDevice));
    return with(device(),
                [&] { return checked(driver_.disable_peer(peer), "hipDeviceDisablePeerAccess"); });
}

Status HipRuntime::allocate_zeroed(void*& made, std::size_t bytes) {
    // While kernels run, flags in other memory do not become visible to other devices.
    if (driver_.allocate(&made, bytes, kHipUncached) != kGpuOk) {
        static_cast<void>(driver_.last_error());
        DUOFI_TRY(checked(driver_.allocate(&made, bytes, kHipFineGrained), "hipExtMallocWithFlags"));
    }
    Status zeroed = checked(driver_.set_bytes(made, 0, bytes), "hipMemset");
    if (zeroed) zeroed = checked(driver_.stream_synchronize(nullptr), "hipStreamSynchronize");
    if (!zeroed) static_cast<void>(driver_.release(made));
    return zeroed;
}

Result<void*> HipRuntime::allocate(std::size_t bytes) {
    DUOFI_ASSIGN(const std::size_t whole, whole_units(bytes, "hipExtMallocWithFlags"));
    void* made = nullptr;
    DUOFI_TRY(with(device(), [&] { return allocate_zeroed(made, whole); }));
    return made;
}

Status HipRuntime::free(void* memory) {
    return checked(driver_.release(memory), "hipFree");
}

Result<void*> HipRuntime::host_allocate(std::size_t bytes) {
    if (bytes == 0) return fail(Errc::invalid_argument, "hipHostMalloc", kGpuInvalidValue);
    void* made = nullptr;
    DUOFI_TRY(with(device(), [&] {
        return checked(driver_.host_allocate(&made, bytes, kGpuHostPortable), "hipHostMalloc");
    }));
    std::memset(made, 0, bytes);
    return made;
}

Status HipRuntime::host_free(void* memory) {
    if (memory == nullptr) return {};
    return checked(driver_.host_free(memory), "hipHostFree");
}

Status HipRuntime::fill(void* memory, int value, std::size_t bytes) {
    if (bytes == 0) return {};
    return with(device(), [&]() -> Status {
        DUOFI_TRY(checked(driver_.set_bytes(memory, value, bytes), "hipMemset"));
        return checked(driver_.stream_synchronize(nullptr), "hipStreamSynchronize");
    });
}

Status HipRuntime::copy(void* to, const void* from, std::size_t bytes) {
    if (bytes == 0) return {};
    return with(device(), [&]() -> Status {
        DUOFI_TRY(checked(driver_.copy(to, from, bytes, kHipCopyAutomatic), "hipMemcpy"));
        return checked(driver_.stream_synchronize(nullptr), "hipStreamSynchronize");
    });
}

Result<IpcHandle> HipRuntime::ipc_get(void* memory) {
    DUOFI_ASSIGN(const PointerFacts facts, classify(memory));
    DUOFI_TRY(check_whole_allocation(facts, memory));
    GpuIpcHandle handle;
    DUOFI_TRY(with(facts.device, [&] {
        return checked(driver_.ipc_get(&handle, memory), "hipIpcGetMemHandle");
    }));
    return bytes_of(handle);
}

Result<void*> HipRuntime::ipc_open(const IpcHandle& bytes) {
    const GpuIpcHandle handle = gpu_handle_of(bytes);
    void* opened = nullptr;
    DUOFI_TRY(with(device(), [&] {
        return checked(driver_.ipc_open(&opened, handle, kGpuIpcLazyPeerAccess),
                       "hipIpcOpenMemHandle");
    }));
    imports_.opened(opened, device());
    return opened;
}

Status HipRuntime::ipc_close(void* memory) {
    DUOFI_ASSIGN(const int opener, imports_.closing(memory));
    return with(opener,
                [&] { return checked(driver_.ipc_close(memory), "hipIpcCloseMemHandle"); });
}

Result<PointerFacts> HipRuntime::classify(const void* pointer) {
    PointerFacts facts;
    HipPointer found{};
    const GpuResult known = driver_.pointer_attributes(&found, pointer);
    if (known == kGpuInvalidValue) {  // not an address of the runtime
        static_cast<void>(driver_.last_error());
        return facts;
    }
    DUOFI_TRY(checked(known, "hipPointerGetAttributes"));
    if (found.is_managed != 0) facts.kind = MemoryKind::managed;
    if (facts.kind == MemoryKind::managed || found.type != device_kind()) return facts;
    facts.kind = MemoryKind::device;
    facts.device = found.device;
    DUOFI_TRY(checked(
        driver_.address_range(&facts.base, &facts.bytes, const_cast<void*>(pointer)),
        "hipMemGetAddressRange"));
    return facts;
}

Result<DmabufRange> HipRuntime::export_dmabuf(const void* pointer, std::size_t bytes) {
    if (driver_.range_handle == nullptr) return fail(Errc::unsupported, messages::kNotOffered);
    DUOFI_ASSIGN(const PointerFacts facts, classify(pointer));
    DUOFI_ASSIGN(const PageRange pages, pages_around(facts, pointer, bytes));
    int fd = -1;
    DUOFI_TRY(with(facts.device, [&] {
        return checked(driver_.range_handle(&fd, reinterpret_cast<void*>(pages.first), pages.bytes,
                                            kGpuRangeDmabuf, 0),
                       "hipMemGetHandleForAddressRange");
    }));
    return DmabufRange{UniqueFd(fd), pages.offset};
}

}  // namespace

Result<std::unique_ptr<DeviceRuntime>> open_hip_runtime(const OpenOptions& options) {
    constexpr const char* kNames[] = {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6",
                                      "libamdhip64.so.5"};
    DUOFI_ASSIGN(const DriverLibrary library, DriverLibrary::open(DeviceKind::hip, options, kNames));
    HipDriver driver{};
    DUOFI_TRY(bind_hip(library, driver));
    int version = 0;
    if (const GpuResult code = driver.init(0); code != kGpuOk)
        return did_not_start(library, "hipInit", code, driver.error_string(code));
    if (const GpuResult code = driver.runtime_version(&version); code != kGpuOk)
        return did_not_start(library, "hipRuntimeGetVersion", code, driver.error_string(code));
    if (version < kLeastHip) return too_old(library, version, kLeastHip);
    int devices = 0;
    const GpuResult counted = driver.device_count(&devices);
    static_cast<void>(driver.last_error());
    if (counted != kGpuOk || devices == 0)
        return did_not_start(library, "hipGetDeviceCount", counted, "no device");
    return std::make_unique<HipRuntime>(library, driver, version, devices);
}

}  // namespace duofi::memory
