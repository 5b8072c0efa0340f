#include "common/memory/device_runtime.hpp"

#include "common/memory/cuda_runtime.hpp"
#include "common/memory/hip_runtime.hpp"
#include "common/memory/neuron_runtime.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/memory.hpp"

namespace duofi::memory {
namespace {

// Which device a thread means. Kept here, and put in force around each call only, so that the
// application's own choice stays what it was.
constexpr std::size_t kKinds = 3;
thread_local std::array<int, kKinds> selected{};

std::size_t index_of(DeviceKind kind) noexcept {
    return static_cast<std::size_t>(kind);
}

}  // namespace

const char* to_string(DeviceKind kind) noexcept {
    switch (kind) {
        case DeviceKind::cuda:
            return "cuda";
        case DeviceKind::hip:
            return "hip";
        case DeviceKind::neuron:
            return "neuron";
    }
    return "";
}

Status DeviceRuntime::check_device(int device, const char* place) const {
    if (device >= 0 && device < devices_) return {};
    return fail(Errc::invalid_argument, place);
}

Status DeviceRuntime::set_device(int device) {
    DUOFI_TRY(check_device(device, messages::kNoSuchDevice));
    selected[index_of(kind())] = device;
    return {};
}

int DeviceRuntime::device() const noexcept {
    const int device = selected[index_of(kind())];
    return device < devices_ ? device : 0;
}

Result<DeviceFacts> DeviceRuntime::facts(int device) {
    DUOFI_TRY(check_device(device, messages::kNoSuchDevice));
    DeviceFacts facts;
    facts.host_device = device;
    return facts;
}

Result<std::unique_ptr<DeviceRuntime>> open_device_runtime(DeviceKind kind,
                                                           const OpenOptions& options) {
    auto opened = kind == DeviceKind::cuda  ? open_cuda_runtime(options)
                  : kind == DeviceKind::hip ? open_hip_runtime(options)
                                            : open_neuron_runtime(options);
    if (opened)
        log::info(log::init, messages::kDriverReady, to_string(kind), (*opened)->library(),
                  (*opened)->version(), (*opened)->device_count());
    return opened;
}

OpenOptions open_options(DeviceKind kind, const Settings& settings) {
    OpenOptions options;
    options.library = kind == DeviceKind::cuda  ? settings.cuda_library
                      : kind == DeviceKind::hip ? settings.hip_library
                                                : settings.neuron_library;
    return options;
}

}  // namespace duofi::memory
