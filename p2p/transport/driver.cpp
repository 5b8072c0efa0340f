#include "p2p/transport/driver.hpp"

#include <sched.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

#include "common/abi/error_map.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/p2p.hpp"
#include "p2p/log_subsystems.hpp"
#include "p2p/transport/exchange.hpp"
#include "p2p/transport/p2p_transport.hpp"
#include "p2p/transport/select.hpp"

namespace duofi::p2p {
namespace {

constexpr char kName[] = "p2pconnect";

using Blobs = std::array<ncclConnect, std::size_t{2} * MAXCHANNELS>;

ncclConnector& connector_of(const ncclComm& comm, int channel, int peer, Direction direction) {
    ncclPeer& entry = comm.channels[at(channel)].peers[peer];
    return direction == Direction::send ? entry.send : entry.recv;
}

/// Edges to the two ranks at one distance.
struct Round {
    ncclComm& comm;
    int recv_peer, send_peer;
    std::uint32_t recv_mask, send_mask;

    Round(ncclComm& c, int distance)
        : comm(c),
          recv_peer((c.rank - distance + c.n_ranks) % c.n_ranks),
          send_peer((c.rank + distance) % c.n_ranks),
          recv_mask(c.connect_recv[at(recv_peer)]),
          send_mask(c.connect_send[at(send_peer)]) {}

