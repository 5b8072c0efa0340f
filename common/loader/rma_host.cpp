#include "common/loader/rma_host.hpp"

#include <fmt/core.h>

#include <atomic>
#include <charconv>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "common/loader/library.hpp"
#include "common/util/messages/loader.hpp"
#include "common/util/messages/loader_rma.hpp"
#include "common/util/settings.hpp"

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

    [[nodiscard]] RmaTable table() const { return {loaded->table, loaded->version}; }
};

int number_from(const char* variable, int otherwise) {
    const std::optional<std::string> text = environment_value(variable);
    if (!text) return otherwise;
    int value = 0;
    const char* const end = text->data() + text->size();
    const auto [stop, error] = std::from_chars(text->data(), end, value);
    return error == std::errc() && stop == end ? value : otherwise;
}

}  // namespace

RmaHostOptions RmaHostOptions::from_environment() {
    return {number_from("NCCL_RMA_PLUGIN_REF_COUNT", 0), number_from("NCCL_GIN_TYPE", -1)};
}

/// `rma_mutex` guards the entries; `gin_mutex` only keeps the GIN side's calls apart, as in the
/// callers.
struct RmaHost::State {
    RmaRequest request;
    ncclDebugLogger_t logger;
    HostLog log;
    RmaHostOptions options;
    std::mutex rma_mutex;
    std::mutex gin_mutex;
    bool listed = false;
    std::vector<Entry> entries;
    std::atomic<int> loads{0}, unloads{0}, inits{0}, device_calls{0}, finalizes{0};

    void info(unsigned long subsystems, const std::string& text) const {
        say(log, NCCL_LOG_INFO, subsystems, text);
    }

    void build_list() {
        if (std::exchange(listed, true)) return;
        CandidateList list =
            candidates(Flavour::rma, request.host, request.release, request.plugin, request.open);
        for (const HostLine& line : list.lines) say(log, line.level, line.subsystems, line.text);
        for (Candidate& candidate : list.entries) {
            Entry entry;
            const bool named =
                candidate.origin == Origin::environment || candidate.origin == Origin::default_name;
            entry.count = named ? options.ref_count : 0;
            entry.candidate = std::move(candidate);
            entries.push_back(std::move(entry));
        }
    }

    void load(Entry& entry) {
        entry.loaded = load_rma(entry.candidate, request.host, request.release, log);
        entry.stage = entry.loaded ? Stage::init_ready : Stage::load_failed;
        if (entry.loaded) ++loads;
    }

    /// The callers' wrapper of v13 looks at the device type after every init (rma contract 1.3).
    [[nodiscard]] bool init_once(const RmaTable& table, std::uint64_t comm_id, void** instance) {
        ++inits;
        if (table.init(instance, comm_id, logger) != ncclSuccess) return false;
        if (table.version() != 13) return true;
        ncclNetProperties_v12_t properties{};
        if (table.properties(0, &properties) != ncclSuccess) return false;
        if (properties.netDeviceType == NCCL_NET_DEVICE_GIN_PROXY) return true;
        say(log, NCCL_LOG_WARN, static_cast<unsigned long>(NCCL_ALL),
            fmt::format(messages::kRma13NeedsProxy, table.name() ? table.name() : "",
                        static_cast<int>(properties.netDeviceType)));
        return false;
    }

    /// An instance whose entry is then disabled is not finalized: so do the callers.
    [[nodiscard]] bool enable(Entry& entry, std::uint64_t comm_id, void** instance) {
        const bool first = entry.stage == Stage::init_ready;
        bool good = init_once(entry.table(), comm_id, instance);
        if (good && first) {
            int found = 0;
            ++device_calls;
            good = entry.table().devices(&found) == ncclSuccess && found > 0;
            entry.devices = found;
        }
        entry.stage = good ? Stage::enabled : Stage::disabled;
        return good;
    }

