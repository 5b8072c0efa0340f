#include "p2p/operations.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include "common/util/log.hpp"
#include "common/util/messages/p2p.hpp"
#include "p2p/transport/exchange.hpp"
#include "p2p/transport/net_enqueue.hpp"

namespace duofi::p2p {
namespace {

/// A further channel pays from this many bytes per edge on.
constexpr std::size_t kBytesPerChannel = 256 * 1024;

}  // namespace

Operations::Operations(Communicator& communicator, ProtocolSet allowed)
    : communicator_(communicator), allowed_(allowed) {
    const ncclComm& comm = communicator.comm();
    links_.resize(comm.channels.size());
    for (std::vector<Links>& of_channel : links_) of_channel.resize(at(comm.n_ranks));
    sends_.assign(comm.channels.size(), std::vector<SendLink*>(at(comm.n_ranks)));
    receives_.assign(comm.channels.size(), std::vector<RecvLink*>(at(comm.n_ranks)));
    for (int peer = 0; peer < comm.n_ranks; ++peer)
        if (peer != comm.rank) others_.push_back(peer);
    statistics_.resize(comm.channels.size());
    const std::uint64_t here = comm.peer_info[at(comm.rank)].hostHash;
    const auto neighbours = std::ranges::count(comm.peer_info, here, &ncclPeerInfo::hostHash);
    const Settings& settings = communicator.settings();
    SpinPolicy spin = SpinPolicy::for_threads(
        static_cast<unsigned>(neighbours) * static_cast<unsigned>(comm.channels.size()),
        settings.p2p_spin);
    spin.timeout = static_cast<Nanoseconds>(settings.p2p_timeout_s * 1e9);
    for (KernelStatistics& statistics : statistics_)
        contexts_.push_back({.abort = &communicator.comm().abort_flag,
                             .spin = spin,
                             .statistics = &statistics,
                             .alarms = &communicator.alarms()});
    for (unsigned p = 0; p < NCCL_NUM_PROTOCOLS; ++p)
        step_bytes_[p] = one_step_bytes(comm.buff_sizes, static_cast<Protocol>(p));
}

Status Operations::ring(const RingOperation& operation) {
    DUOFI_TRY(communicator_.check_usable("collective"));
    const ncclComm& comm = communicator_.comm();
    if (comm.n_ranks == 1) {
        run_alone(operation);
        return {};
    }
    const std::size_t bytes = edge_bytes(operation, at(comm.n_ranks));
    RingOperation chosen = operation;
    chosen.protocol = choose_protocol(bytes, allowed_);
    const int channels = channels_for(bytes);
    const int previous = comm.channels.front().ring.prev;
    const int next = comm.channels.front().ring.next;
    DUOFI_TRY(ready({std::span(&previous, 1), chosen.protocol, channels},
                    {std::span(&next, 1), chosen.protocol, channels}));
    DUOFI_TRY(posted(enqueue_ring(communicator_.comm(), chosen, channels)));
    const auto body = [&](int channel) {
        const ncclRing& ring = comm.channels[at(channel)].ring;
        const RingPlace place{.next = links(channel, next).send.get(),
                              .previous = links(channel, previous).recv.get(),
                              .order = std::span(ring.userRanks, at(comm.n_ranks)),
                              .channel = channel,
                              .channels = channels};
        return run_ring(chosen, place, context(channel));
    };
    return result_of(run_channels(channels, body), "collective");
}

Status Operations::all_to_all(const void* input, void* output, std::size_t bytes) {
    DUOFI_TRY(communicator_.check_usable("all-to-all"));
    const ncclComm& comm = communicator_.comm();
    if (comm.n_ranks == 1) {
        if (bytes != 0) std::memmove(output, input, bytes);
        return {};
    }
    const Protocol protocol = choose_protocol(bytes, allowed_);
    const int channels = channels_for(bytes);
    const Need all{others_, protocol, channels};
    DUOFI_TRY(ready(all, all));
    DUOFI_TRY(posted(enqueue_all_to_all(communicator_.comm(), {-1, bytes, protocol, channels}, others_)));
    const auto body = [&](int channel) {
        const AllToAllPlace place{.sends = sends_[at(channel)],
                                  .receives = receives_[at(channel)],
                                  .rank = comm.rank,
                                  .channel = channel,
                                  .channels = channels};
        return run_all_to_all(input, output, bytes, protocol, place, context(channel));
    };
    return result_of(run_channels(channels, body), "all-to-all");
}

Status Operations::transfer(const Outgoing& out, const Incoming& in) {
    DUOFI_TRY(communicator_.check_usable("transfer"));
    const ncclComm& comm = communicator_.comm();
    const bool to_self = out.peer == comm.rank;
    if (to_self || in.peer == comm.rank) {
        if (!to_self || in.peer != comm.rank || out.bytes != in.bytes) {
            log::warn(NCCL_COLL | NCCL_P2P, messages::kP2pBadArgument, "transfer",
                      "a message to oneself needs a send and a receive of one size");
            return fail(Errc::invalid_usage, "transfer");
        }
        if (out.bytes != 0) std::memmove(in.data, out.data, out.bytes);
        return {};
    }
    // Each message has the protocol and channels that follow from its own size, at both ends.
    const auto need = [this](const int& peer, std::size_t bytes) {
        if (peer < 0) return Need{};
        return Need{std::span(&peer, 1), choose_protocol(bytes, allowed_), channels_for(bytes)};
    };
    const TransferPlan plan{out, in, need(out.peer, out.bytes), need(in.peer, in.bytes)};
    const int channels = std::max(plan.send.channels, plan.recv.channels);
    if (channels == 0) return {};
    DUOFI_TRY(ready(plan.recv, plan.send));
    DUOFI_TRY(posted(enqueue_transfer(communicator_.comm(),
                                      {out.peer, out.bytes, plan.send.protocol, plan.send.channels},
                                      {in.peer, in.bytes, plan.recv.protocol, plan.recv.channels})));
    const auto body = [&](int channel) { return run_part(plan, channel); };
    return result_of(run_channels(channels, body), "transfer");
}

KernelResult Operations::run_part(const TransferPlan& plan, int channel) {
    std::optional<SendTransfer> send;
    std::optional<RecvTransfer> receive;
    if (channel < plan.send.channels) {
        const Part part = part_of(plan.out.bytes, channel, plan.send.channels);
        send.emplace(*links(channel, plan.out.peer).send,
                     static_cast<const std::byte*>(plan.out.data) + part.offset, part.bytes,
                     plan.send.protocol);
    }
    if (channel < plan.recv.channels) {
        const Part part = part_of(plan.in.bytes, channel, plan.recv.channels);
        receive.emplace(*links(channel, plan.in.peer).recv,
                        static_cast<std::byte*>(plan.in.data) + part.offset, part.bytes,
                        plan.recv.protocol);
    }
    return run_transfers(send ? std::span(&*send, 1) : std::span<SendTransfer>(),
                         receive ? std::span(&*receive, 1) : std::span<RecvTransfer>(),
                         context(channel));
}

int Operations::channels_for(std::size_t bytes) const noexcept {
    const std::size_t useful = std::max<std::size_t>(1, bytes / kBytesPerChannel);
    return static_cast<int>(std::min(useful, links_.size()));
}

/// Some of an operation's work for the network may be posted, and others wait for all of it: there is no way back.
Status Operations::posted(const Status& enqueued) {
    if (enqueued) return {};
    communicator_.abort();
    communicator_.raise_alarm(communicator_.comm().rank);
    return enqueued;
}

Status Operations::end(KernelResult result, const char* place) {
    if (result == KernelResult::ok) return {};
    communicator_.abort();
    if (result == KernelResult::aborted) {
        // Further on, to ranks behind this one: what ended it may have come over the network, which they do not see.
        note_lost_rank(communicator_.comm(), communicator_.alarm());
        const int own = communicator_.comm().rank, lost = communicator_.comm().lost_rank();
        const int failed = communicator_.alarm();
        communicator_.raise_alarm(failed >= 0 ? failed : lost >= 0 ? lost : own);
        DUOFI_TRY(communicator_.check_usable(place));
        return fail(Errc::remote, place);
    }
    const int own = communicator_.comm().rank;
    communicator_.raise_alarm(own);
    log::warn(NCCL_COLL | NCCL_P2P, messages::kP2pKernelFailed, own, place, to_string(result));
    if (result == KernelResult::timed_out) return fail(Errc::timed_out, place);
    if (result == KernelResult::size_mismatch) return fail(Errc::invalid_usage, place);
    return fail(Errc::internal, place);
}

}  // namespace duofi::p2p
