#include "common/loader/plugin_host.hpp"

#include <dlfcn.h>
#include <fmt/core.h>
#include <sys/utsname.h>

#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>

#include "common/abi/host_types.h"
#include "common/loader/fork_check.hpp"
#include "common/loader/library.hpp"
#include "common/util/messages/loader.hpp"
#include "common/util/settings.hpp"

namespace duofi::loader {

/// What a Plugin owns.
struct Plugin::State {
    LoadedTable loaded;
    Host host = Host::rccl;
    std::string path;
};

/// Builds plugins; the only place that sees their state.
struct PluginAccess {
    template <typename T>
    static T make(LoadedTable loaded, Host host) {
        auto state = std::make_unique<Plugin::State>();
        state->path = loaded.library.real_path();
        state->loaded = std::move(loaded);
        state->host = host;
        return T(std::move(state));
    }
};

namespace {

constexpr unsigned long kEverything = static_cast<unsigned long>(NCCL_ALL);

std::optional<int> count_from(const std::optional<std::string>& text) {
    if (!text) return std::nullopt;
    int value = 0;
    const char* const end = text->data() + text->size();
    const auto [stop, error] = std::from_chars(text->data(), end, value);
    // A value that is no number leaves the callers' default in force.
    return error == std::errc() && stop == end ? std::optional<int>(value) : std::nullopt;
}

void say_all(const HostLog& log, const std::vector<HostLine>& lines) {
    for (const HostLine& line : lines) say(log, line.level, line.subsystems, line.text);
}

/// net contract 1.6, steps 1 to 3.
Result<NetPlugin> open_libnccom(const NetRequest& request, const HostLog& log) {
    utsname system{};
    const bool known = ::uname(&system) == 0;
    if (known && !fork_safe(system.release, request.fork_safe_set)) {
        say(log, NCCL_LOG_WARN, kEverything, fork_warning(system.release));
        return fail(Errc::no_data, "uname");
    }
    void* handle = ::dlopen("libnccom-net.so", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        say(log, NCCL_LOG_WARN, kEverything, fmt::format(messages::kNccomLoad, 1));
        return fail(Errc::system, "dlopen");
    }
    LoadedTable loaded;
    loaded.library = Library(handle, "libnccom-net.so");
    loaded.table = loaded.library.symbol("ncclNetPlugin_v6");
    loaded.version = 6;
    if (loaded.table == nullptr) {
        say(log, NCCL_LOG_WARN, kEverything, messages::kNccomSymbol);
        return fail(Errc::system, "dlsym");
    }
    const char* name = *static_cast<const char* const*>(loaded.table);
    if (name != nullptr) loaded.name = name;
    return PluginAccess::make<NetPlugin>(std::move(loaded), Host::libnccom);
}

}  // namespace

NetRequest NetRequest::from_environment(Host host, int release) {
    NetRequest request;
    request.host = host;
    request.release = release;
    request.plugin = environment_value("NCCL_NET_PLUGIN");
    request.net = environment_value("NCCL_NET").value_or("");
    request.ref_count = count_from(environment_value("NCCL_NET_PLUGIN_REF_COUNT"));
    request.fork_safe_set = environment_value("FI_EFA_FORK_SAFE").has_value();
    return request;
}

RmaRequest RmaRequest::from_environment(Host host, int release) {
    RmaRequest request;
    request.host = host;
    request.release = release;
    request.plugin = environment_value("NCCL_RMA_PLUGIN");
    return request;
}

Plugin::Plugin(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
Plugin::Plugin(Plugin&&) noexcept = default;
Plugin& Plugin::operator=(Plugin&&) noexcept = default;
Plugin::~Plugin() = default;

const std::string& Plugin::name() const noexcept {
    return state_->loaded.name;
}
int Plugin::version() const noexcept {
    return state_->loaded.version;
}
const std::string& Plugin::library_path() const noexcept {
    return state_->path;
}
const std::string& Plugin::opened_as() const noexcept {
    return state_->loaded.library.opened_as();
}
const void* Plugin::table() const noexcept {
    return state_->loaded.table;
}
const void* Plugin::symbol(const char* symbol_name) const noexcept {
    return state_->loaded.library.symbol(symbol_name);
}

const ncclNet_v6_t* NetPlugin::v6() const noexcept {
    const bool canonical = state_->host != Host::libnccom && state_->loaded.version == 6;
    return canonical ? static_cast<const ncclNet_v6_t*>(state_->loaded.table) : nullptr;
}

Result<NetPlugin> open_net(const NetRequest& request, const HostLog& log) {
    if (request.host == Host::libnccom) return open_libnccom(request, log);
    const CandidateList list =
        candidates(Flavour::net, request.host, request.release, request.plugin);
    say_all(log, list.lines);
    for (const Candidate& entry : list.entries) {
        std::optional<LoadedTable> loaded = load_net(entry, request.host, request.release, log);
        if (loaded && name_accepted(request.net, loaded->name))
            return PluginAccess::make<NetPlugin>(std::move(*loaded), request.host);
    }
    say_no_network(request, log);
    return fail(Errc::no_data, "open_net");
}

Result<RmaPlugin> open_rma(const RmaRequest& request, const HostLog& log) {
    const CandidateList list =
        candidates(Flavour::rma, request.host, request.release, request.plugin, request.open);
    say_all(log, list.lines);
    for (const Candidate& entry : list.entries) {
        if (auto loaded = load_rma(entry, request.host, request.release, log))
            return PluginAccess::make<RmaPlugin>(std::move(*loaded), request.host);
    }
    say(log, NCCL_LOG_INFO, NCCL_INIT | NCCL_NET, messages::kRmaNone);
    return fail(Errc::no_data, "open_rma");
}

Result<int> bind_fixed_offsets(const NetPlugin& plugin, ncclDebugLogger_t logger,
                               const HostLog& log) {
    using Init = ncclResult_t (*)(ncclDebugLogger_t);
    using Devices = ncclResult_t (*)(int*);
    const auto* slots = static_cast<void* const*>(plugin.table());
    const auto init = reinterpret_cast<Init>(slots[1]);        // +8
    const auto devices = reinterpret_cast<Devices>(slots[3]);  // +24
    int count = 0;
    if (init(logger) != ncclSuccess || devices(&count) != ncclSuccess) {
        say(log, NCCL_LOG_WARN, kEverything, messages::kNccomInit);
        return fail(Errc::system, "bind_fixed_offsets");
    }
    return count;
}

}  // namespace duofi::loader
