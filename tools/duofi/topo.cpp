#include "tools/duofi/topo.hpp"

#include <fmt/core.h>

#include <fstream>
#include <memory>
#include <optional>

#include "common/util/settings.hpp"
#include "p2p/gate/machine_model.hpp"
#include "p2p/gate/matrix.hpp"
#include "p2p/gate/nccl_xml.hpp"
#include "p2p/gate/system.hpp"
#include "p2p/runtime/runtime.hpp"
#include "p2p/runtime/sim.hpp"
#include "p2p/transport/peer_info.hpp"
#include "tools/duofi/net_opening.hpp"
#include "tools/duofi/outcome.hpp"
#include "tools/duofi/report.hpp"

namespace duofi::tool {
namespace {

/// Ranks of one machine, one for each device, and the gate between them.
struct Machine {
    p2p::runtime::Use runtime;
    std::vector<ncclPeerInfo> ranks;
    ncclTopoSystem topo;
};

Outcome<Settings> settings_for(const TopoOptions& options) {
    auto settings = load_settings();
    if (!settings) return failed(describe(settings.error()));
    if (!options.xml.empty()) {
        // Read here, so that a fault is told with the name of the option.
        auto model = p2p::load_model("--xml", options.xml);
        if (!model) return failed("the file cannot be used");
        settings->p2p_runtime = "sim";
        p2p::SimPlan plan;
        plan.machine = std::make_shared<const p2p::TopoModel>(std::move(*model));
        p2p::set_sim_plan(std::move(plan));
    } else if (!options.sim.empty()) {
        settings->p2p_runtime = "sim";
        settings->p2p_sim = options.sim;
    }
    return std::move(*settings);
}

Outcome<void> add_ranks(const TopoOptions& options, const Settings& settings, Machine& machine) {
    const auto count = p2p::runtime::device_count();
    if (!count) return failed(describe(count.error()));
    for (int device = 0; device < *count; ++device) {
        const std::uint64_t salt = options.threads ? 0 : static_cast<std::uint64_t>(device) + 1;
        const auto record = p2p::describe_rank(device, device, settings.nccl_hostid, salt);
        if (!record) return failed(describe(record.error()));
        machine.ranks.push_back(record->info);
    }
    return {};
}

Outcome<Machine> look_at(const TopoOptions& options, const Settings& settings) {
    Machine machine;
    auto use = p2p::runtime::acquire(settings);
    if (!use) return failed(fmt::format("the P2P runtime {} cannot be used: {}", settings.p2p_runtime,
                                        describe(use.error())));
    machine.runtime = std::move(*use);
    const bool relay = p2p::runtime::has(p2p::kRelay) && !settings.p2p_compat;
    if (const auto done =
            p2p::describe_system(machine.runtime.table().name, relay, settings, machine.topo);
        !done)
        return failed(describe(done.error()));
    if (auto done = add_ranks(options, settings, machine); !done) return failed(done.error());
    // Devices that are CPUs sit on this machine; its NICs are worth a column.
    if (machine.topo.machine == nullptr && settings.p2p_runtime != "sim")
        machine.topo.machine =
            std::make_shared<const p2p::TopoModel>(p2p::model_of_this_machine(p2p::Accelerators::none));
    if (!machine.ranks.empty()) p2p::place_ranks(machine.ranks, 0, settings, machine.topo);
    return machine;
}

bool write_file(const std::string& path, const std::string& text) {
    std::ofstream file(path);
    file << text << std::flush;
    if (!file) complain(fmt::format("{} cannot be written", path));
    return static_cast<bool>(file);
}

}  // namespace

int run_topo(const TopoOptions& options) {
    route_logs();
    const auto settings = settings_for(options);
    if (!settings) {
        complain(settings.error());
        return kFailedCheck;
    }
    const auto machine = look_at(options, *settings);
    if (!machine) {
        complain(machine.error());
        return kFailedCheck;
    }
    const p2p::Matrix matrix = p2p::make_matrix(machine->topo, machine->ranks);
    print_result(options.json ? topo_json(matrix) : p2p::matrix_text(matrix, options.reasons));
    bool written = true;
    if (!options.svg_file.empty())
        written = write_file(options.svg_file, p2p::matrix_svg(matrix)) && written;
    if (!options.dump_file.empty() && !machine->ranks.empty())
        written = write_file(options.dump_file,
                             p2p::nccl_xml_of(*machine->topo.placement->machine_of(
                                 machine->ranks.front()))) && written;
    return written ? kOk : kFailedCheck;
}

}  // namespace duofi::tool
