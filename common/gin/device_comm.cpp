#include "common/gin/device_comm.hpp"

#include <algorithm>

namespace duofi::gin {

Device DeviceComm::device(int context) noexcept {
    const int line = context % connections();
    return {part(line), context / connections(), line, shape_.device};
}

bool DeviceComm::failed() const noexcept {
    return std::ranges::any_of(parts_, [](const auto& part) { return part->failed(); });
}

bool DeviceComm::plugin_reports_error() const {
    return std::ranges::any_of(parts_,
                               [](const auto& part) { return part->plugin_reports_error(); });
}

}  // namespace duofi::gin
