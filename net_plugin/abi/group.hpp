// The arrays of a grouped receive, widened into one struct per buffer. On the stack of the entry.
#pragma once

#include <cstddef>

#include "common/util/log.hpp"
#include "common/util/messages/net.hpp"
#include "net_plugin/entry.hpp"

namespace duofi::net {

struct Group {
    RecvBuffer buffers[kMaxGroupReceives];

    /// Checks count and arrays before a single entry is read. `Size` is int or size_t by table version.
    /// false: logged, the caller gets ncclInvalidArgument.
    template <typename Size>
    [[nodiscard]] bool fill(const char* operation, int count, void** data, Size* sizes, int* tags,
                            void** memory) {
        if (!check_group(operation, count, data != nullptr && sizes != nullptr && tags != nullptr)) return false;
        for (int i = 0; i < count; ++i) {
            if (sizes[i] < Size{0}) {
                log::warn(log::net, messages::kBadSize, operation, sizes[i], "0..INT_MAX");
                return false;
            }
            buffers[i] = {data[i], static_cast<std::size_t>(sizes[i]), tags[i],
                          memory != nullptr ? memory[i] : nullptr};
        }
        return true;
    }
};

}  // namespace duofi::net
