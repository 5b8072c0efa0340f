#include "net_plugin/init_sequence.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <utility>

#include "common/util/log.hpp"
#include "common/util/messages/net_init.hpp"
#include "common/util/scope_exit.hpp"
#include "common/util/version.hpp"

namespace duofi::net {

namespace {

constexpr unsigned long kWhere = log::init | log::net;
constexpr std::size_t kLargestGranule = 4096;

std::string joined(const std::vector<std::string>& words, const char* separator) {
    std::string out;
    for (const std::string& word : words) {
        if (!out.empty()) out += separator;
        out += word;
    }
    return out;
}

/// One run of the sequence. `context` is the caller's only after success.
class InitRun {
  public:
    InitRun(InitSteps& steps, InitContext context) : steps_(steps), context_(std::move(context)) {}

    Status everything();
    InitContext take() { return std::move(context_); }
    void report_failure() const;

  private:
    void announce();
    Status decide();
    Status make();
    Status try_protocol();
    Status discover();
    Status create();
    Status self_test();
    void gather_environment();
    void log_summary() const;
    /// A machine without our network is no news, unless the user asked for us (A4, A22).
    [[nodiscard]] bool quiet() const { return no_network_ && !context_.settings.named_by_user(); }

    InitSteps& steps_;
    InitContext context_;
    bool no_network_ = false;  ///< discovery found nothing that we may use
    std::string topology_file_;
    std::vector<topology::EnvironmentRow> environment_;
};

Status InitRun::everything() {
    DUOFI_ASSIGN(context_.settings, steps_.load_settings());
    announce();
    DUOFI_TRY(decide());
    ScopeExit undo([this] { steps_.discard(); });
    DUOFI_TRY(make());
    gather_environment();
    log_summary();
    undo.release();
    for (const topology::EnvironmentRow& row : environment_)
        if (steps_.set_environment(row.name, row.value))
            log::info(kWhere | log::env, messages::kEnvironmentSet, row.name, row.value);
    return {};
}

void InitRun::announce() {  // I2 - I4
    log::info(kWhere, messages::kInitializing, kPackageName, kVersion);
    context_.fi_version = steps_.fi_version();
    context_.libfabric_file = steps_.libfabric_file();
    log::info(kWhere, messages::kLibfabricVersion, context_.fi_version >> 16,
              context_.fi_version & 0xffffU);
    context_.page_bytes = static_cast<std::size_t>(std::max(::sysconf(_SC_PAGESIZE), 1L));
    context_.granule_bytes = registration_granule(context_.page_bytes);
}

Status InitRun::decide() {  // I5, I6
    context_.platform = topology::pick_platform(context_.settings, steps_.dmi_product_name());
    const std::string_view efa_name = steps_.efa_provider_name();
    context_.effective = topology::effective_settings(context_.settings, context_.platform, efa_name);
    topology::log_platform(context_.platform, efa_name);
    DUOFI_ASSIGN(ProtocolKind wish, parse_protocol(context_.platform.protocol));
    if (context_.prefer_sendrecv) wish = ProtocolKind::sendrecv;
    DUOFI_ASSIGN(context_.protocol,
                 select_protocol(context_.settings.protocol, wish,
                                 steps_.protocols(context_)));
    return {};
}

// What nobody asked for is not insisted on (S9).
Status InitRun::make() {
    const Status made = try_protocol();
    const ProtocolChoice& chosen = context_.protocol;
    if (made || chosen.kind != ProtocolKind::rdma || chosen.source == ProtocolSource::user) return made;
    steps_.discard();
    no_network_ = false;
    context_.protocol = {ProtocolKind::sendrecv, ProtocolSource::automatic};
    log::warn(kWhere, messages::kProtocolFallback, to_string(ProtocolKind::rdma), to_string(context_.protocol.kind));
    return try_protocol();
}

Status InitRun::try_protocol() {
    DUOFI_TRY(discover());
    DUOFI_TRY(create());
    return self_test();
}

Status InitRun::discover() {  // I7, I8
    auto found = steps_.discover(context_);
    if (found && found->device_names.empty()) found = fail(Errc::no_data, "discovery", ENODATA);
    if (!found) {
        const Errc code = found.error().code;
        no_network_ = code == Errc::no_data || code == Errc::unsupported;
        return tl::unexpected(found.error());
    }
    context_.discovery = std::move(*found);
    return {};
}

Status InitRun::create() {  // I9, I10
    log::info(kWhere, messages::kDomainScope,
              context_.platform.domain_per_thread ? "thread" : "process");
    const Status created = steps_.create_plugin(context_);
    if (!created)
        log::warn(kWhere, messages::kProtocolInitFailed, to_string(context_.protocol.kind));
    return created;
}

Status InitRun::self_test() {  // I11, I12
    auto report = steps_.self_test();
    if (!report) {
        log::warn(kWhere, messages::kSelfTestFailed, report.error().place,
                  to_string(report.error().code), report.error().provider_errno);
        return tl::unexpected(report.error());
    }
    context_.self_test = *report;
    log::info(kWhere, messages::kGlobalRegistrations, report->reg_is_global);
    log::info(kWhere, messages::kDmabufRegistrations, report->dmabuf_supported);
    if (context_.platform.nic_dup_conns > 0 && report->gdr == memory::GdrState::supported) {
        log::warn(kWhere, messages::kDupConnsWithGdr);
        return fail(Errc::unsupported, "OFI_NCCL_NIC_DUP_CONNS", EOPNOTSUPP);
    }
    return {};
}

void InitRun::gather_environment() {  // I13
    environment_.assign(context_.platform.environment.begin(), context_.platform.environment.end());
    topology_file_ = steps_.topology_file(context_);
    if (!topology_file_.empty()) environment_.push_back({"NCCL_TOPO_FILE", topology_file_.c_str()});
    if (context_.self_test.gdr == memory::GdrState::supported || context_.settings.nccl_proto_set)
        return;
    log::info(kWhere, messages::kForceSimple, "GDR");
    environment_.push_back({"NCCL_PROTO", "simple"});
}

void InitRun::log_summary() const {
    const std::string devices = joined(context_.discovery.device_names, ",");
    const std::string changed = changed_settings(steps_.setting_rows(context_.settings));
    const std::string_view file = context_.libfabric_file.empty()
                                      ? "unknown file"
                                      : std::string_view(context_.libfabric_file);
    log::info(kWhere, messages::kInitSummary, kPackageName, kVersion, context_.fi_version >> 16,
              context_.fi_version & 0xffffU, file, context_.discovery.provider,
              context_.discovery.device_names.size(), devices, context_.table_version,
              to_string(context_.protocol.kind), changed);
}

void InitRun::report_failure() const {  // I14
    if (quiet())
        log::info(kWhere, messages::kInitFailed, kPackageName);
    else
        log::warn(kWhere, messages::kInitFailed, kPackageName);
}

}  // namespace

std::size_t registration_granule(std::size_t page_bytes) noexcept {
    return std::min(page_bytes, kLargestGranule);
}

std::vector<SettingRow> InitSteps::setting_rows(const Settings& settings) {
    std::deque<std::string> texts;  // addresses stay while it grows
    return duofi::setting_rows(settings, [&texts](const char* name) -> const char* {
        auto value = environment_value(name);
        if (!value) return nullptr;
        return texts.emplace_back(std::move(*value)).c_str();
    });
}

bool InitSteps::set_environment(const char* name, const char* value) {
    return set_environment_default(name, value);
}

Status run_init(InitSteps& steps, InitContext& context) {
    InitRun run(steps, context);
    Status done = run.everything();
    if (done)
        context = run.take();
    else
        run.report_failure();
    return done;
}

std::string changed_settings(std::span<const SettingRow> rows) {
    std::vector<std::string> changed;
    for (const SettingRow& row : rows)
        if (row.value != row.default_text) changed.push_back(row.name + "=" + row.value);
    return changed.empty() ? "none" : joined(changed, " ");
}

}  // namespace duofi::net
