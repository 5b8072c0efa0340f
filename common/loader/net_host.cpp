#include "common/loader/net_host.hpp"

#include <fmt/core.h>

#include <array>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "common/abi/net_neuron.h"
#include "common/loader/library.hpp"
#include "common/loader/net_table.hpp"
#include "common/util/messages/loader.hpp"

namespace duofi::loader {
namespace {

constexpr unsigned long kInitNet = NCCL_INIT | NCCL_NET;

/// State of one entry, in the callers' order.
enum class Stage { disabled, load_failed, load_ready, init_ready, enabled };

struct Entry {
    Candidate candidate;
    Stage stage = Stage::load_ready;
    int count = 0;
    int devices = 0;
    std::optional<LoadedTable> loaded;

    [[nodiscard]] NetTable table() const { return {loaded->table, loaded->version}; }
};

}  // namespace

/// Everything behind the mutex.
struct NetHost::State {
    NetRequest request;
    ncclDebugLogger_t logger;
    HostLog log;
    HostPolicy policy;
    mutable std::mutex mutex;
    bool listed = false;
    std::vector<Entry> entries;
    std::array<int, 13> wrapper_inits{};  // by table version, v10 and older under 2.28 and later
    Counts counts;
    std::optional<NetPlugin> nccom;
    int nccom_devices = 0;

    void info(unsigned long subsystems, const std::string& text) const {
        say(log, NCCL_LOG_INFO, subsystems, text);
    }

    [[nodiscard]] bool reports_life_cycle() const { return policy.wording >= Wording::r2_27; }

    void build_list() {
        if (std::exchange(listed, true)) return;
        CandidateList list =
            candidates(Flavour::net, request.host, request.release, request.plugin);
        for (const HostLine& line : list.lines) say(log, line.level, line.subsystems, line.text);
        const bool fixed = policy.initial_count == kNeverUnload;
        for (Candidate& candidate : list.entries) {
            Entry entry;
            entry.candidate = std::move(candidate);
            entry.count = fixed ? kNeverUnload : request.ref_count.value_or(policy.initial_count);
            entries.push_back(std::move(entry));
        }
    }

    void load(Entry& entry) {
        entry.loaded = load_net(entry.candidate, request.host, request.release, log);
        entry.stage = entry.loaded ? Stage::init_ready : Stage::load_failed;
        if (entry.loaded) ++counts.loads;
    }

    ncclResult_t call_init(const Entry& entry, std::uint64_t comm_id, void** context) {
        const NetTable table = entry.table();
        if (!policy.init_per_comm || table.has_context()) {
            ++counts.inits;
            return table.init(context, comm_id, logger);
        }
        int& inits = wrapper_inits[static_cast<std::size_t>(entry.loaded->version)];
        if (inits != 0) {
            ++inits;
            return ncclSuccess;
        }
        if (policy.count_before_init) ++inits;
        ++counts.inits;
        const ncclResult_t result = table.init(context, comm_id, logger);
        if (result == ncclSuccess && !policy.count_before_init) ++inits;
        return result;
    }

    void call_finalize(const Entry& entry, void* context) {
        const NetTable table = entry.table();
        if (!policy.init_per_comm) return;
        if (!table.has_context()) {
            --wrapper_inits[static_cast<std::size_t>(entry.loaded->version)];
            return;
        }
        ++counts.finalizes;
        static_cast<void>(table.finalize(context));
    }

    void init(Entry& entry, std::uint64_t comm_id, void** context) {
        const bool first = entry.stage == Stage::init_ready;
        bool done = false;
        bool good = true;
        if (first || policy.init_per_comm) {
            done = call_init(entry, comm_id, context) == ncclSuccess;
            good = done;
        }
        if (good && (first || policy.devices_per_comm)) {
            int found = 0;
            ++counts.device_calls;
            good = entry.table().devices(&found) == ncclSuccess && found > 0;
            entry.devices = found;
        }
        if (good) {
            entry.stage = Stage::enabled;
            if (reports_life_cycle())
                info(kInitNet, fmt::format(messages::kNetInitialized, entry.loaded->name));
            return;
        }
        if (policy.wording == Wording::r2_28)
            info(kInitNet, fmt::format(messages::kNetInitFailed, entry.loaded->name));
        if (done || policy.finalize_failed_init) call_finalize(entry, *context);
        entry.stage = Stage::disabled;
    }

    [[nodiscard]] bool device_accepted(const Entry& entry) const {
        const NetTable::DeviceType device = entry.table().device_type();
        if (device.result != ncclSuccess) return false;
        if (device.type == NCCL_NET_DEVICE_HOST) return true;
        const auto everything = static_cast<unsigned long>(NCCL_ALL);
        if (device.type != NCCL_NET_DEVICE_UNPACK) {
            say(log, NCCL_LOG_WARN, everything, fmt::format(messages::kUnknownDevice, device.type));
            return false;
        }
        if (device.version == NCCL_NET_DEVICE_UNPACK_VERSION) {
            info(NCCL_INIT, fmt::format(messages::kUnpackDevice, device.version));
            return true;
        }
        say(log, NCCL_LOG_WARN, everything,
            fmt::format(messages::kUnpackVersion, device.version, NCCL_NET_DEVICE_UNPACK_VERSION));
        return false;
    }

