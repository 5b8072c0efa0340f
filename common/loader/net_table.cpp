#include "common/loader/net_table.hpp"

#include <cstddef>

#include "common/abi/net_v10.h"
#include "common/abi/net_v11.h"
#include "common/abi/net_v12.h"
#include "common/abi/net_v6.h"
#include "common/abi/net_v7.h"
#include "common/abi/net_v8.h"
#include "common/abi/net_v9.h"

namespace duofi::loader {
namespace {

// Every version begins with name, init, devices, getProperties; v4 to v9 init takes the logger
// alone.
static_assert(offsetof(ncclNet_v6_t, devices) == 16 && offsetof(ncclNet_v12_t, devices) == 16);

ncclResult_t no_profiler(void**, int, void*, std::int64_t, void*) {
    return ncclSuccess;
}

template <typename Table, typename Properties>
NetTable::DeviceType device_type_of(const void* table) {
    Properties properties{};
    NetTable::DeviceType answer;
    answer.result = static_cast<const Table*>(table)->getProperties(0, &properties);
    answer.type = properties.netDeviceType;
    answer.version = properties.netDeviceVersion;
    return answer;
}

template <typename Table, typename Config>
ncclResult_t init_with_context(const void* table, void** context, std::uint64_t comm_id,
                               ncclDebugLogger_t logger) {
    Config config{};
    config.trafficClass = NCCL_NET_TRAFFIC_CLASS_UNDEF;
    return static_cast<const Table*>(table)->init(context, comm_id, &config, logger, no_profiler);
}

}  // namespace

ncclResult_t NetTable::init(void** context, std::uint64_t comm_id, ncclDebugLogger_t logger) const {
    switch (version_) {
        case 12:
            return init_with_context<ncclNet_v12_t, ncclNetCommConfig_v12_t>(table_, context,
                                                                             comm_id, logger);
        case 11:
            return init_with_context<ncclNet_v11_t, ncclNetCommConfig_v11_t>(table_, context,
                                                                             comm_id, logger);
        case 10:
            return static_cast<const ncclNet_v10_t*>(table_)->init(logger, no_profiler);
        default:
            return static_cast<const ncclNet_v6_t*>(table_)->init(logger);
    }
}

ncclResult_t NetTable::devices(int* count) const {
    return static_cast<const ncclNet_v6_t*>(table_)->devices(count);
}

ncclResult_t NetTable::finalize(void* context) const {
    if (version_ == 12) return static_cast<const ncclNet_v12_t*>(table_)->finalize(context);
    if (version_ == 11) return static_cast<const ncclNet_v11_t*>(table_)->finalize(context);
    return ncclSuccess;
}

NetTable::DeviceType NetTable::device_type() const {
    switch (version_) {
        case 12:
            return device_type_of<ncclNet_v12_t, ncclNetProperties_v12_t>(table_);
        case 11:
            return device_type_of<ncclNet_v11_t, ncclNetProperties_v11_t>(table_);
        case 10:
        case 9:
            return device_type_of<ncclNet_v9_t, ncclNetProperties_v9_t>(table_);
        case 8:
            return device_type_of<ncclNet_v8_t, ncclNetProperties_v8_t>(table_);
        case 7:
            return device_type_of<ncclNet_v7_t, ncclNetProperties_v7_t>(table_);
        case 6: {
            ncclNetProperties_v6_t properties{};
            DeviceType answer;
            answer.result = static_cast<const ncclNet_v6_t*>(table_)->getProperties(0, &properties);
            return answer;
        }
        default:
            return {};
    }
}

}  // namespace duofi::loader
