#include "p2p/transport/net_context.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "common/loader/net_host.hpp"
#include "common/topology/sysfs.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/p2p_net.hpp"
#include "common/util/settings.hpp"
#include "p2p/log_subsystems.hpp"

namespace duofi::p2p {
namespace {

struct State {
    std::mutex mutex;
    NetOpener opener;
    std::weak_ptr<loader::NetHost> host;
    std::map<ncclComm*, std::weak_ptr<NetContext>> contexts;
    std::optional<OpenedNet> looked_at;  ///< opened by net_devices(), until a set-up has opened it
    std::string proto_of_plugin;         ///< NCCL_PROTO as a plugin has set it

    void stop_looking() {
        if (looked_at && looked_at->close) looked_at->close();
        looked_at.reset();
    }
};
/// Never destroyed: edges may be freed while the process ends.
State& state() {
    static State* const instance = new State;
    return *instance;
}

/// printf-style lines of the plugin go where ours go.
void log_plugin_line(ncclDebugLogLevel level, unsigned long subsystems, const char* /*file*/,
                     int /*line*/, const char* format, ...) {
    constexpr std::size_t kLongest = 4096;
    if (format == nullptr || !log::enabled(static_cast<log::Level>(level))) return;
    char text[kLongest];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (level == NCCL_LOG_WARN)
        log::warn(subsystems, messages::kNetPluginLine, text);
    else if (level == NCCL_LOG_INFO)
        log::info(subsystems, messages::kNetPluginLine, text);
    else
        log::trace(subsystems, messages::kNetPluginLine, text);
}

void log_loader_line(int level, unsigned long subsystems, const std::string& text) {
    if (level == NCCL_LOG_WARN)
        log::warn(subsystems, messages::kNetPluginLine, text);
    else
        log::info(subsystems, messages::kNetPluginLine, text);
}

/// Our own plugin lies beside this library; elsewhere its short name has to do.
std::string default_plugin() {
    Dl_info here{};
    if (::dladdr(static_cast<const void*>(&ncclTransports), &here) == 0 ||
        here.dli_fname == nullptr)
        return "duofi";
    std::string path = here.dli_fname;
    path.replace(path.rfind('/') + 1, std::string::npos, "librccl-net-duofi.so");
    return ::access(path.c_str(), R_OK) == 0 ? path : "duofi";
}

/// Lock held.
Result<OpenedNet> open_plugin(State& self, std::uint64_t comm_id) {
    std::shared_ptr<loader::NetHost> host = self.host.lock();
    if (host == nullptr) {
        loader::NetRequest request = loader::NetRequest::from_environment();
        if (!request.plugin) request.plugin = default_plugin();
        host = std::make_shared<loader::NetHost>(std::move(request), log_plugin_line,
                                                 log_loader_line);
        self.host = host;
    }
    DUOFI_ASSIGN(const loader::AssignedNet net, host->attach(comm_id));
    OpenedNet opened{net.table, net.version, net.context, net.name, net.devices, {}};
    opened.close = [host, net] { host->release(net); };
    return opened;
}

/// Lock held.
Result<OpenedNet> open_net(State& self, std::uint64_t comm_id) {
    if (self.opener) return self.opener(comm_id);
    const bool chosen = environment_value("NCCL_PROTO").has_value();
    Result<OpenedNet> opened = open_plugin(self, comm_id);
    if (!chosen) self.proto_of_plugin = environment_value("NCCL_PROTO").value_or("");
    return opened;
}

std::uint64_t comm_id_of(const ncclComm& comm) noexcept {
    return comm.peer_info.front().hostHash ^ comm.peer_info.front().pidHash << 1;
}

}  // namespace

void set_net_opener(NetOpener opener) {
    State& self = state();
    const std::scoped_lock lock(self.mutex);
    self.stop_looking();
    self.opener = std::move(opener);
}

NetContext::NetContext(ncclComm& comm, OpenedNet net, std::unique_ptr<NetApi> api)
    : net_(std::move(net)), api_(std::move(api)), proxy_(comm) {
    const int mine = comm.peer_info[static_cast<std::size_t>(comm.rank)].numaNode;
    std::vector<int> all;
    for (int device = 0; device < net_.devices; ++device) {
        all.push_back(device);
        const std::string path = api_->pci_path(device);
        const auto node = topology::Sysfs().number(path + "/numa_node");
        if (mine >= 0 && !path.empty() && node && *node == mine) nearest_.push_back(device);
    }
    if (nearest_.empty()) nearest_ = std::move(all);
}

NetContext::~NetContext() {
    if (net_.close) net_.close();
}

int NetContext::device_for(int channel) const noexcept {
    return nearest_[static_cast<std::size_t>(channel) % nearest_.size()];
}

Result<std::shared_ptr<NetContext>> NetContext::of(ncclComm& comm) {
    State& self = state();
    const std::scoped_lock lock(self.mutex);
    std::weak_ptr<NetContext>& known = self.contexts[&comm];
    if (auto there = known.lock()) return there;
    Result<OpenedNet> plugin = open_net(self, comm_id_of(comm));
    self.stop_looking();
    DUOFI_ASSIGN(OpenedNet opened, std::move(plugin));
    auto api = make_net_api(opened.table, opened.version, opened.context);
    if (api == nullptr) {
        log::warn(kNetSetupLog, messages::kNetUnknownVersion, opened.version, opened.name);
        if (opened.close) opened.close();
        return fail(Errc::no_data, "plugin");
    }
    log::info(kNetSetupLog, messages::kNetInUse, comm.rank, opened.name, opened.version, opened.devices);
    auto made = std::make_shared<NetContext>(comm, std::move(opened), std::move(api));
    known = made;
    std::erase_if(self.contexts, [](const auto& entry) { return entry.second.expired(); });
    return made;
}

int net_devices() {
    State& self = state();
    const std::scoped_lock lock(self.mutex);
    for (const auto& [comm, known] : self.contexts)
        if (const auto there = known.lock()) return there->devices();
    if (!self.looked_at) {
        auto opened = open_net(self, 0);
        if (!opened) return 0;
        self.looked_at = std::move(*opened);
    }
    const int devices = self.looked_at->devices;
    if (devices == 0) self.stop_looking();
    return devices;
}

std::string users_protocols() {
    const std::string now = environment_value("NCCL_PROTO").value_or("");
    State& self = state();
    const std::scoped_lock lock(self.mutex);
    return now == self.proto_of_plugin ? "" : now;
}

}  // namespace duofi::p2p
