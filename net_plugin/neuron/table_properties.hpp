// Last step of the chain of properties.hpp for Neuron's tables (net contract 2.3, 3.8, S7). Any thread.
#pragma once

#include "common/abi/net_neuron.h"
#include "net_plugin/properties.hpp"

namespace duofi::net {

/// HOST 1, and NEURON 4 where device memory can be used; never the canonical DMABUF, which has the same value.
[[nodiscard]] int neuron_ptr_support(const DeviceProperties& properties) noexcept;
/// For v5 and v6; the strings are those of `properties`.
[[nodiscard]] ncclNetProperties_neuron_v6_t to_neuron_v6(const DeviceProperties& properties) noexcept;
[[nodiscard]] ncclNetProperties_neuron_v4_t to_neuron_v4(const DeviceProperties& properties) noexcept;

}  // namespace duofi::net