    void disable_others(std::size_t chosen) {
        std::string names;
        for (std::size_t i = 0; i < entries.size(); ++i) {
            if (i == chosen) continue;
            names += (names.empty() ? "" : ", ") + entries[i].candidate.entry;
            entries[i].stage = Stage::disabled;
        }
        if (!names.empty() && reports_life_cycle())
            info(kInitNet, fmt::format(messages::kDisablingOthers, names));
    }

    void unload(Entry& entry) {
        if (!entry.loaded || entry.count != 0) return;
        if (policy.generation == Generation::one_name)
            info(NCCL_NET, fmt::format(messages::kClosingNet, entry.loaded->name));
        else
            info(policy.keeps_name ? NCCL_DESTROY | NCCL_NET : kInitNet,
                 fmt::format(messages::kUnloading, entry.candidate.entry));
        entry.loaded.reset();
        ++counts.unloads;
        entry.stage = Stage::load_ready;
        const bool forgets = policy.generation != Generation::one_name && !policy.keeps_name;
        if (!forgets) return;
        // The entry is wiped: it is opened again under the default name.
        entry.candidate =
            candidates(Flavour::net, request.host, request.release, std::nullopt).entries.front();
        entry.candidate.entry.clear();
    }

    void count_down(std::size_t index) {
        if (entries[index].count < kNeverUnload) --entries[index].count;
        if (policy.unloads_all) {
            for (Entry& entry : entries) unload(entry);
        } else {
            unload(entries[index]);
        }
    }

    std::optional<AssignedNet> try_entry(std::size_t index, std::uint64_t comm_id) {
        Entry& entry = entries[index];
        const bool opens = entry.stage == Stage::load_ready;
        if (opens) load(entry);
        if (entry.stage < Stage::init_ready) return std::nullopt;
        const bool named = name_accepted(request.net, entry.loaded->name);
        if (policy.name_before_init && !named) return std::nullopt;
        void* context = nullptr;
        init(entry, comm_id, &context);
        if (entry.stage != Stage::enabled) return std::nullopt;
        if (!named || !device_accepted(entry)) {
            if (policy.name_before_init) {
                call_finalize(entry, context);
                count_down(index);
            }
            return std::nullopt;
        }
        if (entry.count < kNeverUnload) ++entry.count;
        if (reports_life_cycle())
            info(kInitNet, fmt::format(messages::kNetAssigned, entry.loaded->name));
        disable_others(index);
        return describe(entry, index, context, opens);
    }

    static AssignedNet describe(const Entry& entry, std::size_t index, void* context, bool opens) {
        AssignedNet net;
        net.table = entry.loaded->table;
        net.version = entry.loaded->version;
        if (net.version == 6) net.v6 = static_cast<const ncclNet_v6_t*>(net.table);
        net.devices = entry.devices;
        net.name = entry.loaded->name;
        net.context = context;
        net.index = index;
        net.loaded_library = opens;
        return net;
    }

    Result<AssignedNet> attach_nccom() {
        if (!nccom) {
            DUOFI_ASSIGN(NetPlugin plugin, open_net(request, log));
            ++counts.loads;
            ++counts.inits;
            ++counts.device_calls;
            DUOFI_ASSIGN(nccom_devices, bind_fixed_offsets(plugin, logger, log));
            nccom.emplace(std::move(plugin));
        }
        AssignedNet net;
        net.table = nccom->table();
        net.version = nccom->version();
        net.devices = nccom_devices;
        net.name = nccom->name();
        return net;
    }
};

NetHost::NetHost(NetRequest request, ncclDebugLogger_t logger, HostLog log)
    : state_(std::make_unique<State>()) {
    state_->policy = policy_of(request.release);
    state_->request = std::move(request);
    state_->logger = logger;
    state_->log = std::move(log);
}

NetHost::~NetHost() {
    if (!state_->nccom) return;
    const auto* table = static_cast<const ncclNet_neuron_v6_t*>(state_->nccom->table());
    if (table->fini != nullptr) static_cast<void>(table->fini());
}

Result<AssignedNet> NetHost::attach(std::uint64_t comm_id) {
    const std::lock_guard lock(state_->mutex);
    if (state_->request.host == Host::libnccom) return state_->attach_nccom();
    state_->build_list();
    for (std::size_t i = 0; i < state_->entries.size(); ++i)
        if (auto net = state_->try_entry(i, comm_id)) return std::move(*net);
    say_no_network(state_->request, state_->log);
    return fail(Errc::no_data, "attach");
}

void NetHost::release(const AssignedNet& net) {
    const std::lock_guard lock(state_->mutex);
    if (state_->request.host == Host::libnccom || net.index >= state_->entries.size()) return;
    Entry& entry = state_->entries[net.index];
    if (entry.loaded && entry.stage == Stage::enabled) state_->call_finalize(entry, net.context);
    if (state_->policy.only_loader_counts_down && !net.loaded_library) return;
    state_->count_down(net.index);
}

NetHost::Counts NetHost::counts() const {
    const std::lock_guard lock(state_->mutex);
    return state_->counts;
}

}  // namespace duofi::loader
