#include "p2p/caller_setting.hpp"
#include "p2p/gate/system.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "common/util/log.hpp"
#include "common/util/messages/p2p.hpp"
#include "common/util/messages/p2p_gate.hpp"
#include "common/util/parse.hpp"
#include "p2p/gate/matrix.hpp"
#include "p2p/gate/nccl_xml.hpp"
#include "p2p/log_subsystems.hpp"
#include "p2p/runtime/runtime.hpp"
#include "p2p/runtime/sim.hpp"

namespace duofi::p2p {
namespace {

/// Ranks of one server whose matrix is still worth a log.
constexpr std::size_t kMostLoggedRanks = 64;

std::int64_t number_of(const char* name, const std::string& text, std::int64_t low,
                       std::int64_t high, std::int64_t otherwise) {
    return caller_setting(name, text, parse_integer(text, low, high), otherwise);
}

/// G6 by the runtime; devices that this process does not see are taken to be reachable.
Result<bool> ask_runtime(const ncclPeerInfo& low, const ncclPeerInfo& high) {
    const RuntimeTable* table = runtime::installed();
    int first = -1;
    int second = -1;
    if (table->device_by_pci_bus_id(low.busId, &first) != kRuntimeOk ||
        table->device_by_pci_bus_id(high.busId, &second) != kRuntimeOk)
        return true;
    return runtime::can_access_peer(first, second);
}

bool is_accelerator_runtime(std::string_view runtime) {
    return runtime == "cuda" || runtime == "hip";
}

/// Made by the net plugin of this package for NCCL: it holds network cards only.
bool made_by_us(const std::string& path) {
    std::error_code error;
    return std::filesystem::read_symlink(path, error).native().find("memfd:duofi_topo") != std::string::npos;
}

Status choose_machine(std::string_view runtime, const Settings& settings, ncclTopoSystem& topo) {
    if (runtime == "sim") {
        topo.machine = sim_machine();
    } else if (is_accelerator_runtime(runtime) && !settings.nccl_topo_file.empty() &&
               !made_by_us(settings.nccl_topo_file)) {
        DUOFI_ASSIGN(TopoModel model, load_model("NCCL_TOPO_FILE", settings.nccl_topo_file));
        topo.machine = std::make_shared<const TopoModel>(std::move(model));
    } else if (is_accelerator_runtime(runtime)) {
        topo.machine = std::make_shared<const TopoModel>(model_of_this_machine(Accelerators::all));
    }
    return {};
}

void choose_level(std::string_view runtime, const Settings& settings, ncclTopoSystem& topo) {
    const LevelRule rule =
        is_accelerator_runtime(runtime) ? LevelRule::accelerator : LevelRule::shared_memory;
    const TopoModel* machine = topo.machine.get();
    topo.level = default_level(
        rule, machine != nullptr ? machine->cpu_vendor : "",
        machine != nullptr ? static_cast<int>(machine->of_kind(NodeKind::device).size()) : 0);
    if (settings.nccl_p2p_level.empty()) return;
    const auto level = parse_level(settings.nccl_p2p_level);
    if (!level) {
        log::warn(NCCL_ENV, messages::kTopologyLevelBad, settings.nccl_p2p_level, accepted_levels());
        return;
    }
    log::info(NCCL_ENV, messages::kP2pSetByEnvironment, "NCCL_P2P_LEVEL", to_string(*level));
    topo.level = *level;
    topo.level_set = true;
}

void dump(const std::string& path, const TopoModel& machine) {
    std::ofstream file(path);
    file << nccl_xml_of(machine) << std::flush;
    if (file)
        log::info(kSetupLog, messages::kTopologyDumped, path);
    else
        log::warn(kSetupLog, messages::kTopologyDumpFailed, path, std::strerror(errno));
}

void log_matrix(std::span<const ncclPeerInfo> ranks, const ncclPeerInfo& me,
                const ncclTopoSystem& topo) {
    std::vector<ncclPeerInfo> here;
    for (const ncclPeerInfo& rank : ranks)
        if (rank.hostHash == me.hostHash) here.push_back(rank);
    if (here.size() < 2 || here.size() > kMostLoggedRanks || !log::enabled(log::Level::info)) return;
    std::istringstream lines(matrix_text(make_matrix(topo, here), false));
    for (std::string line; std::getline(lines, line);)
        log::info(kSetupLog, messages::kTopologyMatrix, line);
}

}  // namespace

Status describe_system(std::string_view runtime, bool relay, const Settings& settings,
                       ncclTopoSystem& topo) {
    topo.disabled = number_of("NCCL_P2P_DISABLE", settings.nccl_p2p_disable, 0, 1, 0) == 1;
    topo.nvb = number_of("NCCL_NVB_DISABLE", settings.nccl_nvb_disable, 0, 1, 0) == 0;
    topo.direct = number_of("NCCL_P2P_DIRECT_DISABLE", settings.nccl_p2p_direct_disable, 0, 1, 0) == 0;
    topo.net_inside = number_of("NCCL_NET_DISABLE_INTRA", settings.nccl_net_disable_intra, 0, 1, 0) == 0;
    topo.read_override = static_cast<int>(
        number_of("NCCL_P2P_READ_ENABLE", settings.nccl_p2p_read_enable, -2, 1, -2));
    topo.unified = runtime::has(kUnified);
    topo.plain_formula = topo.unified;
    topo.relay = relay;
    topo.pods = settings.p2p_pods;
    topo.prefer_net = settings.p2p_prefer_net;
    topo.access = ask_runtime;
    DUOFI_TRY(choose_machine(runtime, settings, topo));
    choose_level(runtime, settings, topo);
    return {};
}

bool may_need_relays(const ncclTopoSystem& topo) {
    if (topo.path) return true;
    return topo.machine != nullptr && topo.machine->has_fast_links() && topo.nvb &&
           !topo.plain_formula;
}

void place_ranks(std::span<const ncclPeerInfo> ranks, int rank, const Settings& settings,
                 ncclTopoSystem& topo) {
    if (topo.path) return;
    topo.placement = std::make_shared<const Placement>(topo.machine, ranks, topo.nvb);
    const ncclPeerInfo& me = ranks[static_cast<std::size_t>(rank)];
    const TopoModel* machine = topo.placement->machine_of(me);
    if (rank != 0 || machine == nullptr) return;
    log_matrix(ranks, me, topo);
    if (!settings.nccl_topo_dump_file.empty()) dump(settings.nccl_topo_dump_file, *machine);
}

}  // namespace duofi::p2p
