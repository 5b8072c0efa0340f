#include "p2p/runtime/sim_plan.hpp"

#include <cerrno>

#include "common/util/messages/p2p_runtime.hpp"
#include "common/util/parse.hpp"
#include "p2p/runtime/devices.hpp"

namespace duofi::p2p {

namespace {

constexpr std::int64_t kMostCalls = std::int64_t{1} << 40;
constexpr std::int64_t kHighestCode = 100000;
constexpr std::int64_t kMostMicroseconds = 1000000;

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
    return plan;
}

}  // namespace duofi::p2p
