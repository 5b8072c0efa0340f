#include "p2p/runtime/neuron.hpp"

#include "common/memory/neuron_driver.hpp"
#include "p2p/gate/neuron_torus.hpp"
#include "p2p/runtime/device_backend.hpp"

namespace duofi::p2p {
namespace {

// The gate reads what the runtime reports.
static_assert(static_cast<std::uint32_t>(NeuronFamily::trn3_switch) == memory::kNeuronTrn3Switch &&
              static_cast<std::uint32_t>(NeuronFamily::inf2e) == memory::kNeuronInf2e);

constexpr RuntimeTable make_table() noexcept {
    RuntimeTable made = device_backend::table(
        "neuron", [] { return device_backend::start(memory::DeviceKind::neuron); });
    // A pointer of any rank is right in all of them: nothing is handed over.
    made.ipc_open_mem_handle = [](void**, const p2pIpcHandle*, unsigned) -> int {
        return kRuntimeOk;
    };
    made.ipc_get_mem_handle = [](p2pIpcHandle*, void*) -> int { return kRuntimeOk; };
    made.ipc_close_mem_handle = [](void*) -> int { return kRuntimeOk; };
    return made;
}

}  // namespace

constinit const RuntimeTable neuron_runtime = make_table();

}  // namespace duofi::p2p
