#include "net_plugin/neuron/table_properties.hpp"

namespace duofi::net {

int neuron_ptr_support(const DeviceProperties& properties) noexcept {
    return properties.hmem_supported ? NCCL_PTR_HOST | NCCL_PTR_NEURON : NCCL_PTR_HOST;
}

ncclNetProperties_neuron_v6_t to_neuron_v6(const DeviceProperties& properties) noexcept {
    ncclNetProperties_neuron_v6_t out{};
    out.name = const_cast<char*>(properties.name);  // callers only read; the ABI lacks the const
    out.pciPath = const_cast<char*>(properties.pci_path);
    out.guid = properties.guid;
    out.ptrSupport = neuron_ptr_support(properties);
    out.regIsGlobal = properties.reg_is_global ? 1 : 0;
    out.speed = properties.speed_mbps;
    out.port = properties.port;
    out.latency = properties.latency_us;
    out.maxComms = properties.max_comms;
    out.maxRecvs = properties.max_group_receives;
    out.max_write_inline_size = properties.max_write_inline_bytes;
    out.max_mr_key_size = properties.max_mr_key_bytes;
    out.rma_supported = properties.rma_supported ? 1 : 0;
    return out;
}

ncclNetProperties_neuron_v4_t to_neuron_v4(const DeviceProperties& properties) noexcept {
    ncclNetProperties_neuron_v4_t out{};
    out.name = const_cast<char*>(properties.name);
    out.pciPath = const_cast<char*>(properties.pci_path);
    out.guid = properties.guid;
    out.ptrSupport = neuron_ptr_support(properties);
    out.speed = properties.speed_mbps;
    out.port = properties.port;
    out.maxComms = properties.max_comms;
    return out;
}

}  // namespace duofi::net
