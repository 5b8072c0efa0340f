#include "p2p/transport/communicator.hpp"

#include <algorithm>
#include <atomic>

#include "common/util/log.hpp"
#include "common/util/messages/p2p.hpp"
#include "p2p/log_subsystems.hpp"
#include "p2p/transport/driver.hpp"
#include "p2p/transport/edge.hpp"
#include "p2p/transport/exchange.hpp"
#include "p2p/transport/p2p_transport.hpp"
#include "p2p/transport/select.hpp"

namespace duofi::p2p {
namespace {

constexpr char kTeardown[] = "teardown";

}  // namespace

Communicator::~Communicator() {
    comm_.bootstrap->end_waits_on(nullptr);
    if (fork_mark_.in_child()) {
        // The mappings are the parent's, and so are the threads that would have to be joined.
        static_cast<void>(relay_.release());
        return;
    }
    if (local::ProcessWatch* watch = runtime::process_watch())
        for (const auto id : watches_) watch->remove(id);
    static_cast<void>(free_connectors(comm_));
    relay_.reset();
    for (void* mirror : mirrors_) static_cast<void>(runtime::host_free(mirror));
}

Status Communicator::tear_down() {
    Status met;
    if (!comm_.aborted()) {
        met = meet_all(comm_, kTeardown);
        if (!met)
            log::warn(kSetupLog, messages::kP2pTeardownAlone, comm_.rank, to_string(met.error().code));
    }
    // After a death all know by themselves.
    if ((comm_.aborted() || !met) && comm_.lost_rank() < 0) tell_others();
    alarms_.clear();
    peers_alarms_.clear();
    const Status freed = free_connectors(comm_);
    return met ? freed : met;
}

void Communicator::tell_others() {
    for (int distance = 1; distance < comm_.n_ranks; ++distance)
        if (!tell_failure(comm_, (comm_.rank + distance) % comm_.n_ranks, ncclRemoteError,
                          kTeardown))
            return;  // the exchange is not there any more
}

Status Communicator::connect(std::span<const int> recv, std::span<const int> send) {
    DUOFI_TRY(check_usable("connect"));
    for (int channel = 0; channel < static_cast<int>(comm_.channels.size()); ++channel)
        mark(comm_, channel, recv, send);
    const auto marked = [](std::uint32_t mask) { return mask != 0; };
    if (std::ranges::none_of(comm_.connect_recv, marked) &&
        std::ranges::none_of(comm_.connect_send, marked))
        return {};
    // The thread may be another one than that which made the communicator.
    DUOFI_TRY(runtime::set_device(device_));
    DUOFI_TRY(set_up(comm_, nullptr));
    collect_alarms();
    return {};
}

Status Communicator::connect_ring() {
    const ncclRing& ring = comm_.channels.front().ring;
    return connect(std::span(&ring.prev, 1), std::span(&ring.next, 1));
}

Status Communicator::connect_all() {
    std::vector<int> others;
    for (int peer = 0; peer < comm_.n_ranks; ++peer)
        if (peer != comm_.rank) others.push_back(peer);
    return connect(others, others);
}

Status Communicator::check_usable(const char* place) {
    if (fork_mark_.in_child()) {
        log::warn(kSetupLog, messages::kP2pForkedChild, place);
        return fail(Errc::invalid_usage, place);
    }
    if (!comm_.aborted()) return {};
    const int dead = comm_.lost_rank();
    const int failed = alarm();
    if (dead >= 0 && !death_reported_) {
        death_reported_ = true;
        log::warn(kSetupLog, messages::kP2pPeerGone, comm_.rank, dead,
                  comm_.processes[static_cast<std::size_t>(dead)].pid);
    } else if (dead < 0 && failed >= 0) {
        log::warn(kSetupLog, messages::kP2pPeerFailedInKernel, comm_.rank, place, failed);
    } else if (dead < 0) {
        log::warn(kSetupLog, messages::kP2pAborted, comm_.rank, place);
    }
    return fail(Errc::remote, place);
}

/// One channel is enough: all are connected together.
void Communicator::collect_alarms() {
    alarms_.clear();
    peers_alarms_.clear();
    if (!runtime::has(kHostAccessible)) return;
    for (int peer = 0; peer < comm_.n_ranks; ++peer) {
        const ncclPeer& entry = comm_.channels.front().peers[peer];
        if (entry.send.connected != 0 && entry.send.transportComm == &p2pTransport.send) {
            const Edge& edge = edge_of(entry.send);
            alarms_.push_back(&static_cast<ncclSendMem*>(edge.base.devMem)->alarm);
            peers_alarms_.push_back(&static_cast<ncclRecvMem*>(edge.peers.memory)->alarm);
        }
        if (entry.recv.connected != 0 && entry.recv.transportComm == &p2pTransport.recv) {
            const Edge& edge = edge_of(entry.recv);
            alarms_.push_back(&static_cast<ncclRecvMem*>(edge.base.devMem)->alarm);
            peers_alarms_.push_back(&static_cast<ncclSendMem*>(edge.peers.memory)->alarm);
        }
    }
}

void Communicator::raise_alarm(int rank) noexcept {
    const auto value = static_cast<std::uint32_t>(rank) + 1;
    for (std::uint32_t* const word : peers_alarms_)
        std::atomic_ref(*word).store(value, std::memory_order_release);
}

int Communicator::alarm() const noexcept {
    for (std::uint32_t* const word : alarms_) {
        const std::uint32_t value = std::atomic_ref(*word).load(std::memory_order_acquire);
        if (value != 0) return static_cast<int>(value) - 1;
    }
    return -1;
}

const char* Communicator::edge_text(int peer) const noexcept {
    if (!comm_.known(peer) || comm_.channels.empty()) return "";
    const ncclPeer& entry = comm_.channels.front().peers[peer];
    for (const ncclConnector* connector : {&entry.send, &entry.recv}) {
        if (connector->connected == 0) continue;
        if (connector->transportComm == &p2pTransport.send ||
            connector->transportComm == &p2pTransport.recv)
            return to_string(edge_of(*connector).mode);
        return transport_at(comm_.transports, TRANSPORT_NET)->name;
    }
    return "";
}

}  // namespace duofi::p2p
