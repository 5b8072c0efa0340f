#include "net_plugin/plugin.hpp"

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "common/abi/boundary.hpp"
#include "common/abi/host_log.hpp"
#include "common/ofi/discovery.hpp"
#include "common/ofi/rail_groups.hpp"
#include "common/ofi/service_thread.hpp"
#include "common/util/fork_mark.hpp"
#include "common/util/library_file.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/net.hpp"
#include "common/util/messages/net_init.hpp"
#include "common/util/messages/neuron.hpp"
#include "common/util/mutex.hpp"
#include "net_plugin/caller_memory.hpp"
#include "net_plugin/comm_registry.hpp"
#include "net_plugin/endpoint_check.hpp"
#include "net_plugin/entry.hpp"
#include "net_plugin/init_sequence.hpp"
#include "net_plugin/comms/device.hpp"
#include "net_plugin/rdma/write_probe.hpp"
#include "net_plugin/comms/wire.hpp"

namespace duofi::net {

namespace {

/// Everything that init makes. Plain data and closed devices: no libfabric object is open in it.
struct State : Plugin {
    InitContext context;
    ofi::DeviceList list;
    std::vector<ofi::RailInfos> groups;  ///< of the list's devices, one for each of ours
    std::deque<FabricDevice> devices;
    ForkMark fork_mark;

    int device_count() const noexcept override { return static_cast<int>(devices.size()); }
    Device* get_device(int index) noexcept override {
        if (index < 0 || index >= device_count()) return nullptr;
        return &devices[static_cast<std::size_t>(index)];
    }
};

Mutex* init_mutex() {
    static Mutex mutex;  // trivially left behind at exit, gone with the library
    return &mutex;
}
std::atomic<State*> g_state{nullptr};

/// Per-endpoint validation with the two option calls of libfabric (net contract 4.9).
ofi::EndpointHook endpoint_hook(const InitContext& context, const ofi::DeviceInfo& device) {
    EndpointCheck check;
    check.is_efa = device.provider == ofi::efa_name();
    check.fi_version = context.fi_version;
    check.protocol = context.protocol.kind;
    check.gdr_required = context.platform.gdr_required;
    check.gdr = memory::GdrState::unsupported;
    check.skip_gdr_check = context.effective.disable_gdr_required_check;
    check.skip_native_write_check = context.effective.disable_native_rdma_check;
    return [check, product = context.platform.product_name](fid_ep* ep) -> Status {
        EndpointCheck named = check;
        named.product_name = product;
        EndpointOptions options;
        options.get = [ep](int option, void* value, std::size_t* bytes) {
            return fi_getopt(&ep->fid, FI_OPT_ENDPOINT, option, value, bytes);
        };
        options.set = [ep](int option, const void* value, std::size_t bytes) {
            return fi_setopt(&ep->fid, FI_OPT_ENDPOINT, option, value, bytes);
        };
        const auto limits = check_endpoint(named, options);
        if (!limits) return tl::unexpected(limits.error());
        return {};
    };
}

void log_rails(const InitContext& context, const ofi::RailInfos& rails) {
    if (rails.size() < 2) return;
    std::string nics;
    for (const ofi::DeviceInfo* rail : rails) nics += (nics.empty() ? "" : ", ") + rail->domain_name;
    const std::string& name = rails.front()->name;
    log::info(log::init | log::net, messages::kRails, name, rails.size(), nics, ofi::speed_of(rails));
    if (!context.settings.nccl_topo_file.empty() && rails[0]->pci && rails[1] != rails[0])
        log::info(log::init | log::net, messages::kTopologyNotSet, name, ofi::speed_of(rails));
}

class Steps : public InitSteps {
  public:
    explicit Steps(TableFamily family) : neuron_(family == TableFamily::neuron) {}
    Result<Settings> load_settings() override { return duofi::load_settings(); }
    std::uint32_t fi_version() override { return ::fi_version(); }
    std::string libfabric_file() override { return library_file(reinterpret_cast<const void*>(&::fi_getinfo)); }
    std::string dmi_product_name() override { return topology::read_product_name(); }
    std::string_view efa_provider_name() override { return ofi::efa_name(); }

