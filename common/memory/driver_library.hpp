// One driver library, opened by name at run time, and the functions taken from it. Objects are made
// by one thread; afterwards constant.
#pragma once

#include <span>
#include <string>

#include "common/memory/device_runtime.hpp"

namespace duofi::memory {

/// A pointer to fill, and the name of the function. `optional` ones stay NULL when they are absent.
struct DriverSymbol {
    void* slot;  ///< address of a pointer to a function
    const char* name;
    bool optional = false;
};

/// `slot` of any function pointer.
template <typename Function>
[[nodiscard]] DriverSymbol symbol(Function*& slot, const char* name, bool optional = false) {
    return {&slot, name, optional};
}

class DriverLibrary {
  public:
    /// Opens options.library, or the first of `names` that there is. Drivers start threads and
    /// register handlers for the end of the process, so they are never unloaded. Errors:
    /// unsupported, after one INFO line.
    [[nodiscard]] static Result<DriverLibrary> open(DeviceKind kind, const OpenOptions& options,
                                                    std::span<const char* const> names);
    /// Errors: unsupported, after one INFO line with the first name that is missing.
    [[nodiscard]] Status bind(std::span<const DriverSymbol> symbols) const;

    [[nodiscard]] DeviceKind kind() const noexcept { return kind_; }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

  private:
    DriverLibrary(DeviceKind kind, void* library, std::string name, SymbolLookup look_up)
        : kind_(kind), library_(library), name_(std::move(name)), look_up_(look_up) {}

    DeviceKind kind_;
    void* library_;
    std::string name_;
    SymbolLookup look_up_;
};

/// The lines of what can go wrong behind the look-up; each returns its error.
[[nodiscard]] tl::unexpected<Error> too_old(const DriverLibrary& library, int version, int least);
[[nodiscard]] tl::unexpected<Error> did_not_start(const DriverLibrary& library, const char* call,
                                                  int code, const char* text);

}  // namespace duofi::memory
