#include "common/abi/error_map.hpp"

#include <cerrno>

namespace duofi::abi {

ncclResult_t result_of_errno(int code) noexcept {
    // Compared below zero, where the whole range of int has a counterpart.
    switch (code > 0 ? -code : code) {
        case 0:
            return ncclSuccess;
        case -EINVAL:
            return ncclInternalError;
        case -EMSGSIZE:
            return ncclInvalidUsage;
        case -ECONNABORTED:
        case -ECONNRESET:
        case -ECONNREFUSED:
        case -ENOTCONN:
        case -EHOSTDOWN:
        case -EHOSTUNREACH:
            return ncclRemoteError;
        default:
            return ncclSystemError;
    }
}

ncclResult_t result_of(Errc code) noexcept {
    switch (code) {
        case Errc::system:
        case Errc::unsupported:
        case Errc::no_data:
        case Errc::no_memory:
        case Errc::timed_out:
            return ncclSystemError;
        case Errc::internal:
            return ncclInternalError;
        case Errc::invalid_argument:
            return ncclInvalidArgument;
        case Errc::invalid_usage:
            return ncclInvalidUsage;
        case Errc::remote:
            return ncclRemoteError;
    }
    return ncclInternalError;
}

ncclResult_t result_of(const Error& error) noexcept {
    const bool open = error.code == Errc::system || error.code == Errc::timed_out;
    if (open && error.provider_errno != 0) return result_of_errno(error.provider_errno);
    return result_of(error.code);
}

}  // namespace duofi::abi