    std::span<const ProtocolCandidate> protocols(const InitContext& context) override {
        return built_protocols(!context.prefer_sendrecv && ofi::writes_planned(context.effective, context.platform));
    }

    Result<DiscoverySummary> discover(const InitContext& context) override {
        state_ = std::make_unique<State>();
        state_->context.effective = context.effective;
        // Callers of that family register what they use, once (net contract 7).
        if (neuron_ && !environment_value("OFI_NCCL_MR_CACHE_DISABLE")) state_->context.effective.mr_cache_disable = true;
        const ofi::Requirements needs = context.protocol.kind == ProtocolKind::rdma
                                            ? ofi::written_requirements(context.effective)
                                            : ofi::tagged_requirements(context.effective);
        DUOFI_ASSIGN(state_->list, ofi::discover(context.settings, needs, context.platform));
        rules_ = {context.protocol.kind == ProtocolKind::rdma, !neuron_, context.platform.aws, [this] { return tree(); }};
        DUOFI_ASSIGN(state_->groups, ofi::rail_groups(state_->list, context.effective, rules_));
        for (const ofi::RailInfos& rails : state_->groups) log_rails(context, rails);
        DiscoverySummary summary;
        summary.provider = state_->list.provider;
        for (const ofi::RailInfos& rails : state_->groups) summary.device_names.push_back(rails.front()->name);
        return summary;
    }

    Status create_plugin(const InitContext& context) override {
        PropertyPolicy policy;
        policy.latency_us = context.platform.latency_us;
        policy.domain_per_thread = context.platform.domain_per_thread;
        policy.max_comms = ofi::most_comms(rules_.written);
        policy.tells_origins = neuron_;
        for (const ofi::RailInfos& rails : state_->groups) {
            const DeviceProperties properties = make_properties(facts_of(rails), policy);
            state_->devices.emplace_back(rails, state_->context.effective, properties, context.platform.domain_per_thread,
                                         endpoint_hook(context, *rails.front()), neuron_ && properties.rma_supported,
                                         context.protocol.kind);
        }
        return {};
    }

    Result<SelfTestReport> self_test() override {
        Device* device = state_->get_device(0);
        if (device == nullptr) return fail(Errc::no_data, "self-test", 61);
        DUOFI_ASSIGN(Endpoint * endpoint, device->get_endpoint());
        const DeviceProperties& properties = device->properties();
        SelfTestReport report;
        report.reg_is_global = properties.reg_is_global;
        report.dmabuf_supported = properties.dmabuf_supported;
        report.gdr = properties.hmem_supported ? memory::GdrState::supported : memory::GdrState::unsupported;
        if (neuron_) {
            const std::size_t inline_limit = static_cast<FabricEndpoint*>(endpoint)->ofi().inject_limit();
            for (FabricDevice& each : state_->devices) each.limit_write_inline(inline_limit);
        }
        Status written;
        if (state_->devices.front().protocol() == ProtocolKind::rdma)
            written = probe_writes(*static_cast<FabricEndpoint*>(endpoint));
        endpoint->release();
        if (!written) return tl::unexpected(written.error());
        return report;
    }

    std::string topology_file(const InitContext& context) override {
        return context.settings.nccl_topo_file.empty() ? ofi::publish_topology(state_->groups, rules_) : std::string();
    }
    void discard() noexcept override { state_.reset(); }
    [[nodiscard]] std::unique_ptr<State> take() { return std::move(state_); }

  private:
    /// Loaded once for all who ask during init.
    Result<topology::IoTree> tree() {
        if (!tree_) {
            DUOFI_ASSIGN(tree_, ofi::machine_tree());
        }
        return *tree_;
    }

