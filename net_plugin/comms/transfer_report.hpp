// What the log says of a transfer that failed or stands still: the same for sends and receives. Endpoint's lock held.
#pragma once

#include "common/ofi/endpoint.hpp"
#include "net_plugin/request_pool.hpp"
#include "net_plugin/comms/data_operation.hpp"

namespace duofi::net {

/// The provider gave a large transfer back with an error: one line with all that is known (A21), then its peer is
/// lost.
void report_failed(ofi::Endpoint& endpoint, ofi::Peer& peer, const TransferFacts& facts,
                   const ofi::Completion& completion) noexcept;

/// Age at which a pending request is told (DUOFI_STALL_SECONDS, architecture 4.8); 0 = never.
[[nodiscard]] Nanoseconds stall_limit(ofi::Endpoint& endpoint) noexcept;
/// One line per request, once it is older than `limit` at the time `now` of the endpoint.
void report_if_stalled(ofi::Endpoint& endpoint, const ofi::Peer& peer, const TransferFacts& facts, Request& request,
                       Nanoseconds limit, Nanoseconds now) noexcept;

/// For every pending request of a comm with `peer`. `R` tells its facts().
template <typename R>
void report_stalled(ofi::Endpoint& endpoint, const ofi::Peer& peer, RequestPool<R>& requests,
                    Nanoseconds now) noexcept {
    const Nanoseconds limit = stall_limit(endpoint);
    if (limit <= 0) return;
    requests.for_each_pending(
        [&](R& request) { report_if_stalled(endpoint, peer, request.facts(), request, limit, now); });
}

}  // namespace duofi::net
