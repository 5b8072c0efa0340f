#include "p2p/runtime/sim.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "common/util/log.hpp"
#include "common/util/messages/p2p_gate.hpp"
#include "common/util/messages/p2p_runtime.hpp"
#include "p2p/runtime/devices.hpp"
#include "p2p/runtime/events.hpp"
#include "p2p/runtime/host.hpp"
#include "p2p/runtime/options.hpp"
#include "p2p/runtime/slot_error.hpp"
#include "p2p/runtime/unified.hpp"

namespace duofi::p2p {

namespace {

struct Sim {
    std::mutex mutex;
    std::optional<SimPlan> given;  // by set_sim_plan, instead of the variable
    SimPlan plan;
    std::shared_ptr<const TopoModel> machine;  // of the plan, constant from init to finalize
    std::vector<int> nodes;                    // of the machine's devices, in their order
    std::array<std::uint64_t, kSimSlotNames.size()> calls{};
};
Sim& sim() {
    static Sim instance;
    return instance;
}

// Constant from init to finalize.
const RuntimeTable& base() noexcept { return sim().plan.unified ? unified_runtime : host_runtime; }

int fault_of(SimSlot slot) {
    const std::scoped_lock lock(sim().mutex);
    const std::uint64_t call = ++sim().calls[static_cast<std::size_t>(slot)];
    for (const SimFault& fault : sim().plan.faults)
        if (fault.slot == slot && (fault.call == 0 || fault.call == call))
            return slot_failure(static_cast<Errc>(fault.code), messages::kSimFault);
    return kRuntimeOk;
}

// A slot that fails when told to, and else does what the base does.
template <SimSlot Slot, auto Member, typename T>
struct Faulty;
template <SimSlot Slot, auto Member, typename... Arguments>
struct Faulty<Slot, Member, int (*RuntimeTable::*)(Arguments...)> {
    static int call(Arguments... arguments) {
        if (const int code = fault_of(Slot); code != kRuntimeOk) return code;
        return (base().*Member)(arguments...);
    }
};
template <SimSlot Slot, auto Member>
constexpr auto faulty = &Faulty<Slot, Member, decltype(Member)>::call;

// A slot that only passes on.
template <auto Member, typename T>
struct Passing;
template <auto Member, typename Value, typename... Arguments>
struct Passing<Member, Value (*RuntimeTable::*)(Arguments...)> {
    static Value call(Arguments... arguments) { return (base().*Member)(arguments...); }
};
template <auto Member>
constexpr auto passing = &Passing<Member, decltype(Member)>::call;

/// Devices use memory of the nodes that there are, in turn.
void spread_devices(int count) {
    const std::vector<int> nodes = devices::device_nodes("");
    std::vector<int> spread;
    for (int i = 0; i < count; ++i) spread.push_back(nodes[static_cast<std::size_t>(i) % nodes.size()]);
    devices::set_device_nodes(std::move(spread));
}

/// Errors: a topology that cannot be used, or has no devices or too many.
Status make_machine() {
    sim().machine = nullptr;
    sim().nodes.clear();
    std::shared_ptr<const TopoModel> made = sim().plan.machine;
    if (made == nullptr && !sim().plan.topology.empty()) {
        DUOFI_ASSIGN(TopoModel model, sim_topology(sim().plan));
        made = std::make_shared<const TopoModel>(std::move(model));
    }
    if (made == nullptr) return {};
    sim().nodes = made->devices();
    if (sim().nodes.empty() || sim().nodes.size() > devices::kMostDevices)
        return fail(Errc::invalid_argument, messages::kSimTopologyFile);
    sim().plan.devices = static_cast<int>(sim().nodes.size());
    sim().machine = std::move(made);
    return {};
}

/// Node of a device of the machine; NULL without a machine.
const TopoNode* machine_node(int device) {
    if (sim().machine == nullptr || !devices::exists(device)) return nullptr;
    return &sim().machine->node(sim().nodes[static_cast<std::size_t>(device)]);
}

int device_info(int device, DeviceInfo* info) {
    if (const int code = devices::device_info(device, info); code != kRuntimeOk) return code;
    const SimPod& pod = sim().plan.pod;
    const TopoNode* node = machine_node(device);
    if (node != nullptr) {
        *info = node->device;
        info->host_device = device;
    }
    info->pod_type = static_cast<std::int32_t>(pod.type);
    info->pod_id = pod.id;
    info->pod_node = pod.node;
    info->pod_size = pod.size;
    info->virtual_server = sim().plan.virtual_server;
    return kRuntimeOk;
}

int device_family(int device, int* family) {
    if (const int code = devices::device_family(device, family); code != kRuntimeOk) return code;
    if (const TopoNode* node = machine_node(device)) *family = node->device.family;
    return kRuntimeOk;
}

int device_pci_bus_id(int device, std::int64_t* bus_id) {
    if (const int code = devices::device_pci_bus_id(device, bus_id); code != kRuntimeOk) return code;
    if (const TopoNode* node = machine_node(device)) *bus_id = node->id;
    return kRuntimeOk;
}

int device_by_pci_bus_id(std::int64_t bus_id, int* device) {
    if (sim().machine == nullptr || device == nullptr)
        return devices::device_by_pci_bus_id(bus_id, device);
    for (int i = 0; i < static_cast<int>(sim().nodes.size()); ++i)
        if (machine_node(i)->id == bus_id) {
            *device = i;
            return kRuntimeOk;
        }
    return slot_failure(Errc::invalid_argument, messages::kRuntimeBusId);
}

int init_sim() {
    const std::string& text = runtime_settings().p2p_sim;
    SimPlan plan;
    if (sim().given) {
        plan = *sim().given;
    } else if (auto parsed = parse_sim_plan(text); parsed) {
        plan = std::move(*parsed);
    } else {
        log::warn(NCCL_INIT | NCCL_P2P, messages::kSimBadPlan, text, parsed.error().place);
        return slot_failure(parsed.error().code, parsed.error().place);
    }
    {
        const std::scoped_lock lock(sim().mutex);
        sim().plan = std::move(plan);
        sim().calls.fill(0);
    }
    if (const int code = fault_of(SimSlot::init); code != kRuntimeOk) return code;
    if (const Status made = make_machine(); !made)
        return slot_failure(made.error().code, made.error().place);
    if (const int code = base().init(); code != kRuntimeOk) return code;
    if (sim().plan.devices != 0) spread_devices(sim().plan.devices);
    return kRuntimeOk;
}

int can_access_peer(int* can, int device, int peer) {
    if (const int code = fault_of(SimSlot::can_access_peer); code != kRuntimeOk) return code;
    if (const int code = base().device_can_access_peer(can, device, peer); code != kRuntimeOk) return code;
    const TopoNode* first = machine_node(device);
    const TopoNode* second = machine_node(peer);
    if (first != nullptr && second != nullptr &&
        !model_can_access(*sim().machine, first->id, second->id, sim().plan.reach))
        *can = 0;
    for (const auto& [a, b] : sim().plan.far)
        if ((a == device && b == peer) || (a == peer && b == device)) *can = 0;
    return kRuntimeOk;
}

int copy(void* to, const void* from, std::size_t bytes, int kind) {
    if (const int code = fault_of(SimSlot::memcpy); code != kRuntimeOk) return code;
    const Deadline slow(sim().plan.copy_latency);
    while (sim().plan.copy_latency != 0 && !slow.passed()) {
    }
    return base().memcpy(to, from, bytes, kind);
}

using T = RuntimeTable;

}  // namespace

void set_sim_plan(std::optional<SimPlan> plan) {
    const std::scoped_lock lock(sim().mutex);
    sim().given = std::move(plan);
}

void set_sim_faults(std::vector<SimFault> faults) {
    const std::scoped_lock lock(sim().mutex);
    sim().plan.faults = std::move(faults);
    sim().calls.fill(0);
}

std::shared_ptr<const TopoModel> sim_machine() {
    return sim().machine;
}

std::uint64_t sim_calls(SimSlot slot) {
    const std::scoped_lock lock(sim().mutex);
    return sim().calls[static_cast<std::size_t>(slot)];
}

constinit const RuntimeTable sim_runtime{
    .name = "sim",
    .init = init_sim,
    .finalize = passing<&T::finalize>,
    .capabilities = passing<&T::capabilities>,
    .get_device_count = devices::get_device_count,
    .set_device = devices::set_device,
    .get_device = devices::get_device,
    .device_family = device_family,
    .device_info = device_info,
    .device_by_pci_bus_id = device_by_pci_bus_id,
    .device_pci_bus_id = device_pci_bus_id,
    .device_numa_node = devices::device_numa_node,
    .device_can_access_peer = can_access_peer,
    .device_enable_peer_access = faulty<SimSlot::enable_peer_access, &T::device_enable_peer_access>,
    .device_disable_peer_access = passing<&T::device_disable_peer_access>,
    .ipc_domain_id = passing<&T::ipc_domain_id>,
    .ipc_open_mem_handle = faulty<SimSlot::ipc_open, &T::ipc_open_mem_handle>,
    .ipc_get_mem_handle = faulty<SimSlot::ipc_get, &T::ipc_get_mem_handle>,
    .ipc_close_mem_handle = faulty<SimSlot::ipc_close, &T::ipc_close_mem_handle>,
    .malloc = faulty<SimSlot::malloc, &T::malloc>,
    .free = faulty<SimSlot::free, &T::free>,
    .host_alloc = host_alloc,
    .host_free = host_free,
    .memset = memset_now,
    .pointer_query = passing<&T::pointer_query>,
    .memcpy_async = copy,
    .memcpy = copy,
    .events = &finished_event_table,
    .error_string = slot_error_text,
    .remote_alloc = faulty<SimSlot::remote_alloc, &T::remote_alloc>,
    .remote_free = faulty<SimSlot::remote_free, &T::remote_free>,
    .retain = passing<&T::retain>,
    .release = passing<&T::release>,
    .reserve = faulty<SimSlot::reserve, &T::reserve>,
    .end_exports = passing<&T::end_exports>,
};

}  // namespace duofi::p2p
