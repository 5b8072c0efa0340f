#include "rma_plugin/instance.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "common/abi/host_log.hpp"
#include "common/ofi/discovery.hpp"
#include "common/ofi/errors.hpp"
#include "common/ofi/rail_groups.hpp"
#include "common/ofi/service_thread.hpp"
#include "common/util/library_file.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/rma.hpp"
#include "common/util/version.hpp"
#include "rma_plugin/adoption.hpp"
#include "rma_plugin/group.hpp"
#include "rma_plugin/listen_comm.hpp"

namespace duofi::rma {

namespace {

constexpr unsigned long kWhere = log::init | log::net;

Mutex* init_mutex() {
    static Mutex mutex;  // trivially left behind at exit, gone with the library
    return &mutex;
}
std::atomic<Process*> g_process{nullptr};
std::atomic<std::size_t> g_instances{0};
EndpointPool* g_pool = nullptr;

// The endpoint itself is opened without that: it is asked for single operations only.
bool confirms_writes(const ofi::DeviceInfo& device, ofi::Requirements needs, std::uint32_t libfabric_version) {
    needs.tx_op_flags = FI_DELIVERY_COMPLETE;
    return ofi::quirk_for(device.provider, libfabric_version).confirms_writes && ofi::info_for(device, needs).has_value();
}

// Every device with one-sided operations granted. One that cannot makes all unusable: the lists must stay equal.
Status grant_one_sided(Process& made) {
    const ofi::Requirements needs = ofi::one_sided_requirements(made.settings);
    for (const ofi::DeviceInfo& device : made.list.devices) {
        auto info = ofi::info_for(device, needs);
        if (!info) {
            log::info(kWhere, messages::kRmaUnsupported, device.name, device.provider);
            return tl::unexpected(info.error());
        }
        ofi::DeviceInfo& granted = made.one_sided.emplace_back(device);
        granted.info = std::shared_ptr<fi_info>(info->release(), fi_freeinfo);
        granted.caps = granted.info->caps;
        granted.confirms_writes = confirms_writes(device, needs, made.list.libfabric_version);
        granted.max_msg_size = granted.info->ep_attr->max_msg_size;
    }
    return {};
}

// What the net tables show as one device is one here, under the name of its first NIC and as fast: callers merge the lists by
// name (L-20). Puts and gets use that NIC.
Status group_devices(Process& made, const topology::Platform& platform) {
    ofi::RailRules rules;
    const std::optional<bool> settled = ofi::settled_writes();
    rules.written = settled ? *settled : ofi::writes_planned(made.settings, platform);
    made.reported = {static_cast<float>(platform.latency_us), ofi::most_comms(rules.written)};
    ofi::show_writes(rules.written);
    if (!rules.written) return {};
    rules.sort_by_function = platform.aws;
    rules.tree = ofi::machine_tree;
    DUOFI_ASSIGN(const auto groups, ofi::rail_groups(made.list, made.settings, rules));
    std::vector<ofi::DeviceInfo> leaders;
    for (const ofi::RailInfos& rails : groups) {
        leaders.push_back(*rails.front());
        leaders.back().speed_mbps = ofi::speed_of(rails);
    }
    made.list.devices = std::move(leaders);
    return {};
}

// Lock held.
Result<Process*> prepare_locked() {
    if (Process* known = g_process.load(std::memory_order_relaxed)) return known;
    auto made = std::make_unique<Process>();
    DUOFI_ASSIGN(made->settings, load_settings());
    const std::string reason =
        why_declined(made->settings, library_file(reinterpret_cast<const void*>(&prepare_process)));
    if (!reason.empty()) {
        log::info(kWhere, messages::kRmaDeclined, reason);
        return fail(Errc::no_data, "adoption");
    }
    const topology::Platform platform = topology::pick_platform(made->settings, topology::read_product_name());
    DUOFI_ASSIGN(made->list, ofi::discover(made->settings, ofi::tagged_requirements(made->settings), platform));
    made->settings = topology::effective_settings(made->settings, platform, ofi::efa_name());
    DUOFI_TRY(group_devices(*made, platform));
    DUOFI_TRY(grant_one_sided(*made));
    if (g_pool == nullptr) g_pool = new EndpointPool;
    g_process.store(made.release(), std::memory_order_release);
    return g_process.load(std::memory_order_relaxed);
}

void announce(const Process& ready, int table_version) {
    const std::uint32_t version = ready.list.libfabric_version;
    log::info(kWhere, messages::kRmaReady, kPackageName, kVersion, table_version, ready.list.provider,
              ready.list.devices.size(), ready.settings.rma_completion, "ordered", version >> 16,
              version & 0xffff);
}

}  // namespace

Process* process() noexcept { return g_process.load(std::memory_order_acquire); }

Result<Process*> prepare_process() {
    const std::scoped_lock lock(*init_mutex());
    return prepare_locked();
}

EndpointPool& endpoint_pool() { return *g_pool; }

bool in_forked_child() noexcept {
    const Process* known = g_process.load(std::memory_order_acquire);
    return known != nullptr && known->fork_mark.in_child();
}

Result<std::shared_ptr<ofi::Endpoint>> EndpointPool::get(const ofi::DeviceInfo& device, const Settings& settings,
                                                         const Instance* user) {
    constexpr std::uint64_t kAccess = FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
    const bool shared = device.endpoint_cost == ofi::EndpointCost::expensive ||
                        ofi::quirk_for(device.provider, fi_version()).same_node_only;
    const std::scoped_lock lock(mutex_);
    std::erase_if(endpoints_, [](const auto& entry) { return entry.second.expired(); });
    auto& known = endpoints_[{&device, shared ? nullptr : user}];
    if (auto endpoint = known.lock()) return endpoint;
    DUOFI_ASSIGN(auto domain, ofi::Domain::open(device, settings, kAccess));
    DUOFI_ASSIGN(auto endpoint, ofi::Endpoint::open(std::move(domain), {}, true));
    known = endpoint;
    return endpoint;
}

Result<Instance*> open_instance(ncclDebugLogger_t logger, int table_version) {
    const std::scoped_lock lock(*init_mutex());
    abi::adopt_host_logger(logger);
    DUOFI_ASSIGN(Process * ready, prepare_locked());
    auto made = std::make_unique<Instance>();
    made->handle = open_object(*made);
    if (++g_instances == 1) announce(*ready, table_version);
    return made.release();
}

void close_instance(Instance& instance) {
    instance.end_all();
    end_object(*instance.handle);
    delete &instance;
    --g_instances;
}

void Instance::add(ListenComm& comm) {
    const std::scoped_lock lock(mutex_);
    listeners_.push_back(&comm);
}
void Instance::add(Group& group) {
    const std::scoped_lock lock(mutex_);
    groups_.push_back(&group);
}
void Instance::remove(ListenComm& comm) {
    const std::scoped_lock lock(mutex_);
    std::erase(listeners_, &comm);
}
void Instance::remove(Group& group) {
    const std::scoped_lock lock(mutex_);
    std::erase(groups_, &group);
}

void Instance::end_all() {
    std::vector<ListenComm*> listeners;
    std::vector<Group*> groups;
    {
        const std::scoped_lock lock(mutex_);
        listeners.swap(listeners_);
        groups.swap(groups_);
    }
    for (Group* group : groups) {
        end_object(*group->handle);
        delete group;
    }
    for (ListenComm* listener : listeners) {
        end_object(*listener->handle);
        delete listener;
    }
}

namespace {

// Runs at dlclose and at exit; touches no libfabric object. With instances left open it frees nothing: at exit other
// threads may still be in a call. The service thread must not run in code that goes away.
[[gnu::destructor]] void unload() {
    Process* known = g_process.load(std::memory_order_acquire);
    if (known == nullptr || known->fork_mark.in_child()) return;
    if (open_objects() != 0) {
        ofi::service_abandon();
        return;
    }
    if (!init_mutex()->try_lock()) return;
    g_process.store(nullptr, std::memory_order_release);
    delete g_pool;
    g_pool = nullptr;
    delete known;
    drop_caller_objects();
    abi::release_host_logger();
    init_mutex()->unlock();
}

}  // namespace

}  // namespace duofi::rma