    void disable_others(std::size_t chosen) {
        std::string names;
        for (std::size_t i = 0; i < entries.size(); ++i) {
            if (i == chosen || entries[i].stage != Stage::enabled) continue;
            names += (names.empty() ? "" : ", ") + entries[i].candidate.entry;
            entries[i].stage = Stage::disabled;
        }
        if (!names.empty()) info(kInitNet, fmt::format(messages::kRmaDisablingOthers, names));
    }

    std::optional<AssignedRma> try_entry(std::size_t index, std::uint64_t comm_id) {
        Entry& entry = entries[index];
        if (entry.stage == Stage::load_ready) load(entry);
        if (entry.stage < Stage::init_ready) return std::nullopt;
        AssignedRma rma;
        if (!enable(entry, comm_id, &rma.rma_instance)) return std::nullopt;
        ++entry.count;
        info(kInitNet, fmt::format(messages::kRmaAssigned, entry.loaded->name));
        disable_others(index);
        rma.table = entry.table();
        rma.devices = entry.devices;
        rma.name = entry.loaded->name;
        rma.library = entry.loaded->library.real_path();
        rma.index = index;
        return rma;
    }

    /// The second init of the same communicator (L-14). Its failure turns GIN off, nothing else.
    void attach_gin(AssignedRma& rma, std::uint64_t comm_id) {
        const std::lock_guard lock(gin_mutex);
        if (!init_once(rma.table, comm_id, &rma.gin_instance)) {
            rma.gin_instance = nullptr;
            return;
        }
        ncclNetProperties_v12_t properties{};
        const bool known = rma.table.properties(0, &properties) == ncclSuccess;
        rma.gin = known && (options.gin_type == -1 ||
                            options.gin_type == static_cast<int>(properties.netDeviceType));
        if (rma.gin) return;
        finalize(rma.table, std::exchange(rma.gin_instance, nullptr));
    }

    void finalize(const RmaTable& table, void* instance) {
        ++finalizes;
        static_cast<void>(table.finalize(instance));
    }

    void count_down(Entry& entry) {
        if (--entry.count != 0 || !entry.loaded) return;
        info(NCCL_DESTROY | NCCL_NET, fmt::format(messages::kRmaUnloading, entry.candidate.entry));
        entry.loaded.reset();
        ++unloads;
        if (entry.stage == Stage::enabled) entry.stage = Stage::load_ready;
    }
};

RmaHost::RmaHost(RmaRequest request, ncclDebugLogger_t logger, HostLog log, RmaHostOptions options)
    : state_(std::make_unique<State>()) {
    state_->request = std::move(request);
    state_->logger = logger;
    state_->log = std::move(log);
    state_->options = options;
}

RmaHost::~RmaHost() = default;

Result<AssignedRma> RmaHost::attach(std::uint64_t comm_id) {
    std::optional<AssignedRma> rma;
    {
        const std::lock_guard lock(state_->rma_mutex);
        state_->build_list();
        for (std::size_t i = 0; i < state_->entries.size() && !rma; ++i)
            rma = state_->try_entry(i, comm_id);
        if (!rma) {
            state_->info(kInitNet, messages::kRmaNone);
            return fail(Errc::no_data, "attach");
        }
    }
    state_->attach_gin(*rma, comm_id);
    return std::move(*rma);
}

void RmaHost::release(const AssignedRma& rma) {
    if (rma.gin) {
        const std::lock_guard lock(state_->gin_mutex);
        state_->finalize(rma.table, rma.gin_instance);
    }
    const std::lock_guard lock(state_->rma_mutex);
    if (rma.index >= state_->entries.size()) return;
    Entry& entry = state_->entries[rma.index];
    if (entry.stage == Stage::enabled) state_->finalize(rma.table, rma.rma_instance);
    state_->count_down(entry);
}

RmaHost::Counts RmaHost::counts() const {
    return {state_->loads, state_->unloads, state_->inits, state_->device_calls, state_->finalizes};
}

}  // namespace duofi::loader
