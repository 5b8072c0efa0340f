// Opens and probes plugins exactly as RCCL, NCCL and libnccom do. For tools, examples, tests and
// p2p's NET transport; the plugins themselves never use it.
// Threads: functions may be called from any thread; one object from one thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/abi/host_types.h"
#include "common/abi/net_v6.h"
#include "common/loader/candidates.hpp"
#include "common/util/error.hpp"

namespace duofi::loader {

/// Receives the caller's own lines, word for word. May be empty.
using HostLog = std::function<void(int level, unsigned long subsystems, const std::string& text)>;

/// What the caller's settings say about the net plugin.
struct NetRequest {
    Host host = Host::rccl;
    int release = kNewestRelease;
    std::optional<std::string> plugin;  ///< NCCL_NET_PLUGIN; nullopt = unset
    std::string net;                    ///< NCCL_NET; empty = any name
    std::optional<int> ref_count;  ///< NCCL_NET_PLUGIN_REF_COUNT; nullopt = the release's default
    bool fork_safe_set = false;    ///< FI_EFA_FORK_SAFE is present (libnccom only)

    /// Reads NCCL_NET_PLUGIN, NCCL_NET, NCCL_NET_PLUGIN_REF_COUNT and FI_EFA_FORK_SAFE.
    [[nodiscard]] static NetRequest from_environment(Host host = Host::rccl,
                                                     int release = kNewestRelease);
};

/// What the caller's settings say about the RMA plugin.
struct RmaRequest {
    Host host = Host::rccl;
    int release = kNewestRelease;
    std::optional<std::string> plugin;  ///< NCCL_RMA_PLUGIN; nullopt = unset
    OpenLibraries open;                 ///< libraries that are adopted (L-3, L-4)

    [[nodiscard]] static RmaRequest from_environment(Host host = Host::rccl,
                                                     int release = kNewestRelease);
};

/// One open plugin library and the table found in it. Owns one dlopen reference: the destructor
/// dlcloses, after which every pointer obtained from here is invalid. Init is not called.
class Plugin {
  public:
    Plugin(Plugin&&) noexcept;
    Plugin& operator=(Plugin&&) noexcept;
    ~Plugin();

    /// The table's `name` member, valid before init (net contract 1.3).
    [[nodiscard]] const std::string& name() const noexcept;
    /// N of the symbol that was taken.
    [[nodiscard]] int version() const noexcept;
    /// Path of the mapped file with links resolved; for the running program, its own path.
    [[nodiscard]] const std::string& library_path() const noexcept;
    /// The name that dlopen took; what an RMA list adopts (OpenLibraries).
    [[nodiscard]] const std::string& opened_as() const noexcept;
    /// The table itself; its type follows from flavour, host and version.
    [[nodiscard]] const void* table() const noexcept;
    /// Any exported data symbol of the library, nullptr if absent.
    [[nodiscard]] const void* symbol(const char* symbol_name) const noexcept;

  protected:
    struct State;
    explicit Plugin(std::unique_ptr<State> state) noexcept;
    std::unique_ptr<State> state_;
    friend struct PluginAccess;
};

/// A net plugin.
class NetPlugin : public Plugin {
  public:
    /// The canonical v6 table; nullptr if another version was taken or the caller was libnccom.
    [[nodiscard]] const ncclNet_v6_t* v6() const noexcept;

  private:
    using Plugin::Plugin;
    friend struct PluginAccess;
};

/// An RMA plugin.
class RmaPlugin : public Plugin {
    using Plugin::Plugin;
    friend struct PluginAccess;
};

/// Opens the first entry of the list that has a table the caller knows and, if `net` is set, that
/// name (strcasecmp, net contract 1.3). Prints the caller's lines on the way. Errors: Errc::no_data
/// when no entry qualifies (the caller would use its built-in networks), Errc::system for
/// libnccom's failures.
[[nodiscard]] Result<NetPlugin> open_net(const NetRequest& request, const HostLog& log = {});

/// The same for RMA tables (rma contract 1.1 to 1.3, L-1 to L-4, L-6 to L-12).
[[nodiscard]] Result<RmaPlugin> open_rma(const RmaRequest& request, const HostLog& log = {});

/// libnccom's binding (net contract 1.6): calls the pointer at +8 with `logger`, then the one at
/// +24 with an int pointer, and never looks at the name. Returns the number of devices. Error:
/// Errc::system.
[[nodiscard]] Result<int> bind_fixed_offsets(const NetPlugin& plugin, ncclDebugLogger_t logger,
                                             const HostLog& log = {});

}  // namespace duofi::loader