    bool neuron_;
    ofi::RailRules rules_;
    std::optional<topology::IoTree> tree_;
    std::unique_ptr<State> state_;
};

/// What fini has ended and callers may still hold comms or registrations of. Guarded by the init mutex; freed by the
/// next init, or when the library is unloaded.
std::vector<std::unique_ptr<State>>* g_ended = nullptr;
std::atomic<const ForkMark*> g_mark{nullptr};  // of the plugin that was initialised last

bool nothing_held() { return open_comms() == 0 && caller_memory().memory_handles.in_use() == 0; }

void forget_ended() noexcept {
    delete g_ended;
    g_ended = nullptr;
}

}  // namespace

ncclResult_t init(ncclDebugLogger_t logger, int table_version, TableFamily family) {
    const std::scoped_lock lock(*init_mutex());
    abi::adopt_host_logger(logger);
    if (g_state.load(std::memory_order_relaxed) != nullptr) return ncclSuccess;
    Steps steps(family);
    InitContext context;
    context.table_version = table_version;
    context.prefer_sendrecv = family == TableFamily::neuron && table_version == 4;
    const Status status = run_init(steps, context);
    if (!status) {
        if (family == TableFamily::neuron) log::info(log::init | log::net, messages::kNeuronInitFailed);
        return abi::result_of(status.error());
    }
    abi::set_abort_on_error(context.settings.abort_on_error);
    ofi::settle_writes(context.protocol.kind == ProtocolKind::rdma);
    std::unique_ptr<State> state = steps.take();
    set_connect_timeout(static_cast<Nanoseconds>(context.settings.connect_timeout_s * kSecond));
    set_handle_provider(ofi::provider_mark(ofi::wire_name(state->list.provider, fi_version())));
    g_mark.store(&state->fork_mark, std::memory_order_release);
    set_plugin(state.get());
    g_state.store(state.release(), std::memory_order_release);
    if (nothing_held()) forget_ended();
    return ncclSuccess;
}

ncclResult_t fini() {
    const std::scoped_lock lock(*init_mutex());
    State* state = g_state.load(std::memory_order_relaxed);
    if (state == nullptr) {
        log::warn(log::init | log::net, messages::kFiniNotInitialized);
        return ncclSystemError;
    }
    if (in_forked_child()) {
        log::warn(log::net, messages::kForkedChild, "fini");
        return ncclInternalError;
    }
    if (g_ended == nullptr) g_ended = new std::vector<std::unique_ptr<State>>;
    g_ended->reserve(g_ended->size() + 1);
    end_plugin();
    g_state.store(nullptr, std::memory_order_release);
    g_ended->emplace_back(state);
    end_attempts();
    return ncclSuccess;
}

std::string_view provider_name() noexcept {
    const State* state = g_state.load(std::memory_order_acquire);
    return state != nullptr ? std::string_view(state->list.provider) : std::string_view();
}

bool in_forked_child() noexcept {
    const ForkMark* mark = g_mark.load(std::memory_order_acquire);
    return mark != nullptr && mark->in_child();
}

namespace {

// Runs at dlclose and at exit. Touches no libfabric object. With comms open it frees nothing: at exit other threads
// may still be in a call, and a caller that unloads under its own comms has lost them anyway; but the service
// thread must not run in code that goes away.
[[gnu::destructor]] void unload() {
    State* state = g_state.load(std::memory_order_acquire);
    if ((state == nullptr && g_ended == nullptr) || in_forked_child()) return;
    if (open_comms() != 0) {
        ofi::service_abandon();
        return;
    }
    if (!init_mutex()->try_lock()) return;
    set_plugin(nullptr);
    g_state.store(nullptr, std::memory_order_release);
    g_mark.store(nullptr, std::memory_order_relaxed);
    delete state;
    forget_ended();
    drop_caller_memory();
    abi::release_host_logger();
    init_mutex()->unlock();
}

}  // namespace

}  // namespace duofi::net
