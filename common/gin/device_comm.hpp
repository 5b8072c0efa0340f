// A device communicator: contexts spread over the connections of a GinProxy, context c on
// connection c mod connections. Threads: contexts are used from any thread; making and destroying
// is the GinProxy's.
#pragma once

#include <memory>
#include <vector>

#include "common/gin/device.hpp"
#include "common/gin/proxy_context.hpp"

namespace duofi::gin {

/// `shape.contexts` is the total; a connection gets its share, rounded up.
struct DeviceCommShape {
    ContextShape shape;
    DeviceOptions device;
};

class DeviceComm {
  public:
    explicit DeviceComm(const DeviceCommShape& shape) : shape_(shape) {}

    [[nodiscard]] int contexts() const noexcept { return shape_.shape.contexts; }
    /// The kernel's side of one context.
    [[nodiscard]] Device device(int context) noexcept;
    [[nodiscard]] int connections() const noexcept { return static_cast<int>(parts_.size()); }
    [[nodiscard]] ProxyContext& part(int connection) noexcept {
        return *parts_[static_cast<std::size_t>(connection)];
    }
    [[nodiscard]] bool failed() const noexcept;
    /// queryLastError of every part.
    [[nodiscard]] bool plugin_reports_error() const;

  private:
    friend class GinProxy;
    DeviceCommShape shape_;
    std::vector<std::unique_ptr<ProxyContext>> parts_;  // by connection
};

}  // namespace duofi::gin
