#include "common/memory/neuron_driver.hpp"

#include <array>

namespace duofi::memory {

Status bind_neuron(const DriverLibrary& library, NeuronDriver& d) {
    const std::array symbols{
        symbol(d.init, "nrt_init"),
        symbol(d.close, "nrt_close"),
        symbol(d.version, "nrt_get_version"),
        symbol(d.visible_cores, "nrt_get_visible_vnc_count", true),
        symbol(d.instance, "nrt_get_instance_info"),
        symbol(d.allocate, "nrt_tensor_allocate"),
        symbol(d.release, "nrt_tensor_free"),
        symbol(d.address, "nrt_tensor_get_va"),
        symbol(d.read, "nrt_tensor_read"),
        symbol(d.write, "nrt_tensor_write"),
        symbol(d.set_bytes, "nrt_tensor_memset"),
        symbol(d.dmabuf, "nrt_get_dmabuf_fd", true),
        symbol(d.virtual_core_size, "nec_get_virtual_core_size", true),
        symbol(d.peer_mla, "nec_get_peer_mla_idx", true),
        symbol(d.mla_to_rid, "nec_mla_idx_to_rid", true),
        symbol(d.device_bus_id, "nec_get_device_pci_bdf", true),
    };
    DUOFI_TRY(library.bind(symbols));
    if (d.visible_cores != nullptr) return {};
    // Its name before cores could be virtual.
    const std::array older{symbol(d.visible_cores, "nrt_get_visible_nc_count")};
    return library.bind(older);
}

}  // namespace duofi::memory
