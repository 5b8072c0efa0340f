// Inside of the loader: one dlopened library, and the table looked up in it. Any thread; one object
// from one thread at a time.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "common/loader/host_policy.hpp"
#include "common/loader/plugin_host.hpp"

namespace duofi::loader {

/// Owns one dlopen reference.
class Library {
  public:
    Library() = default;
    Library(void* handle, std::string opened_as);
    Library(Library&& other) noexcept { *this = std::move(other); }
    Library& operator=(Library&& other) noexcept;
    ~Library() { close(); }
    void close() noexcept;

    explicit operator bool() const noexcept { return handle_ != nullptr; }
    [[nodiscard]] const void* symbol(const char* symbol_name) const noexcept;
    [[nodiscard]] const std::string& opened_as() const noexcept { return opened_as_; }
    /// What the loader calls the file, as the callers print it; empty for the running program.
    [[nodiscard]] const std::string& mapped_name() const noexcept { return mapped_name_; }
    /// Path with links resolved.
    [[nodiscard]] std::string real_path() const;
    /// The handle as printf's %p shows it.
    [[nodiscard]] std::string handle_text() const;

  private:
    void* handle_ = nullptr;
    std::string opened_as_;
    std::string mapped_name_;
};

/// A library together with the table that the caller takes from it.
struct LoadedTable {
    Library library;
    const void* table = nullptr;
    int version = 0;
    std::string name;  ///< the table's own
};

/// Goes through the attempts of one entry (net contract 1.2; rma contract 1.2) and prints what the
/// caller prints. No value: nothing opened.
[[nodiscard]] std::optional<Library> open_entry(const Candidate& entry, Flavour flavour,
                                                const HostPolicy& policy, const HostLog& log);

/// open_entry, then the version look-ups (net contract 1.4). No value: not opened, or no known
/// table.
[[nodiscard]] std::optional<LoadedTable> load_net(const Candidate& entry, Host host, int release,
                                                  const HostLog& log);
/// The same for RMA (rma contract 1.3, L-9, L-10).
[[nodiscard]] std::optional<LoadedTable> load_rma(const Candidate& entry, Host host, int release,
                                                  const HostLog& log);

/// Passes one line on, if anybody listens.
inline void say(const HostLog& log, int level, unsigned long subsystems, const std::string& text) {
    if (log) log(level, subsystems, text);
}

/// True when NCCL_NET is not set or equals the table's name in any case (net contract 1.3).
[[nodiscard]] bool name_accepted(const std::string& wanted, const std::string& name) noexcept;

/// The caller's closing line when no external plugin is left: silent unless a network was asked for
/// that is not built in.
void say_no_network(const NetRequest& request, const HostLog& log);

}  // namespace duofi::loader
