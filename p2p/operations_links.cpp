// What an operation needs before its kernels may run: connectors, pages behind their buffers,
// links.
#include "common/util/log.hpp"
#include "common/util/messages/p2p_runtime.hpp"
#include "p2p/operations.hpp"
#include "p2p/runtime/runtime.hpp"
#include "p2p/transport/net_enqueue.hpp"
#include "p2p/transport/p2p_transport.hpp"

namespace duofi::p2p {
/// A proxy works on each step while its kernel waits: it needs a CPU, too.
void Operations::share_cpus() noexcept {
    const SpinPolicy crowded = SpinPolicy::for_threads(~0U, communicator_.settings().p2p_spin);
    for (KernelContext& context : contexts_)
        context.spin.spins_before_yield = crowded.spins_before_yield;
}

Operations::Links& Operations::links(int channel, int peer) {
    return links_[at(channel)][at(peer)];
}

bool Operations::all_ready(const Need& recv, const Need& send) {
    for (int channel = 0; channel < send.channels; ++channel)
        for (const int peer : send.peers)
            if ((links(channel, peer).send_ready & bit(send.protocol)) == 0) return false;
    for (int channel = 0; channel < recv.channels; ++channel)
        for (const int peer : recv.peers)
            if ((links(channel, peer).recv_ready & bit(recv.protocol)) == 0) return false;
    return true;
}

Status Operations::ready(const Need& recv, const Need& send) {
    if (all_ready(recv, send)) [[likely]]
        return {};
    if (!runtime::has(kHostAccessible)) {
        log::warn(NCCL_COLL | NCCL_P2P, messages::kRuntimeNotForCpus);
        return fail(Errc::unsupported, "kernels");
    }
    DUOFI_TRY(communicator_.connect(recv.peers, send.peers));
    DUOFI_TRY(prepare(send, Direction::send));
    return prepare(recv, Direction::recv);
}

Status Operations::prepare(const Need& need, Direction direction) {
    for (int channel = 0; channel < need.channels; ++channel)
        for (const int peer : need.peers)
            DUOFI_TRY(prepare_edge(channel, peer, need.protocol, direction));
    return {};
}

Status Operations::prepare_edge(int channel, int peer, Protocol protocol, Direction direction) {
    const ncclComm& comm = communicator_.comm();
    const ncclChannel& of_channel = comm.channels[at(channel)];
    const bool sends = direction == Direction::send;
    ncclConnector& connector = sends ? of_channel.peers[peer].send : of_channel.peers[peer].recv;
    if (connector.transportComm == &p2pTransport.send ||
        connector.transportComm == &p2pTransport.recv)
        DUOFI_TRY(reserve_buffers(comm, connector, static_cast<int>(protocol)));
    // Kernels read and advance the connectors of devPeers only (C-24).
    ncclPeer& seen = of_channel.devPeers[peer];
    Links& made = links(channel, peer);
    const LinkOptions options{.proxied = proxied(connector)};
    if (options.proxied) share_cpus();
    if (sends) {
        if (!made.send)
            made.send = std::make_unique<SendLink>(&seen.send.conn, comm.buff_sizes, options);
        sends_[at(channel)][at(peer)] = made.send.get();
        made.send_ready |= bit(protocol);
        if (!options.proxied && (protocol != Protocol::simple || !made.send->direct()))
            made.send_short |= bit(protocol);
    } else {
        if (!made.recv)
            made.recv = std::make_unique<RecvLink>(&seen.recv.conn, comm.buff_sizes, options);
        receives_[at(channel)][at(peer)] = made.recv.get();
        made.recv_ready |= bit(protocol);
        if (!options.proxied && (protocol != Protocol::simple || !made.recv->direct()))
            made.recv_short |= bit(protocol);
    }
    return {};
}

}  // namespace duofi::p2p
