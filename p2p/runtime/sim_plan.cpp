#include "p2p/runtime/sim_plan.hpp"

#include <cerrno>

#include "common/util/log.hpp"
#include "common/util/messages/p2p_gate.hpp"
#include "common/util/messages/p2p_runtime.hpp"
#include "common/util/parse.hpp"
#include "p2p/gate/machine_model.hpp"
#include "p2p/runtime/devices.hpp"

namespace duofi::p2p {

namespace {

constexpr std::int64_t kMostCalls = std::int64_t{1} << 40;
constexpr std::int64_t kHighestCode = 100000;
constexpr std::int64_t kMostMicroseconds = 1000000;
constexpr std::int64_t kMostPodNodes = 1024;
constexpr std::int64_t kMostVirtualServers = 1024;
constexpr std::int64_t kHighestPodId = std::int64_t{1} << 62;

tl::unexpected<Error> malformed() { return fail(Errc::invalid_argument, messages::kSimSyntax, EINVAL); }

std::pair<std::string_view, std::string_view> split(std::string_view text, char separator) {
    const std::size_t at = text.find(separator);
    if (at == std::string_view::npos) return {trimmed(text), {}};
    return {trimmed(text.substr(0, at)), trimmed(text.substr(at + 1))};
}

Status add_fault(SimPlan& plan, std::string_view text) {
    const auto [slot, rest] = split(text, ':');
    const auto [call, code] = split(rest, ':');
    SimFault fault;
    DUOFI_ASSIGN(const std::size_t index, parse_choice(slot, kSimSlotNames));
    fault.slot = static_cast<SimSlot>(index);
    DUOFI_ASSIGN(const std::int64_t number, parse_integer(call, 0, kMostCalls));
    fault.call = static_cast<std::uint64_t>(number);
    if (!code.empty()) {
        DUOFI_ASSIGN(const std::int64_t value, parse_integer(code, 1, kHighestCode));
        fault.code = static_cast<int>(value);
    }
    plan.faults.push_back(fault);
    return {};
}

Status add_far_pair(SimPlan& plan, std::string_view text) {
    const auto [a, b] = split(text, '-');
    DUOFI_ASSIGN(const std::int64_t first, parse_integer(a, 0, devices::kMostDevices - 1));
    DUOFI_ASSIGN(const std::int64_t second, parse_integer(b, 0, devices::kMostDevices - 1));
    plan.far.emplace_back(static_cast<int>(first), static_cast<int>(second));
    return {};
}

Status set_pod(SimPlan& plan, std::string_view text) {
    const auto [type, behind_type] = split(text, ':');
    const auto [id, behind_id] = split(behind_type, ':');
    const auto [node, size] = split(behind_id, ':');
    if (type != "p2p" && type != "switch") return malformed();
    plan.pod.type = type == "p2p" ? PodType::p2p : PodType::switched;
    DUOFI_ASSIGN(const std::int64_t number, parse_integer(id, 0, kHighestPodId));
    DUOFI_ASSIGN(const std::int64_t index, parse_integer(node, 0, kMostPodNodes));
    plan.pod.id = static_cast<std::uint64_t>(number);
    plan.pod.node = static_cast<int>(index);
    if (plan.pod.type == PodType::switched) return size.empty() ? Status{} : malformed();
    DUOFI_ASSIGN(const std::int64_t count, parse_integer(size, 1, kMostPodNodes));
    plan.pod.size = static_cast<int>(count);
    return {};
}

std::optional<TopoModel> largest_instance(std::string_view name) {
    for (int chips = kTorusChips; chips > 0; --chips)
        if (auto model = neuron_instance(name, chips)) return model;
    return std::nullopt;
}

template <typename Add>
Status each(std::string_view list, Add add) {
    DUOFI_ASSIGN(const std::vector<std::string> parts, parse_list(list));
    for (const std::string& part : parts) DUOFI_TRY(add(part));
    return {};
}

Status apply(SimPlan& plan, std::string_view name, std::string_view value) {
    if (name == "base") {
        plan.unified = value == "unified";
        return plan.unified || value == "host" ? Status{} : malformed();
    }
    if (name == "devices") {
        DUOFI_ASSIGN(const std::int64_t count, parse_integer(value, 1, devices::kMostDevices));
        plan.devices = static_cast<int>(count);
        return {};
    }
    if (name == "vserver") {
        DUOFI_ASSIGN(const std::int64_t number, parse_integer(value, 0, kMostVirtualServers));
        plan.virtual_server = static_cast<int>(number);
        return {};
    }
    if (name == "topo") {
        plan.topology = value;
        return value.empty() ? malformed() : Status{};
    }
    if (name == "reach") {
        plan.reach = value == "instance" ? NeuronReach::instance : NeuronReach::adjacent;
        return value == "instance" || value == "adjacent" ? Status{} : malformed();
    }
    if (name == "pod") return set_pod(plan, value);
    if (name == "latency_us") {
        DUOFI_ASSIGN(const std::int64_t count, parse_integer(value, 0, kMostMicroseconds));
        plan.copy_latency = count * kMicrosecond;
        return {};
    }
    if (name == "far") return each(value, [&](std::string_view part) { return add_far_pair(plan, part); });
    if (name == "fail") return each(value, [&](std::string_view part) { return add_fault(plan, part); });
    return malformed();
}

}  // namespace

Result<SimPlan> parse_sim_plan(std::string_view text) {
    SimPlan plan;
    while (!text.empty()) {
        const auto [part, rest] = split(text, ';');
        text = rest;
        if (part.empty()) continue;
        const auto [name, value] = split(part, '=');
        if (!apply(plan, name, value)) return malformed();
    }
    if (!plan.topology.empty() && plan.devices != 0) return malformed();
    return plan;
}

Result<TopoModel> sim_topology(const SimPlan& plan) {
    const auto [name, count] = split(plan.topology, ':');
    const auto chips = parse_integer(count, 1, kTorusChips).value_or(-1);
    auto model = neuron_instance(name, static_cast<int>(chips));
    if (!model && count.empty()) model = largest_instance(name);
    if (model) {
        model->complete = true;
        return std::move(*model);
    }
    if (neuron_instance(name, 1)) {
        log::warn(NCCL_INIT | NCCL_P2P, messages::kSimBadPlan, plan.topology, messages::kSimTopology);
        return fail(Errc::invalid_argument, messages::kSimTopology);
    }
    return load_model("DUOFI_P2P_SIM topo", plan.topology);
}

}  // namespace duofi::p2p
