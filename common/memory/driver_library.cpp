#include "common/memory/driver_library.hpp"

#include <dlfcn.h>

#include <cstring>

#include "common/util/log.hpp"
#include "common/util/messages/memory.hpp"

namespace duofi::memory {
namespace {

void* look_up_symbol(void* library, const char* name) {
    return ::dlsym(library, name);
}

}  // namespace

Result<DriverLibrary> DriverLibrary::open(DeviceKind kind, const OpenOptions& options,
                                          std::span<const char* const> names) {
    const char* given = options.library.c_str();
    if (!options.library.empty()) names = std::span(&given, 1);
    const int mode = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE | (options.only_if_loaded ? RTLD_NOLOAD : 0);
    std::string tried;
    std::string reason;
    for (const char* name : names) {
        tried += (tried.empty() ? "" : ", ") + std::string(name);
        if (void* library = ::dlopen(name, mode))
            return DriverLibrary(kind, library, name,
                                 options.look_up != nullptr ? options.look_up : look_up_symbol);
        const char* text = ::dlerror();
        if (reason.empty()) reason = text != nullptr ? text : "not loaded";
    }
    log::info(log::init, messages::kDriverAbsent, to_string(kind), reason, tried);
    return fail(Errc::unsupported, "dlopen", ENOSYS);
}

Status DriverLibrary::bind(std::span<const DriverSymbol> symbols) const {
    for (const DriverSymbol& wanted : symbols) {
        void* found = look_up_(library_, wanted.name);
        if (found == nullptr && !wanted.optional) {
            log::info(log::init, messages::kDriverSymbol, to_string(kind_), name_, wanted.name);
            return fail(Errc::unsupported, "dlsym", ENOSYS);
        }
        // Pointers to functions are data pointers here (POSIX).
        std::memcpy(wanted.slot, &found, sizeof(found));
    }
    return {};
}

tl::unexpected<Error> too_old(const DriverLibrary& library, int version, int least) {
    log::info(log::init, messages::kDriverOld, to_string(library.kind()), library.name(), version,
              least);
    return fail(Errc::unsupported, "version", ENOSYS);
}

tl::unexpected<Error> did_not_start(const DriverLibrary& library, const char* call, int code,
                                    const char* text) {
    log::info(log::init, messages::kDriverStart, to_string(library.kind()), call, library.name(),
              code, text);
    return fail(Errc::no_data, call, code);
}

}  // namespace duofi::memory
