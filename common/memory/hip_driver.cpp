#include "common/memory/hip_driver.hpp"

#include <array>

namespace duofi::memory {

Status bind_hip(const DriverLibrary& library, HipDriver& d) {
    const std::array symbols{
        symbol(d.init, "hipInit"),
        symbol(d.runtime_version, "hipRuntimeGetVersion"),
        symbol(d.device_count, "hipGetDeviceCount"),
        symbol(d.set_device, "hipSetDevice"),
        symbol(d.get_device, "hipGetDevice"),
        symbol(d.device_bus_id, "hipDeviceGetPCIBusId"),
        symbol(d.device_by_bus_id, "hipDeviceGetByPCIBusId"),
        symbol(d.can_access_peer, "hipDeviceCanAccessPeer"),
        symbol(d.enable_peer, "hipDeviceEnablePeerAccess"),
        symbol(d.disable_peer, "hipDeviceDisablePeerAccess"),
        symbol(d.allocate, "hipExtMallocWithFlags"),
        symbol(d.release, "hipFree"),
        symbol(d.host_allocate, "hipHostMalloc"),
        symbol(d.host_free, "hipHostFree"),
        symbol(d.set_bytes, "hipMemset"),
        symbol(d.copy, "hipMemcpy"),
        symbol(d.stream_synchronize, "hipStreamSynchronize"),
        symbol(d.ipc_get, "hipIpcGetMemHandle"),
        symbol(d.ipc_open, "hipIpcOpenMemHandle"),
        symbol(d.ipc_close, "hipIpcCloseMemHandle"),
        symbol(d.pointer_attributes, "hipPointerGetAttributes"),
        symbol(d.address_range, "hipMemGetAddressRange"),
        symbol(d.error_string, "hipGetErrorString"),
        symbol(d.last_error, "hipGetLastError"),
        symbol(d.range_handle, "hipMemGetHandleForAddressRange", true),
    };
    return library.bind(symbols);
}

}  // namespace duofi::memory
