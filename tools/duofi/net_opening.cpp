#include "tools/duofi/net_opening.hpp"

#include <fmt/core.h>

#include <cstdlib>
#include <cstring>
#include <mutex>

#include "common/loader/host_logger.hpp"
#include "common/loader/net_client.hpp"
#include "common/util/log.hpp"
#include "common/util/parse.hpp"
#include "common/util/settings.hpp"
#include "tools/duofi/output.hpp"

namespace duofi::tool {

std::string describe(const Error& error) {
    if (error.provider_errno == 0) return fmt::format("{}: {}", error.place, to_string(error.code));
    if (error.provider_errno < 0)
        return fmt::format("{}: {}, result {} of the plugin", error.place, to_string(error.code),
                           -error.provider_errno);
    return fmt::format("{}: {}, error {} ({})", error.place, to_string(error.code),
                       error.provider_errno, std::strerror(error.provider_errno));
}

namespace {

struct Heard {
    std::mutex mutex;
    std::string provider = "unknown", protocol = "unknown";
    std::vector<std::string> rails;
    int level = NCCL_LOG_WARN;  // what goes to the terminal
};

Heard& heard() {
    static Heard instance;
    return instance;
}

int level_of_user() {
    const std::string text = environment_value("NCCL_DEBUG").value_or("");
    if (equal_ignoring_case(text, "INFO")) return NCCL_LOG_INFO;
    if (equal_ignoring_case(text, "TRACE")) return NCCL_LOG_TRACE;
    return NCCL_LOG_WARN;
}

/// What stands in `line` between `before` and `after`, nullopt if either is missing.
std::optional<std::string> between(const std::string& line, std::string_view before, std::string_view after) {
    const std::size_t at = line.find(before);
    if (at == std::string::npos) return {};
    const std::size_t from = at + before.size();
    const std::size_t end = line.find(after, from);
    if (end == std::string::npos) return {};
    return line.substr(from, end - from);
}

/// The lines of init (user-reports 3.3): what was selected, and the devices of several rails.
void remember(const std::string& line) {
    if (auto provider = between(line, "Selected provider is ", ", fabric")) heard().provider = std::move(*provider);
    if (auto protocol = between(line, ", protocol ", ", settings: ")) heard().protocol = std::move(*protocol);
    if (line.find(" rails over ") == std::string::npos) return;
    if (auto name = between(line, "Device ", ": ")) heard().rails.push_back(line.substr(line.find(*name + ": ")));
}

void take_line(const loader::PluginLine& line) {
    const std::lock_guard lock(heard().mutex);
    remember(line.text);
    if (line.level <= heard().level) fmt::print(stderr, "{}\n", loader::as_host_line(line));
}

Outcome<OpenNet> call_failed(const char* call, ncclResult_t result, const char* hint = "") {
    return failed(loader::to_string({result, false, call}) + hint);
}

/// The plugin prepares only what NCCL_DEBUG asks for, and says what it has chosen at level INFO.
class Talkative {
  public:
    Talkative() { ::setenv("NCCL_DEBUG", level_of_user() == NCCL_LOG_TRACE ? "TRACE" : "INFO", 1); }
    ~Talkative() {
        if (before_)
            ::setenv("NCCL_DEBUG", before_->c_str(), 1);
        else
            ::unsetenv("NCCL_DEBUG");
    }
    Talkative(const Talkative&) = delete;
    Talkative& operator=(const Talkative&) = delete;

  private:
    std::optional<std::string> before_ = environment_value("NCCL_DEBUG");
};

std::string not_opened(const loader::NetRequest& request, const Error& error) {
    std::string text = fmt::format("no net plugin \"{}\" could be opened ({})", request.plugin.value_or(""), describe(error));
    if (request.plugin == "none") return text + "; NCCL_NET_PLUGIN=none asks for none";
    if (!request.net.empty()) return text + fmt::format("; NCCL_NET={} asks for a network of that name", request.net);
    return text + "; is its folder in LD_LIBRARY_PATH? NCCL_DEBUG=INFO shows where it was looked for";
}

}  // namespace

void set_plugin_environment(const std::string& provider) {
    if (!provider.empty()) ::setenv("DUOFI_OFI_PROVIDER", provider.c_str(), 1);
    ::setenv("NCCL_NET_PLUGIN", kDefaultPlugin, 0);
}

void route_logs() {
    heard().level = level_of_user();
    loader::set_host_level(heard().level > NCCL_LOG_INFO ? heard().level : NCCL_LOG_INFO);
    loader::set_host_sink(take_line);
    log::set_threshold(static_cast<log::Level>(heard().level));
    log::set_sink(
        [](log::Level, unsigned long, const char*, int, const char* text) { complain(text); });
}

Outcome<OpenNet> open_and_init(const std::optional<std::string>& plugin) {
    loader::NetRequest request = loader::NetRequest::from_environment();
    if (plugin) request.plugin = plugin;
    const Talkative talkative;
    auto opened = loader::open_net(request, loader::host_line);
    if (!opened) return failed(not_opened(request, opened.error()));
    OpenNet net{std::move(*opened), nullptr, 0, {}, {}, {}};
    net.table = net.plugin.v6();
    if (!net.table)
        net.table = static_cast<const ncclNet_v6_t*>(net.plugin.symbol("ncclNetPlugin_v6"));
    if (!net.table) return failed(net.plugin.library_path() + " exports no ncclNetPlugin_v6");
    if (const ncclResult_t rc = net.table->init(loader::host_logger()); rc != ncclSuccess)
        return call_failed("init of the plugin", rc, "; warnings above, or NCCL_DEBUG=INFO, show why");
    if (const ncclResult_t rc = net.table->devices(&net.devices); rc != ncclSuccess)
        return call_failed("devices of the plugin", rc);
    const std::lock_guard lock(heard().mutex);
    net.provider = heard().provider;
    net.protocol = heard().protocol;
    net.rails = heard().rails;
    return net;
}

}  // namespace duofi::tool
