// Table of the runtime "sim": host or unified underneath, with the devices and faults of a plan (p2p contract 2.2). For
// tests and experiments.
#pragma once

#include <memory>
#include <optional>

#include "p2p/runtime/runtime_table.hpp"
#include "p2p/runtime/sim_plan.hpp"

namespace duofi::p2p {

extern const RuntimeTable sim_runtime;

/// Replaces what DUOFI_P2P_SIM says, from the next init on; nullopt: the variable counts again. Not while the runtime
/// is in use.
void set_sim_plan(std::optional<SimPlan> plan);
/// New faults for a running sim; counting starts anew. Any thread.
void set_sim_faults(std::vector<SimFault> faults);
/// The machine of the plan in force; NULL when it names none. From init to finalize.
[[nodiscard]] std::shared_ptr<const TopoModel> sim_machine();
/// Calls of a slot since counting began. Any thread.
[[nodiscard]] std::uint64_t sim_calls(SimSlot slot);

}  // namespace duofi::p2p
