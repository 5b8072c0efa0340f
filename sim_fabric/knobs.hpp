// How the simulated fabric behaves: read once when the provider is loaded, from DUOFISIM_<KNOB> variables and the file
// that DUOFISIM_CONFIG names; a variable wins. See docs/simulated-fabric.md. Constant afterwards, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim_fabric/faults.hpp"
#include "sim_fabric/personality.hpp"

namespace duofi::sim {

/// One NIC of every process that loads the provider.
struct Nic {
    std::uint16_t pci_domain = 0;
    std::uint8_t pci_bus = 0, pci_device = 0, pci_function = 0;
    double gbps = 0;                  ///< link speed, shown; modelled when Knobs::model_speed
    std::optional<double> latency_us; ///< of this NIC, instead of Knobs::latency_us
};

inline constexpr std::size_t kMostNics = 64;

struct Knobs {
    const Personality* personality = nullptr;
    bool exact_name = false;       ///< the provider's bare name, for tests of gates
    std::vector<Nic> nics;         ///< 1 to kMostNics
    std::uint64_t seed = 1;
    double latency_us = 0;         ///< one way
    bool model_speed = false;      ///< messages take the time that the link needs for their bytes
    double reorder_us = 0;         ///< largest extra delay of what no order protects
    unsigned again_permille = 0;   ///< posts that are refused with -FI_EAGAIN
    std::size_t credits = 0;       ///< operations in flight to one peer; 0 = depth of the queue
    std::vector<FaultRule> faults; ///< calls and completions that fail
    std::uint64_t freeze_after = 0, freeze_ms = 0;  ///< an endpoint stops for a while after so many packets
    std::uint64_t die_after = 0;   ///< an endpoint is dead after so many packets
    std::uint64_t cut_after = 0;   ///< nothing arrives any more after so many packets
    std::uint64_t late_ms = 0;     ///< operations under way complete so long after the close of their endpoint
    bool no_length = false, no_source = false;  ///< completions without them
    std::uint64_t duplicate_at = 0, corrupt_at = 0;  ///< mutants: the n-th packet that arrives
    bool emulated_write = false;   ///< what efa's endpoint option tells
    bool device_memory = false;    ///< FI_HMEM is offered
    bool application_keys = false; ///< only entries without FI_MR_PROV_KEY
    bool writes_data = false;      ///< fi_writedata also where it must be switched on
    bool manual = false;           ///< nothing moves but in calls on the endpoint's queue
    std::string report;            ///< file for the number of calls of each kind, appended at the end
    std::string given;             ///< " seed=7 latency=10us": all that were set, for the line that is printed
};

/// Value of a variable, nothing when it is not set.
using Lookup = std::function<std::optional<std::string>(const std::string&)>;

/// Knobs from variables. `complaints` gets one line per value that is not understood (the default stays).
[[nodiscard]] Knobs read_knobs(const Lookup& environment, std::vector<std::string>& complaints);

/// Those of this process.
[[nodiscard]] const Knobs& knobs() noexcept;
void set_knobs(Knobs knobs);
/// The library is unloaded: nothing of it is used any more.
void forget_knobs() noexcept;

}  // namespace duofi::sim
