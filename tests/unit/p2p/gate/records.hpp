// Ranks of made-up machines for the gate's tests.
#pragma once

#include <memory>
#include <vector>

#include "p2p/gate/can_connect.hpp"
#include "p2p/gate/neuron_torus.hpp"

namespace duofi::p2p::test {

/// One rank on each device of a machine, each a process of its own, all on one host; ranks follow the
/// order of the devices.
[[nodiscard]] std::vector<ncclPeerInfo> one_rank_each(const TopoModel& machine);

/// The gate between those ranks. Access is what the machine's oracle says; relays are on offer.
[[nodiscard]] ncclTopoSystem gate_on(const TopoModel& machine, std::vector<ncclPeerInfo>& ranks,
                                     NeuronReach reach = NeuronReach::adjacent);

}  // namespace duofi::p2p::test
