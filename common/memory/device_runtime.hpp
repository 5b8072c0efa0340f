// Memory and devices of accelerators, reached through the driver libraries that are there at run
// time: CUDA driver, HIP runtime, Neuron runtime (p2p contract 2.7). Nothing of them is needed to
// build. Any thread; the current device is that of the calling thread, and no call changes what the
// application had current. Errors carry the driver's own code in provider_errno and the name of the
// driver's function as their place; calls log nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "common/util/error.hpp"
#include "common/util/settings.hpp"
#include "common/util/unique_fd.hpp"

namespace duofi::memory {

enum class DeviceKind : std::uint8_t { cuda, hip, neuron };
/// "cuda", "hip", "neuron".
[[nodiscard]] const char* to_string(DeviceKind kind) noexcept;

inline constexpr std::size_t kIpcHandleBytes = 64;
using IpcHandle = std::array<std::byte, kIpcHandleBytes>;

/// Device allocations are multiples of this: smaller ones share such a block, and exporting one
/// would expose its neighbours (p2p contract 2.7).
inline constexpr std::size_t kDeviceUnit = 2U << 20;

enum class MemoryKind : std::uint8_t { host, device, managed };

/// What a pointer points to. The last three are known of device memory only.
struct PointerFacts {
    MemoryKind kind = MemoryKind::host;
    int device = -1;
    void* base = nullptr;  ///< of the whole allocation
    std::size_t bytes = 0;
};

/// A descriptor for a range of device memory; the range begins `offset` bytes into it.
struct DmabufRange {
    UniqueFd fd;
    std::uint64_t offset = 0;
};

/// What one device can do, found out once by trying.
struct DeviceFeatures {
    bool ipc = false;     ///< memory can be handed to other processes
    bool dmabuf = false;  ///< export_dmabuf works
};

/// Place of a device among its neighbours; -1 = unknown. Only neuron knows more than the bus id.
struct DeviceFacts {
    int family = 0;
    int mla_index = -1;
    int tpb_index = -1;
    int virtual_core_size = 1;
    int host_device = -1;
    int routing_id = -1;
};

enum class PeerAccess : std::uint8_t { enabled, was_enabled };

class DeviceRuntime {
  public:
    virtual ~DeviceRuntime() = default;
    DeviceRuntime(const DeviceRuntime&) = delete;
    DeviceRuntime& operator=(const DeviceRuntime&) = delete;

    [[nodiscard]] virtual DeviceKind kind() const noexcept = 0;
    /// As it was opened; the driver's own numbering of its versions.
    [[nodiscard]] const std::string& library() const noexcept { return library_; }
    [[nodiscard]] int version() const noexcept { return version_; }
    /// Of this process; 0 is possible.
    [[nodiscard]] int device_count() const noexcept { return devices_; }

    /// Of the calling thread, 0 at first. Errors: invalid_argument.
    [[nodiscard]] Status set_device(int device);
    [[nodiscard]] int device() const noexcept;

    /// "0000:65:00.0". Errors: invalid_argument, unsupported (the driver does not say).
    [[nodiscard]] virtual Result<std::string> bus_id(int device) = 0;
    /// Errors: invalid_argument when no device of this process has that bus id.
    [[nodiscard]] virtual Result<int> device_by_bus_id(const std::string& bus_id) = 0;
    [[nodiscard]] virtual Result<DeviceFacts> facts(int device);
    [[nodiscard]] virtual Result<DeviceFeatures> features(int device) = 0;

    [[nodiscard]] virtual Result<bool> can_access_peer(int device, int peer) = 0;
    /// For the current device. The driver's code 704 is success.
    [[nodiscard]] virtual Result<PeerAccess> enable_peer_access(int peer) = 0;
    [[nodiscard]] virtual Status disable_peer_access(int peer) = 0;

    /// Zero-filled memory of the current device, rounded up to kDeviceUnit. Errors: no_memory.
    [[nodiscard]] virtual Result<void*> allocate(std::size_t bytes) = 0;
    /// NULL succeeds and shows whether the driver is alive.
    [[nodiscard]] virtual Status free(void* memory) = 0;
    /// Memory of the CPU that devices reach, zero-filled.
    [[nodiscard]] virtual Result<void*> host_allocate(std::size_t bytes) = 0;
    [[nodiscard]] virtual Status host_free(void* memory) = 0;
    /// Both are finished when they return; either side of a copy may be host or device memory.
    [[nodiscard]] virtual Status fill(void* memory, int value, std::size_t bytes) = 0;
    [[nodiscard]] virtual Status copy(void* to, const void* from, std::size_t bytes) = 0;

    /// `memory` must be the base of an allocation. Errors: unsupported where there are no handles.
    [[nodiscard]] virtual Result<IpcHandle> ipc_get(void* memory) = 0;
    /// In another process only. Opening twice gives the same address and needs two closes.
    [[nodiscard]] virtual Result<void*> ipc_open(const IpcHandle& handle) = 0;
    [[nodiscard]] virtual Status ipc_close(void* memory) = 0;

    /// Whose memory this is. An address that the driver does not know is host memory. Neuron knows
    /// its own allocations only: its library has no such question.
    [[nodiscard]] virtual Result<PointerFacts> classify(const void* pointer) = 0;
    /// For regMrDmaBuf of the tables. The descriptor is the caller's. Errors: unsupported,
    /// invalid_argument (not device memory, or beyond its end).
    [[nodiscard]] virtual Result<DmabufRange> export_dmabuf(const void* pointer,
                                                            std::size_t bytes) = 0;
    /// The driver's text for one of its codes; static.
    [[nodiscard]] virtual const char* code_text(int code) const noexcept = 0;

  protected:
    DeviceRuntime() = default;
    [[nodiscard]] Status check_device(int device, const char* place) const;

    std::string library_;
    int version_ = 0;
    int devices_ = 0;
};

/// How a symbol is found; a seam for tests.
using SymbolLookup = void* (*)(void* library, const char* name);

struct OpenOptions {
    std::string library;          ///< path or name; "" = the usual names of the kind
    bool only_if_loaded = false;  ///< never load a driver that the process does not use already
    SymbolLookup look_up = nullptr;  ///< nullptr = dlsym
};

/// Opens the driver. Errors, each after one INFO line with the reason: unsupported (no such
/// library, a function missing, too old), no_data (no device, or the driver does not start).
/// Drivers are never unloaded.
[[nodiscard]] Result<std::unique_ptr<DeviceRuntime>> open_device_runtime(
    DeviceKind kind, const OpenOptions& options);

/// With the library that DUOFI_CUDA_LIBRARY, DUOFI_HIP_LIBRARY or DUOFI_NEURON_LIBRARY names.
[[nodiscard]] OpenOptions open_options(DeviceKind kind, const Settings& settings);

}  // namespace duofi::memory
