#include "p2p/runtime/slot_error.hpp"

#include "common/util/messages/p2p_runtime.hpp"
#include "p2p/runtime/runtime_table.hpp"

namespace duofi::p2p {

namespace {

struct LastFailure {
    int code = kRuntimeOk;
    const char* reason = "";
};
thread_local LastFailure last_failure;

}  // namespace

int slot_code(const Status& status) noexcept {
    return status ? static_cast<int>(kRuntimeOk) : slot_failure(status.error().code, status.error().place);
}

int slot_failure(Errc code, const char* reason) noexcept {
    last_failure = {static_cast<int>(code), reason};
    return last_failure.code;
}

int null_pointer() noexcept { return slot_failure(Errc::invalid_argument, messages::kRuntimeNull); }
int not_running() noexcept { return slot_failure(Errc::invalid_usage, messages::kNoRuntime); }
int not_ours() noexcept { return slot_failure(Errc::invalid_argument, messages::kRuntimeNotOurs); }

const char* slot_error_text(int code) noexcept {
    if (code == kRuntimeOk) return messages::kNoError;
    if (code == kPeerAccessAlreadyEnabled) return messages::kPeerAccessAlready;
    if (code == last_failure.code) return last_failure.reason;
    const bool ours = code >= static_cast<int>(Errc::system) && code <= static_cast<int>(Errc::timed_out);
    return ours ? to_string(static_cast<Errc>(code)) : messages::kUnknownError;
}

Errc slot_errc(int code) noexcept {
    if (code < static_cast<int>(Errc::system) || code > static_cast<int>(Errc::timed_out)) return Errc::system;
    return static_cast<Errc>(code);
}

}  // namespace duofi::p2p
