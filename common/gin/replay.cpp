#include "common/gin/replay.hpp"

#include <ctime>

namespace duofi::gin {
namespace {

Status status_of(GinStatus status, const char* place) {
    switch (status) {
        case GinStatus::done:
            return {};
        case GinStatus::timed_out:
            return fail(Errc::timed_out, place);
        case GinStatus::failed:
            return fail(Errc::remote, place);
        case GinStatus::bad_argument:
            return fail(Errc::invalid_argument, place);
    }
    return fail(Errc::internal, place);
}

Status check(const Stream& stream, DeviceComm& comm, std::span<const Window> windows) {
    const auto fits = [](std::uint32_t wanted, int have) {
        return static_cast<std::int64_t>(wanted) <= have;
    };
    const ContextShape& shape = comm.part(0).shape();
    if (!fits(stream.shape.contexts, comm.contexts()) ||
        !fits(stream.shape.signals, shape.signals) || !fits(stream.shape.counters, shape.counters))
        return fail(Errc::invalid_argument, "replay: communicator");
    if (windows.size() < stream.region_bytes.size())
        return fail(Errc::invalid_argument, "replay: windows");
    for (std::size_t i = 0; i < stream.region_bytes.size(); ++i)
        if (windows[i].bytes < stream.region_bytes[i])
            return fail(Errc::invalid_argument, "replay: window size");
    return {};
}

void sleep_until(Nanoseconds time) {
    const Nanoseconds left = time - now_ns();
    if (left <= 0) return;
    const timespec pause{left / kSecond, left % kSecond};
    static_cast<void>(::nanosleep(&pause, nullptr));
}

}  // namespace

Status replay(const Stream& stream, DeviceComm& comm, std::span<const Window> windows,
              const ReplayOptions& options) {
    DUOFI_TRY(check(stream, comm, windows));
    const Nanoseconds begin = now_ns();
    for (const StreamEntry& entry : stream.entries) {
        if (options.paced) sleep_until(begin + entry.time);
        const int context = static_cast<int>(entry.context);
        const auto line = static_cast<std::size_t>(context % comm.connections());
        Device device = comm.device(context);
        const int member = device.members().member_of(static_cast<int>(entry.peer));
        const PackedDescriptor packed =
            with_handles(entry.packed, [&](std::uint64_t number) -> std::uint64_t {
                if (number == 0 || number > windows.size()) return 0;
                return handle_bits(windows[number - 1].handles[line]);
            });
        DUOFI_TRY(status_of(device.post(member, packed), "replay: post"));
    }
    for (int context = 0; context < comm.contexts(); ++context)
        DUOFI_TRY(status_of(comm.device(context).flush(), "replay: flush"));
    return {};
}

}  // namespace duofi::gin
