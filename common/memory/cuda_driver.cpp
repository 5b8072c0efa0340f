#include "common/memory/cuda_driver.hpp"

#include <array>

namespace duofi::memory {

Status bind_cuda(const DriverLibrary& library, CudaDriver& d) {
    // Where a function has changed, the suffix names the form that is declared here.
    const std::array symbols{
        symbol(d.init, "cuInit"),
        symbol(d.driver_version, "cuDriverGetVersion"),
        symbol(d.device_count, "cuDeviceGetCount"),
        symbol(d.device_get, "cuDeviceGet"),
        symbol(d.device_attribute, "cuDeviceGetAttribute"),
        symbol(d.device_bus_id, "cuDeviceGetPCIBusId"),
        symbol(d.device_by_bus_id, "cuDeviceGetByPCIBusId"),
        symbol(d.context_retain, "cuDevicePrimaryCtxRetain"),
        symbol(d.context_release, "cuDevicePrimaryCtxRelease_v2"),
        symbol(d.context_set, "cuCtxSetCurrent"),
        symbol(d.context_get, "cuCtxGetCurrent"),
        symbol(d.can_access_peer, "cuDeviceCanAccessPeer"),
        symbol(d.enable_peer, "cuCtxEnablePeerAccess"),
        symbol(d.disable_peer, "cuCtxDisablePeerAccess"),
        symbol(d.allocate, "cuMemAlloc_v2"),
        symbol(d.release, "cuMemFree_v2"),
        symbol(d.host_allocate, "cuMemHostAlloc"),
        symbol(d.host_free, "cuMemFreeHost"),
        symbol(d.set_bytes, "cuMemsetD8_v2"),
        symbol(d.copy, "cuMemcpy"),
        symbol(d.stream_synchronize, "cuStreamSynchronize"),
        symbol(d.ipc_get, "cuIpcGetMemHandle"),
        symbol(d.ipc_open, "cuIpcOpenMemHandle_v2"),
        symbol(d.ipc_close, "cuIpcCloseMemHandle"),
        symbol(d.pointer_attribute, "cuPointerGetAttribute"),
        symbol(d.error_string, "cuGetErrorString"),
        symbol(d.range_handle, "cuMemGetHandleForAddressRange", true),
    };
    return library.bind(symbols);
}

}  // namespace duofi::memory
