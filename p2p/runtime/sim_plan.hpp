// What the runtime "sim" pretends: devices, pairs that cannot reach each other, slow copies, calls that fail. Text form
// (DUOFI_P2P_SIM): "base=host;devices=4;far=0-3,1-2;latency_us=5;fail=malloc:2,ipc_open:1:2".
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "common/util/clock.hpp"
#include "common/util/error.hpp"

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

struct SimPlan {
    bool unified = false;  ///< memory of the runtime unified instead of host
    int devices = 0;       ///< 0: those of the base
    std::vector<std::pair<int, int>> far;  ///< pairs of devices without access, either way round
    Nanoseconds copy_latency = 0;
    std::vector<SimFault> faults;
};

/// Errors: invalid_argument.
[[nodiscard]] Result<SimPlan> parse_sim_plan(std::string_view text);

}  // namespace duofi::p2p
