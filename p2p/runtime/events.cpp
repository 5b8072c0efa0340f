#include "p2p/runtime/events.hpp"

#include <cstdlib>
#include <cstring>
#include <new>

#include "common/local/copy.hpp"
#include "common/util/clock.hpp"
#include "common/util/messages/p2p_runtime.hpp"
#include "p2p/runtime/slot_error.hpp"

namespace duofi::p2p {

namespace {

constexpr std::size_t kPage = 4096;

struct Event {
    Nanoseconds recorded = 0;
};

int create(void** event) {
    if (event == nullptr) return null_pointer();
    auto* made = new (std::nothrow) Event;
    if (made == nullptr) return slot_failure(Errc::no_memory, messages::kRuntimeNoMemory);
    *event = made;
    return kRuntimeOk;
}

int destroy(void* event) {
    delete static_cast<Event*>(event);
    return kRuntimeOk;
}

int record(void* event) {
    if (event == nullptr) return null_pointer();
    static_cast<Event*>(event)->recorded = now_ns();
    return kRuntimeOk;
}

int already_done(void* event) { return event == nullptr ? null_pointer() : static_cast<int>(kRuntimeOk); }

int elapsed_us(void* from, void* to, double* microseconds) {
    if (from == nullptr || to == nullptr || microseconds == nullptr) return null_pointer();
    *microseconds = static_cast<double>(static_cast<Event*>(to)->recorded - static_cast<Event*>(from)->recorded) /
                    static_cast<double>(kMicrosecond);
    return kRuntimeOk;
}

}  // namespace

constinit const EventTable finished_event_table{create, destroy, record, already_done, already_done, elapsed_us};

int host_alloc(void** memory, std::size_t bytes) {
    if (memory == nullptr) return null_pointer();
    if (bytes == 0) return slot_failure(Errc::invalid_argument, messages::kRuntimeSize);
    void* made = nullptr;
    if (::posix_memalign(&made, kPage, bytes) != 0) return slot_failure(Errc::no_memory, messages::kRuntimeNoMemory);
    std::memset(made, 0, bytes);
    *memory = made;
    return kRuntimeOk;
}

int host_free(void* memory) {
    std::free(memory);
    return kRuntimeOk;
}

int memset_now(void* memory, int value, std::size_t bytes) {
    if (bytes == 0) return kRuntimeOk;
    if (memory == nullptr) return null_pointer();
    std::memset(memory, value, bytes);
    return kRuntimeOk;
}

int check_copy(const void* to, const void* from, std::size_t bytes, int kind) {
    if (kind < static_cast<int>(CopyKind::host_to_host) || kind > static_cast<int>(CopyKind::automatic))
        return slot_failure(Errc::invalid_argument, messages::kRuntimeCopyKind);
    return bytes != 0 && (to == nullptr || from == nullptr) ? null_pointer() : static_cast<int>(kRuntimeOk);
}

int memcpy_now(void* to, const void* from, std::size_t bytes, int kind) {
    const int code = check_copy(to, from, bytes, kind);
    if (code == kRuntimeOk && to != from) local::copy(to, from, bytes);
    return code;
}

}  // namespace duofi::p2p
