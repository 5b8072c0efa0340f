#include "net_plugin/comms/transfer_report.hpp"

#include <string>

#include "common/ofi/errors.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/ofi.hpp"

namespace duofi::net {

void report_failed(ofi::Endpoint& endpoint, ofi::Peer& peer, const TransferFacts& facts,
                   const ofi::Completion& completion) noexcept {
    const ofi::DeviceInfo& device = endpoint.domain().device();
    const std::string peer_text = endpoint.peer_text(peer);
    ofi::OperationReport report;
    report.operation = facts.operation;
    report.device = device.name;
    report.provider = device.provider;
    report.peer = peer_text;
    report.size = facts.size;
    report.tag = static_cast<std::uint64_t>(facts.tag);
    report.error = completion.error;
    report.provider_error = completion.provider_error;
    log::warn(log::net, messages::kOperationFailed, ofi::format_report(report));
    endpoint.lose_peer(peer, ofi::error_text(completion.error));
}

Nanoseconds stall_limit(ofi::Endpoint& endpoint) noexcept {
    return static_cast<Nanoseconds>(endpoint.domain().settings().stall_seconds * kSecond);
}

void report_if_stalled(ofi::Endpoint& endpoint, const ofi::Peer& peer, const TransferFacts& facts, Request& request,
                       Nanoseconds limit, Nanoseconds now) noexcept {
    const Nanoseconds age = now - request.started;
    if (request.stall_told || age < limit) return;
    request.stall_told = true;
    log::warn(log::net, messages::kStalled, facts.operation, endpoint.domain().device().name,
              endpoint.peer_text(peer), facts.size, facts.tag, age / kSecond);
}

}  // namespace duofi::net
