#include "common/abi/boundary.hpp"

#include <atomic>
#include <cstdlib>
#include <exception>
#include <new>
#include <system_error>

#include "common/util/log.hpp"
#include "common/util/messages/abi.hpp"

namespace duofi::abi {
namespace {

std::atomic<bool> abort_on_failure{false};

ncclResult_t classify(std::string_view function) {
    try {
        throw;
    } catch (const std::bad_alloc&) {
        log::warn(log::all, messages::kEntryOutOfMemory, function);
        return ncclSystemError;
    } catch (const std::system_error& e) {
        log::warn(log::all, messages::kEntrySystemException, function, e.what(), e.code().value());
    } catch (const std::exception& e) {
        log::warn(log::all, messages::kEntryException, function, e.what());
    } catch (...) {
        log::warn(log::all, messages::kEntryUnknownException, function);
    }
    return ncclInternalError;
}

}  // namespace

void set_abort_on_error(bool abort_on_error) noexcept {
    abort_on_failure.store(abort_on_error, std::memory_order_relaxed);
}

namespace detail {

ncclResult_t result_of_exception(std::string_view function) noexcept {
    try {
        return classify(function);
    } catch (...) {
        return ncclInternalError;  // the line could not be written; the code still tells
    }
}

ncclResult_t report_failure(ncclResult_t result) noexcept {
    if (!abort_on_failure.load(std::memory_order_relaxed)) return result;
    log::warn(log::all, messages::kAbortingDueToFailure, static_cast<int>(result));
    std::abort();
}

}  // namespace detail
}  // namespace duofi::abi
