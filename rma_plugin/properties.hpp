// From device facts to the struct that callers of every RMA table read (rma contract 2.2, 2.8).
#pragma once

#include "common/abi/rma_v16.h"
#include "common/ofi/device_list.hpp"

namespace duofi::rma {

/// What holds for all devices.
struct ReportedForAll {
    float latency_us = 0;
    int max_comms = 1;
};

/// Every field is written. The strings are those of `device` (L-22); all that callers take from the first table they ask is what
/// the net tables show for the same index (L-20, A9).
[[nodiscard]] ncclNetProperties_v12_t properties_of(const ofi::DeviceInfo& device, int index,
                                                    const ReportedForAll& all) noexcept;

}  // namespace duofi::rma
