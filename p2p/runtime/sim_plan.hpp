// What the runtime "sim" pretends: devices, pairs that cannot reach each other, slow copies, calls that fail. Text form
// (DUOFI_P2P_SIM): "base=host;devices=4;far=0-3,1-2;latency_us=5;fail=malloc:2,ipc_open:1:2", or with a whole machine
// "topo=trn1:16;reach=instance;pod=p2p:7:0:4", "topo=machine.xml".
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/util/clock.hpp"
#include "common/util/error.hpp"
#include "p2p/gate/neuron_torus.hpp"
#include "p2p/gate/pods.hpp"

namespace duofi::p2p {

/// Slots that can be told to fail.
enum class SimSlot {
    init,
    malloc,
    free,
    reserve,
    ipc_get,
    ipc_open,
    ipc_close,
    memcpy,
    can_access_peer,
    enable_peer_access,
    remote_alloc,
    remote_free,
};
inline constexpr std::array<std::string_view, 12> kSimSlotNames{
    "init",   "malloc",          "free",               "reserve",      "ipc_get",    "ipc_open", "ipc_close",
    "memcpy", "can_access_peer", "enable_peer_access", "remote_alloc", "remote_free"};

struct SimFault {
    SimSlot slot = SimSlot::malloc;
    std::uint64_t call = 1;  ///< counted over the process from the start of the plan, from 1; 0: every call
    int code = static_cast<int>(Errc::system);
    friend bool operator==(const SimFault&, const SimFault&) = default;
};

/// Of all devices: "pod=p2p:ID:NODE:SIZE" or "pod=switch:ID:NODE".
struct SimPod {
    PodType type = PodType::none;
    std::uint64_t id = 0;
    int node = -1;
    int size = 0;
};

struct SimPlan {
    bool unified = false;  ///< memory of the runtime unified instead of host
    int devices = 0;       ///< 0: those of the base, or of the topology
    std::string topology;  ///< "trn1:16" and the like, or path of an XML file; "": none
    std::shared_ptr<const TopoModel> machine;  ///< ready-made, instead of `topology`
    NeuronReach reach = NeuronReach::adjacent;
    SimPod pod;
    int virtual_server = 0;
    std::vector<std::pair<int, int>> far;  ///< pairs of devices without access, either way round
    Nanoseconds copy_latency = 0;
    std::vector<SimFault> faults;
};

/// The machine that a plan's `topology` names. Errors: invalid_argument, after one line.
[[nodiscard]] Result<TopoModel> sim_topology(const SimPlan& plan);

/// Errors: invalid_argument.
[[nodiscard]] Result<SimPlan> parse_sim_plan(std::string_view text);

}  // namespace duofi::p2p
