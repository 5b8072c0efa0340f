// A registered region as kernels name it: one handle per connection. A value; the GinProxy or
// RmaProxy that made it owns the registration.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/abi/host_types.h"

namespace duofi::gin {

struct Window {
    std::array<void*, NCCL_RMA_MAX_CONNECTIONS> handles{};
    std::byte* data = nullptr;  ///< of this rank
    std::size_t bytes = 0;      ///< of this rank; others' may differ
    std::uint32_t number = 0;   ///< from 1 on in order of registration; 0 = no window
};

}  // namespace duofi::gin
