// The wall between a caller's C table and C++: the only way to fill a slot. Any thread.
#pragma once

#include <string_view>
#include <type_traits>

#include "common/abi/error_map.hpp"
#include "common/abi/host_types.h"
#include "common/util/error.hpp"

namespace duofi::abi {

/// OFI_NCCL_ABORT_ON_ERROR for the whole process; set by init (net contract 3.9). Any thread.
void set_abort_on_error(bool abort_on_error) noexcept;

namespace detail {

/// Turns the exception in flight into a result and one WARN line. Only inside a catch block.
[[gnu::cold]] ncclResult_t result_of_exception(std::string_view function) noexcept;

/// Last station of every failure: ends the process if set_abort_on_error asks for it.
[[gnu::cold]] ncclResult_t report_failure(ncclResult_t result) noexcept;

/// Name of `Function` with its namespaces, cut out of the compiler's own text at compile time.
template <auto Function>
[[nodiscard]] constexpr std::string_view name_of() noexcept {
    std::string_view text = __PRETTY_FUNCTION__;
    constexpr std::string_view key = "Function = ";
    text.remove_prefix(text.find(key) + key.size());
    if (text.front() == '&') text.remove_prefix(1);
    return text.substr(0, text.find_first_of(";]"));
}

[[nodiscard]] inline ncclResult_t to_result(ncclResult_t result) noexcept {
    return result;
}
[[nodiscard]] inline ncclResult_t to_result(const Status& status) noexcept {
    return status.has_value() ? ncclSuccess : result_of(status.error());
}
[[nodiscard]] inline ncclResult_t to_result(const Result<ncclResult_t>& result) noexcept {
    return result.has_value() ? *result : result_of(result.error());
}

template <typename R>
inline constexpr bool kIsOutcome = std::is_same_v<R, ncclResult_t> || std::is_same_v<R, Status> ||
                                   std::is_same_v<R, Result<ncclResult_t>>;

template <auto Function, typename R, typename... Arguments>
struct Wrapped {
    static_assert(kIsOutcome<R>,
                  "an entry returns ncclResult_t, Status or Result<ncclResult_t>, nothing else");
    using Slot = ncclResult_t (*)(Arguments...);

    static ncclResult_t call(Arguments... arguments) noexcept {
        ncclResult_t result;
        try {
            result = to_result(Function(arguments...));
        } catch (...) {
            result = result_of_exception(name_of<Function>());
        }
        if (result != ncclSuccess) [[unlikely]]
            return report_failure(result);
        return result;
    }
};

template <auto Function, typename R, typename... Arguments>
Wrapped<Function, R, Arguments...> wrap(R (*)(Arguments...));

}  // namespace detail

/// What a slot is filled with. Converts to exactly the type of a slot with the function's
/// parameters and nothing else, so a wrong signature does not compile.
template <auto Function>
class Entry {
    using Wrapped = decltype(detail::wrap<Function>(Function));

  public:
    using Slot = typename Wrapped::Slot;
    constexpr operator Slot() const noexcept { return &Wrapped::call; }
};

/// `abi::entry<&listen>`: a noexcept C function around `listen`, a free or static member function
/// that takes the slot's parameters and returns ncclResult_t, Status or Result<ncclResult_t>.
///   - An Error becomes the code of error_map; its line was logged where it was decided.
///   - std::bad_alloc becomes SystemError; any other exception, also the std::system_error of a
///   mutex
///     that fails, becomes InternalError. One WARN line names the function.
///   - With set_abort_on_error any result but success is logged and ends the process.
/// Success costs a compare beyond the call: no allocation, no lock, no read of shared memory.
template <auto Function>
inline constexpr Entry<Function> entry{};

}  // namespace duofi::abi
