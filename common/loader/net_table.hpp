// Inside of the loader: the few entries of a net table that a caller uses while it chooses a
// plugin, for any canonical version 4 to 12. Any thread.
#pragma once

#include <cstdint>

#include "common/abi/host_types.h"

namespace duofi::loader {

/// A view of a table; owns nothing.
class NetTable {
  public:
    NetTable(const void* table, int version) noexcept : table_(table), version_(version) {}

    /// init with what its version takes. `context` is written by v11 and v12 only.
    [[nodiscard]] ncclResult_t init(void** context, std::uint64_t comm_id,
                                    ncclDebugLogger_t logger) const;
    [[nodiscard]] ncclResult_t devices(int* count) const;
    /// True for v11 and v12: init and finalize belong to one communicator (net contract 1.7).
    [[nodiscard]] bool has_context() const noexcept { return version_ >= 11; }
    /// Success without a call below v11.
    ncclResult_t finalize(void* context) const;

    struct DeviceType {
        ncclResult_t result = ncclSuccess;
        int type = NCCL_NET_DEVICE_HOST;
        int version = 0;
    };
    /// Of device 0, from getProperties; HOST where the version has no such field.
    [[nodiscard]] DeviceType device_type() const;

  private:
    const void* table_;
    int version_;
};

}  // namespace duofi::loader
