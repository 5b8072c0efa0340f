#include "common/util/error.hpp"

namespace duofi {

const char* to_string(Errc code) noexcept {
    switch (code) {
        case Errc::system:
            return "system";
        case Errc::internal:
            return "internal";
        case Errc::invalid_argument:
            return "invalid_argument";
        case Errc::invalid_usage:
            return "invalid_usage";
        case Errc::remote:
            return "remote";
        case Errc::unsupported:
            return "unsupported";
        case Errc::no_data:
            return "no_data";
        case Errc::no_memory:
            return "no_memory";
        case Errc::timed_out:
            return "timed_out";
    }
    return "unknown";
}

}  // namespace duofi
