#include "common/memory/cuda_runtime.hpp"

#include <cstdint>
#include <cstring>
#include <mutex>
#include <vector>

#include "common/memory/cuda_driver.hpp"
#include "common/memory/imports.hpp"
#include "common/util/messages/memory.hpp"
#include "common/util/scope_exit.hpp"

namespace duofi::memory {
namespace {

constexpr int kLeastCuda = 11000;

CudaAddress address_of(const void* pointer) noexcept {
    return reinterpret_cast<std::uintptr_t>(pointer);
}
void* pointer_of(CudaAddress address) noexcept {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

class CudaRuntime final : public DeviceRuntime {
  public:
    CudaRuntime(const DriverLibrary& library, const CudaDriver& driver, int version, int devices)
        : driver_(driver), contexts_(static_cast<std::size_t>(devices)) {
        library_ = library.name();
        version_ = version;
        devices_ = devices;
    }
    ~CudaRuntime() override {
        for (int device = 0; device < devices_; ++device)
            if (at(device).retained != nullptr) static_cast<void>(driver_.context_release(device));
    }

    DeviceKind kind() const noexcept override { return DeviceKind::cuda; }
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
    const char* code_text(int code) const noexcept override {
        const char* text = nullptr;
        return driver_.error_string(code, &text) == kGpuOk && text != nullptr ? text : "unknown";
    }

  private:
    struct PerDevice {
        CudaContext retained = nullptr;
        bool probed = false;
        DeviceFeatures features;
    };
    [[nodiscard]] PerDevice& at(int device) { return contexts_[static_cast<std::size_t>(device)]; }
    [[nodiscard]] Result<CudaContext> context(int device);
    /// Runs `body` with that device's context; the one that the application had comes back.
    template <typename Body>
    [[nodiscard]] Status with(int device, const Body& body);
    [[nodiscard]] Result<int> device_of(const void* pointer);
    [[nodiscard]] Status allocate_zeroed(CudaAddress& made, std::size_t bytes);
    [[nodiscard]] Status probe_ipc(bool& works);

    CudaDriver driver_;
    Imports imports_;
    std::mutex mutex_;
    std::vector<PerDevice> contexts_;
};

Result<CudaContext> CudaRuntime::context(int device) {
    DUOFI_TRY(check_device(device, messages::kNoSuchDevice));
    const std::scoped_lock lock(mutex_);
    if (at(device).retained == nullptr)
        DUOFI_TRY(gpu_status(driver_.context_retain(&at(device).retained, device),
                          "cuDevicePrimaryCtxRetain"));
    return at(device).retained;
}

template <typename Body>
Status CudaRuntime::with(int device, const Body& body) {
    DUOFI_ASSIGN(const CudaContext mine, context(device));
    CudaContext before = nullptr;
    DUOFI_TRY(gpu_status(driver_.context_get(&before), "cuCtxGetCurrent"));
    if (before == mine) return body();
    DUOFI_TRY(gpu_status(driver_.context_set(mine), "cuCtxSetCurrent"));
    const auto back = [&] { static_cast<void>(driver_.context_set(before)); };
    const ScopeExit restore(back);
    return body();
}

Result<std::string> CudaRuntime::bus_id(int device) {
    DUOFI_TRY(check_device(device, messages::kNoSuchDevice));
    char text[kGpuBusIdBytes] = {};
    DUOFI_TRY(gpu_status(driver_.device_bus_id(text, kGpuBusIdBytes, device), "cuDeviceGetPCIBusId"));
    return std::string(text);
}

Result<int> CudaRuntime::device_by_bus_id(const std::string& bus_id) {
    CudaDevice device = -1;
    DUOFI_TRY(
        gpu_status(driver_.device_by_bus_id(&device, bus_id.c_str()), "cuDeviceGetByPCIBusId"));
    return device;
}

Status CudaRuntime::probe_ipc(bool& works) {
    CudaAddress block = 0;
    DUOFI_TRY(gpu_status(driver_.allocate(&block, kDeviceUnit), "cuMemAlloc_v2"));
    GpuIpcHandle handle;
    works = driver_.ipc_get(&handle, block) == kGpuOk;
    return gpu_status(driver_.release(block), "cuMemFree_v2");
}

Result<DeviceFeatures> CudaRuntime::features(int device) {
    DUOFI_TRY(check_device(device, messages::kNoSuchDevice));
    {
        const std::scoped_lock lock(mutex_);
        if (at(device).probed) return at(device).features;
    }
    DeviceFeatures found;
    DUOFI_TRY(with(device, [&] { return probe_ipc(found.ipc); }));
    int dmabuf = 0;
    found.dmabuf = driver_.range_handle != nullptr &&
                   driver_.device_attribute(&dmabuf, kCudaAttributeDmaBuf, device) == kGpuOk &&
                   dmabuf == 1;
    const std::scoped_lock lock(mutex_);
    at(device).probed = true;
    return at(device).features = found;
}

Result<bool> CudaRuntime::can_access_peer(int device, int peer) {
    DUOFI_TRY(check_device(device, messages::kNoSuchDevice));
    DUOFI_TRY(check_device(peer, messages::kNoSuchDevice));
    if (device == peer) return true;
    int can = 0;
    DUOFI_TRY(gpu_status(driver_.can_access_peer(&can, device, peer), "cuDeviceCanAccessPeer"));
    return can != 0;
}

Result<PeerAccess> CudaRuntime::enable_peer_access(int peer) {
    DUOFI_ASSIGN(const CudaContext theirs, context(peer));
    PeerAccess answer = PeerAccess::enabled;
    DUOFI_TRY(with(device(), [&]() -> Status {
        const GpuResult result = driver_.enable_peer(theirs, 0);
        if (result != kGpuPeerEnabled) return gpu_status(result, "cuCtxEnablePeerAccess");
        answer = PeerAccess::was_enabled;
        return {};
    }));
    return answer;
}

Status CudaRuntime::disable_peer_access(int peer) {
    DUOFI_ASSIGN(const CudaContext theirs, context(peer));
    return with(device(),
                [&] { return gpu_status(driver_.disable_peer(theirs), "cuCtxDisablePeerAccess"); });
}

Result<void*> CudaRuntime::allocate(std::size_t bytes) {
    DUOFI_ASSIGN(const std::size_t whole, whole_units(bytes, "cuMemAlloc_v2"));
    CudaAddress made = 0;
    DUOFI_TRY(with(device(), [&] { return allocate_zeroed(made, whole); }));
    return pointer_of(made);
}

Status CudaRuntime::allocate_zeroed(CudaAddress& made, std::size_t bytes) {
    DUOFI_TRY(gpu_status(driver_.allocate(&made, bytes), "cuMemAlloc_v2"));
    GpuResult zeroed = driver_.set_bytes(made, 0, bytes);
    // Filling device memory goes on when the call has returned.
    if (zeroed == kGpuOk) zeroed = driver_.stream_synchronize(nullptr);
    if (zeroed != kGpuOk) static_cast<void>(driver_.release(made));
    return gpu_status(zeroed, "cuMemsetD8_v2");
}

Status CudaRuntime::free(void* memory) {
    if (memory == nullptr) return {};
    DUOFI_ASSIGN(const int owner, device_of(memory));
    return with(owner,
                [&] { return gpu_status(driver_.release(address_of(memory)), "cuMemFree_v2"); });
}

Result<void*> CudaRuntime::host_allocate(std::size_t bytes) {
    if (bytes == 0) return fail(Errc::invalid_argument, "cuMemHostAlloc", kGpuInvalidValue);
    void* made = nullptr;
    DUOFI_TRY(with(device(), [&] {
        return gpu_status(driver_.host_allocate(&made, bytes, kGpuHostPortable), "cuMemHostAlloc");
    }));
    std::memset(made, 0, bytes);
    return made;
}

Status CudaRuntime::host_free(void* memory) {
    if (memory == nullptr) return {};
    return with(device(), [&] { return gpu_status(driver_.host_free(memory), "cuMemFreeHost"); });
}

Status CudaRuntime::fill(void* memory, int value, std::size_t bytes) {
    if (bytes == 0) return {};
    DUOFI_ASSIGN(const int owner, device_of(memory));
    return with(owner, [&]() -> Status {
        DUOFI_TRY(gpu_status(driver_.set_bytes(address_of(memory), static_cast<unsigned char>(value),
                                            bytes),
                          "cuMemsetD8_v2"));
        return gpu_status(driver_.stream_synchronize(nullptr), "cuStreamSynchronize");
    });
}

Status CudaRuntime::copy(void* to, const void* from, std::size_t bytes) {
    if (bytes == 0) return {};
    return with(device(), [&]() -> Status {
        DUOFI_TRY(gpu_status(driver_.copy(address_of(to), address_of(from), bytes), "cuMemcpy"));
        return gpu_status(driver_.stream_synchronize(nullptr), "cuStreamSynchronize");
    });
}

Result<IpcHandle> CudaRuntime::ipc_get(void* memory) {
    DUOFI_ASSIGN(const PointerFacts facts, classify(memory));
    DUOFI_TRY(check_whole_allocation(facts, memory));
    GpuIpcHandle handle;
    DUOFI_TRY(with(facts.device, [&] {
        return gpu_status(driver_.ipc_get(&handle, address_of(memory)), "cuIpcGetMemHandle");
    }));
    return bytes_of(handle);
}

Result<void*> CudaRuntime::ipc_open(const IpcHandle& bytes) {
    const GpuIpcHandle handle = gpu_handle_of(bytes);
    CudaAddress opened = 0;
    DUOFI_TRY(with(device(), [&] {
        return gpu_status(driver_.ipc_open(&opened, handle, kGpuIpcLazyPeerAccess),
                       "cuIpcOpenMemHandle_v2");
    }));
    imports_.opened(pointer_of(opened), device());
    return pointer_of(opened);
}

Status CudaRuntime::ipc_close(void* memory) {
    DUOFI_ASSIGN(const int opener, imports_.closing(memory));
    return with(opener, [&] {
        return gpu_status(driver_.ipc_close(address_of(memory)), "cuIpcCloseMemHandle");
    });
}

Result<PointerFacts> CudaRuntime::classify(const void* pointer) {
    PointerFacts facts;
    const CudaAddress address = address_of(pointer);
    unsigned type = 0;
    const GpuResult known = driver_.pointer_attribute(&type, kCudaPointerMemoryType, address);
    if (known == kGpuInvalidValue) return facts;  // not an address of the driver
    DUOFI_TRY(gpu_status(known, "cuPointerGetAttribute"));
    unsigned managed = 0;
    static_cast<void>(driver_.pointer_attribute(&managed, kCudaPointerManaged, address));
    if (managed != 0) {
        facts.kind = MemoryKind::managed;
        return facts;
    }
    if (type != kCudaMemoryDevice) return facts;
    facts.kind = MemoryKind::device;
    CudaAddress base = 0;
    const char* call = "cuPointerGetAttribute";
    DUOFI_TRY(gpu_status(driver_.pointer_attribute(&facts.device, kCudaPointerDevice, address), call));
    DUOFI_TRY(gpu_status(driver_.pointer_attribute(&base, kCudaPointerBase, address), call));
    DUOFI_TRY(gpu_status(driver_.pointer_attribute(&facts.bytes, kCudaPointerBytes, address), call));
    facts.base = pointer_of(base);
    return facts;
}

Result<int> CudaRuntime::device_of(const void* pointer) {
    DUOFI_ASSIGN(const PointerFacts facts, classify(pointer));
    if (facts.kind != MemoryKind::device)
        return fail(Errc::invalid_argument, messages::kNotDeviceMemory);
    return facts.device;
}

Result<DmabufRange> CudaRuntime::export_dmabuf(const void* pointer, std::size_t bytes) {
    if (driver_.range_handle == nullptr) return fail(Errc::unsupported, messages::kNotOffered);
    DUOFI_ASSIGN(const PointerFacts facts, classify(pointer));
    DUOFI_ASSIGN(const PageRange pages, pages_around(facts, pointer, bytes));
    int fd = -1;
    DUOFI_TRY(with(facts.device, [&] {
        return gpu_status(driver_.range_handle(&fd, pages.first, pages.bytes, kGpuRangeDmabuf, 0),
                       "cuMemGetHandleForAddressRange");
    }));
    return DmabufRange{UniqueFd(fd), pages.offset};
}

/// All devices must share one range of addresses with the CPU: pointers are told apart by it.
Status check_addressing(const DriverLibrary& library, const CudaDriver& driver, int devices) {
    for (int i = 0; i < devices; ++i) {
        CudaDevice device = -1;
        int unified = 0;
        GpuResult result = driver.device_get(&device, i);
        if (result == kGpuOk)
            result = driver.device_attribute(&unified, kCudaAttributeUnifiedAddressing, device);
        if (result != kGpuOk || unified == 0)
            return did_not_start(library, "unified addressing", result, "device without it");
    }
    return {};
}

}  // namespace

Result<std::unique_ptr<DeviceRuntime>> open_cuda_runtime(const OpenOptions& options) {
    constexpr const char* kNames[] = {"libcuda.so.1"};
    DUOFI_ASSIGN(const DriverLibrary library,
                 DriverLibrary::open(DeviceKind::cuda, options, kNames));
    CudaDriver driver{};
    DUOFI_TRY(bind_cuda(library, driver));
    const auto text = [&](GpuResult code) {
        const char* found = nullptr;
        return driver.error_string(code, &found) == kGpuOk && found != nullptr ? found : "unknown";
    };
    int version = 0;
    if (const GpuResult code = driver.driver_version(&version); code != kGpuOk)
        return did_not_start(library, "cuDriverGetVersion", code, text(code));
    if (version < kLeastCuda) return too_old(library, version, kLeastCuda);
    if (const GpuResult code = driver.init(0); code != kGpuOk)
        return did_not_start(library, "cuInit", code, text(code));
    int devices = 0;
    const GpuResult counted = driver.device_count(&devices);
    if (counted != kGpuOk || devices == 0)
        return did_not_start(library, "cuDeviceGetCount", counted, "no device");
    DUOFI_TRY(check_addressing(library, driver, devices));
    return std::make_unique<CudaRuntime>(library, driver, version, devices);
}

}  // namespace duofi::memory
