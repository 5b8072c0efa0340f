// Result and Error of the cold paths. Hot paths (post, poll, test) return small enums instead.
// Any thread; values only. The place that decides which error it is logs it, once (docs/conventions.md 3).
#pragma once

#include <cstdint>
#include <tl/expected.hpp>

namespace duofi {

/// What went wrong, in the classes that the callers' result codes can express (net contract 3.9).
enum class Errc : std::int32_t {
    system = 1,        ///< operating system or provider failure; the caller sees ncclSystemError
    internal,          ///< our own state is wrong, or init found a bad parameter; ncclInternalError
    invalid_argument,  ///< NULL, malformed or out-of-range argument; ncclInvalidArgument
    invalid_usage,     ///< well-formed, but not allowed here; ncclInvalidUsage
    remote,            ///< the peer is gone or refused; ncclRemoteError
    unsupported,       ///< -95 EOPNOTSUPP; ncclSystemError
    no_data,           ///< -61 ENODATA: discovery found nothing; ncclSystemError
    no_memory,         ///< -12 ENOMEM; ncclSystemError
    timed_out,         ///< a deadline passed; ncclSystemError, ncclRemoteError when a peer was awaited
};

/// A failed cold-path call. `place` is a string literal naming the call that failed; the text for the
/// user was logged where the error was decided.
struct Error {
    Errc code = Errc::internal;
    std::int32_t provider_errno = 0;  ///< errno or positive libfabric code, 0 if none
    const char* place = "";
};
static_assert(sizeof(Error) <= 16);

template <typename T>
using Result = tl::expected<T, Error>;

using Status = Result<void>;

[[nodiscard]] inline tl::unexpected<Error> fail(Errc code, const char* place,
                                                std::int32_t provider_errno = 0) {
    return tl::unexpected<Error>(Error{code, provider_errno, place});
}

/// Short name of a code, for logs and tools ("invalid_argument").
const char* to_string(Errc code) noexcept;

}  // namespace duofi

#define DUOFI_CONCAT_INNER(a, b) a##b
#define DUOFI_CONCAT(a, b) DUOFI_CONCAT_INNER(a, b)

/// Returns the error of `expr` from the calling function, if it has one.
#define DUOFI_TRY(expr)                                                     \
    do {                                                                    \
        auto&& duofi_status = (expr);                                       \
        if (!duofi_status) return tl::unexpected(duofi_status.error());     \
    } while (false)

/// Declares `var` from the value of `expr`, or returns its error.
#define DUOFI_ASSIGN(var, expr)                                                                    \
    auto DUOFI_CONCAT(duofi_result_, __LINE__) = (expr);                                           \
    if (!DUOFI_CONCAT(duofi_result_, __LINE__))                                                    \
        return tl::unexpected(DUOFI_CONCAT(duofi_result_, __LINE__).error());                      \
    var = std::move(*DUOFI_CONCAT(duofi_result_, __LINE__))
