// How slots of our runtimes report: an int for the table, and the reason for error_string of the same thread.
#pragma once

#include "common/util/error.hpp"

namespace duofi::p2p {

/// 0, or the value of the error's code; remembers its place (static text) for slot_error_text.
[[nodiscard]] int slot_code(const Status& status) noexcept;
[[nodiscard]] int slot_failure(Errc code, const char* reason) noexcept;

/// What the slots of several runtimes refuse: a null pointer, a call before init or after finalize, memory that is none
/// of the runtime's.
[[nodiscard]] int null_pointer() noexcept;
[[nodiscard]] int not_running() noexcept;
[[nodiscard]] int not_ours() noexcept;

/// The error_string slot: the reason of this thread's last failure if it had that code, else a general text.
[[nodiscard]] const char* slot_error_text(int code) noexcept;

/// The class of what a slot returned. Codes that are not ours count as failures of the system.
[[nodiscard]] Errc slot_errc(int code) noexcept;

}  // namespace duofi::p2p