    [[nodiscard]] bool empty() const noexcept { return (recv_mask | send_mask) == 0; }
    [[nodiscard]] std::size_t receives() const noexcept { return at(std::popcount(recv_mask)); }
    [[nodiscard]] std::size_t sends() const noexcept { return at(std::popcount(send_mask)); }
};

template <Direction D>
Status select_all(const Round& round, ncclTopoGraph* graph, std::span<ncclConnect> blobs) {
    const int peer = D == Direction::send ? round.send_peer : round.recv_peer;
    const std::uint32_t mask = D == Direction::send ? round.send_mask : round.recv_mask;
    std::size_t next = 0;
    for (int channel = 0; channel < MAXCHANNELS; ++channel) {
        if ((mask >> channel & 1U) == 0) continue;
        DUOFI_TRY(
            status_of(select_transport<D>(round.comm, graph, peer, blobs[next++],
                                          connector_of(round.comm, channel, peer, D), channel),
                      "setup"));
    }
    return {};
}

Status receive_blobs(ncclComm& comm, int peer, std::span<ncclConnect> blobs) {
    if (blobs.empty()) return {};
    DUOFI_ASSIGN(const Message message,
                 receive_message(comm, peer, MessageType::transport_init, kName));
    const auto room = std::as_writable_bytes(blobs);
    if (message.bytes.size() != room.size()) {
        log::warn(kSetupLog, messages::kP2pBlobCount, comm.rank, peer, message.bytes.size(),
                  room.size());
        return fail(Errc::invalid_usage, kName);
    }
    std::memcpy(room.data(), message.bytes.data(), room.size());
    return {};
}

Status send_blobs(ncclComm& comm, int peer, std::span<const ncclConnect> blobs) {
    if (blobs.empty()) return {};
    return send_message(comm, peer, MessageType::transport_init, std::as_bytes(blobs), kName);
}

/// `blobs` holds mine, receives first; afterwards the peers' for my receives and my sends, in the
/// same places.
Status exchange_blobs(const Round& round, std::span<ncclConnect> blobs) {
    const auto receives = blobs.first(round.receives());
    const auto sends = blobs.subspan(round.receives(), round.sends());
    if (round.recv_peer != round.send_peer) {
        DUOFI_TRY(send_blobs(round.comm, round.recv_peer, receives));
        DUOFI_TRY(send_blobs(round.comm, round.send_peer, sends));
        DUOFI_TRY(receive_blobs(round.comm, round.send_peer, sends));
        return receive_blobs(round.comm, round.recv_peer, receives);
    }
    // One message both ways: what the peer made for its receives belongs to my sends.
    const auto mine = blobs.first(receives.size() + sends.size());
    Blobs buffer;
    const auto theirs = std::span(buffer).first(mine.size());
    if (round.send_peer == round.comm.rank) {
        std::memcpy(theirs.data(), mine.data(), mine.size_bytes());
    } else {
        DUOFI_TRY(send_blobs(round.comm, round.send_peer, mine));
        DUOFI_TRY(receive_blobs(round.comm, round.send_peer, theirs));
    }
    std::memcpy(sends.data(), theirs.data(), sends.size_bytes());
    std::memcpy(receives.data(), theirs.data() + sends.size(), receives.size_bytes());
    return {};
}

/// One attempt per connector that is not connected yet; clears the bits of those that are.
template <Direction D>
Status connect_some(const Round& round, std::uint32_t& pending, std::span<ncclConnect> blobs) {
    const std::uint32_t all = D == Direction::send ? round.send_mask : round.recv_mask;
    const int peer = D == Direction::send ? round.send_peer : round.recv_peer;
    ncclComm& comm = round.comm;
    std::size_t next = 0;
    for (int channel = 0; channel < MAXCHANNELS; ++channel) {
        const std::uint32_t bit = 1U << channel;
        if ((all & bit) == 0) continue;
        ncclConnect& blob = blobs[next++];
        if ((pending & bit) == 0) continue;
        ncclConnector& connector = connector_of(comm, channel, peer, D);
        const ncclResult_t result =
            connector.transportComm->connect(&comm, &blob, 1, comm.rank, &connector);
        if (result != ncclInProgress) DUOFI_TRY(status_of(result, "connect"));
        if (connector.connected != 1) continue;  // C-18
        DUOFI_TRY(mirror(comm, channel, peer, D));
        pending &= ~bit;
    }
    return {};
}

Status connect_all(const Round& round, std::span<ncclConnect> blobs) {
    const Deadline deadline(round.comm.options.timeout);
    std::uint32_t sends = round.send_mask;
    std::uint32_t receives = round.recv_mask;
    while (true) {
        DUOFI_TRY(connect_some<Direction::send>(round, sends, blobs.subspan(round.receives())));
        DUOFI_TRY(connect_some<Direction::recv>(round, receives, blobs));
        if ((sends | receives) == 0) return {};
        if (round.comm.aborted()) return fail(Errc::remote, "connect");
        if (deadline.passed()) return fail(Errc::timed_out, "connect");
        ::sched_yield();
    }
}

Status run(const Round& round, ncclTopoGraph* graph) {
    Blobs blobs{};
    const std::span<ncclConnect> receives = std::span(blobs).first(round.receives());
    const std::span<ncclConnect> sends = std::span(blobs).subspan(receives.size(), round.sends());
    DUOFI_TRY(select_all<Direction::recv>(round, graph, receives));
    DUOFI_TRY(select_all<Direction::send>(round, graph, sends));
    DUOFI_TRY(exchange_blobs(round, blobs));
    return connect_all(round, blobs);
}

/// Both ends of every new edge have mapped what they need: descriptors may go.
Status finish(ncclComm& comm, std::span<const std::uint32_t> recv_masks,
              std::span<const std::uint32_t> send_masks) {
    for (int peer = 0; peer < comm.n_ranks; ++peer)
        if (peer != comm.rank && (recv_masks[at(peer)] | send_masks[at(peer)]) != 0)
            DUOFI_TRY(send_message(comm, peer, MessageType::connected, {}, kName));
    for (int peer = 0; peer < comm.n_ranks; ++peer)
        if (peer != comm.rank && (recv_masks[at(peer)] | send_masks[at(peer)]) != 0)
            DUOFI_TRY(receive_message(comm, peer, MessageType::connected, kName));
    for (const ncclChannel& channel : comm.channels)
        for (int peer = 0; peer < comm.n_ranks; ++peer) {
            const ncclPeer& entry = channel.peers[peer];
            const std::uint32_t bit = 1U << channel.id;
            if ((send_masks[at(peer)] & bit) != 0 && entry.send.transportComm == &p2pTransport.send)
                DUOFI_TRY(end_export(entry.send));
            if ((recv_masks[at(peer)] & bit) != 0 && entry.recv.transportComm == &p2pTransport.recv)
                DUOFI_TRY(end_export(entry.recv));
        }
    return {};
}

Status set_up_marked(ncclComm& comm, ncclTopoGraph* graph,
                     std::span<const std::uint32_t> recv_masks,
                     std::span<const std::uint32_t> send_masks) {
    for (int distance = comm.options.self ? 0 : 1; distance < comm.n_ranks; ++distance) {
        const Round round(comm, distance);
        if (round.empty()) continue;
        DUOFI_TRY(run(round, graph));
        comm.connect_recv[at(round.recv_peer)] = 0;
        comm.connect_send[at(round.send_peer)] = 0;
    }
    return finish(comm, recv_masks, send_masks);
}

}  // namespace

void mark(ncclComm& comm, int channel, std::span<const int> recv, std::span<const int> send) {
    const auto wanted = [&](int peer, Direction direction) {
        return comm.known(peer) && (peer != comm.rank || comm.options.self) &&
               connector_of(comm, channel, peer, direction).connected == 0;
    };
    const std::uint32_t bit = 1U << comm.channels[at(channel)].id;
    for (const int peer : recv)
        if (wanted(peer, Direction::recv)) comm.connect_recv[at(peer)] |= bit;
    for (const int peer : send)
        if (wanted(peer, Direction::send)) comm.connect_send[at(peer)] |= bit;
}

Status set_up(ncclComm& comm, ncclTopoGraph* graph) {
    const std::vector<std::uint32_t> recv_masks = comm.connect_recv;
    const std::vector<std::uint32_t> send_masks = comm.connect_send;
    for (std::size_t peer = 0; peer < recv_masks.size(); ++peer)
        if ((recv_masks[peer] | send_masks[peer]) != 0) ++comm.epochs[peer];
    Status result = set_up_marked(comm, graph, recv_masks, send_masks);
    if (result) return result;
    comm.abort();
    for (int peer = 0; peer < comm.n_ranks; ++peer)
        if (peer != comm.rank && (recv_masks[at(peer)] | send_masks[at(peer)]) != 0)
            static_cast<void>(tell_failure(comm, peer, abi::result_of(result.error()), kName));
    return result;
}

}  // namespace duofi::p2p
