// How a communicator comes into being.
#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "common/abi/error_map.hpp"
#include "common/local/fd_service.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/p2p.hpp"
#include "common/util/parse.hpp"
#include "common/util/version.hpp"
#include "p2p/caller_setting.hpp"
#include "p2p/gate/system.hpp"
#include "p2p/log_subsystems.hpp"
#include "p2p/transport/communicator.hpp"
#include "p2p/transport/peer_info.hpp"
#include "p2p/transport/sizes.hpp"

namespace duofi::p2p {
namespace {

constexpr Nanoseconds kHoldTime = 2 * kSecond;

std::int64_t number_of(const char* name, const std::string& text, std::int64_t low,
                       std::int64_t high, std::int64_t otherwise) {
    return caller_setting(name, text, parse_size(text, low, high), otherwise);
}

}  // namespace

Communicator::Communicator(Bootstrap& bootstrap, const CommunicatorOptions& options)
    : settings_(options.settings) {
    comm_.bootstrap = &bootstrap;
    bootstrap.end_waits_on(&comm_.abort_flag);
    comm_.rank = bootstrap.rank();
    comm_.n_ranks = bootstrap.size();
    comm_.transports = options.transports;
    comm_.options.timeout = options.timeout != 0
                                ? options.timeout
                                : static_cast<Nanoseconds>(settings_.connect_timeout_s * 1e9);
    const auto ranks = static_cast<std::size_t>(comm_.n_ranks);
    comm_.connect_send.resize(ranks);
    comm_.connect_recv.resize(ranks);
    comm_.epochs.resize(ranks);
}

Result<std::unique_ptr<Communicator>> Communicator::create(Bootstrap& bootstrap,
                                                           const CommunicatorOptions& options) {
    std::unique_ptr<Communicator> made(new Communicator(bootstrap, options));
    RankRecord mine;
    Status prepared = made->prepare(options);
    if (prepared) prepared = made->describe(options, mine);
    // The exchange is the parent's.
    if (!prepared && runtime::in_forked_child()) return tl::unexpected<Error>(prepared.error());
    // A rank that fails comes to the gather all the same: the others need not wait for it.
    if (!prepared) mine.failure = abi::result_of(prepared.error());
    const Status gathered = made->gather(mine);
    if (!prepared) return tl::unexpected<Error>(prepared.error());
    DUOFI_TRY(gathered);
    made->watch_others();
    const ncclComm& comm = made->comm_;
    const BufferSizes& sizes = comm.buff_sizes;
    log::info(kSetupLog, messages::kP2pReady, kPackageName, kVersion, comm.rank, comm.n_ranks,
              made->runtime_.table().name, options.device,
              static_cast<unsigned long long>(mine.info.busId), comm.channels.size(),
              sizes.bytes[NCCL_PROTO_LL], sizes.bytes[NCCL_PROTO_LL128],
              sizes.bytes[NCCL_PROTO_SIMPLE], mine.info.numaNode);
    return made;
}

Status Communicator::prepare(const CommunicatorOptions& options) {
    DUOFI_ASSIGN(runtime_, options.runtime != nullptr
                               ? runtime::acquire(*options.runtime, settings_)
                               : runtime::acquire(settings_));
    DUOFI_TRY(runtime::set_device(options.device));
    device_ = options.device;
    comm_.options.self = settings_.p2p_self;
    comm_.options.trailer = settings_.p2p_blob_trailer && !settings_.p2p_compat;
    comm_.options.relay = runtime::has(kRelay) && !settings_.p2p_compat;
    comm_.options.debug_sizes = settings_.p2p_debug_sizes;
    DUOFI_TRY(choose_sizes(options));
    DUOFI_TRY(fill_topology(options));
    return make_channels(options);
}

Status Communicator::choose_sizes(const CommunicatorOptions& options) {
    const bool cpu = runtime::has(kHostAccessible) && !settings_.p2p_compat;
    const std::int64_t simple =
        cpu ? P2P_DEFAULT_CPU_SIMPLE_BUFFSIZE : NCCL_DEFAULT_SIMPLE_BUFFSIZE;
    const auto chosen = [&](int protocol, const char* name, const std::string& text,
                            std::int64_t otherwise) {
        const std::size_t given = options.buffer_bytes[static_cast<std::size_t>(protocol)];
        constexpr std::int64_t kMost = kMaxBufferSum;
        comm_.buff_sizes.bytes[static_cast<std::size_t>(protocol)] =
            given != 0 ? given
                       : static_cast<std::size_t>(number_of(name, text, 0, kMost, otherwise));
    };
    chosen(NCCL_PROTO_LL, "NCCL_LL_BUFFSIZE", settings_.nccl_ll_buffsize, NCCL_DEFAULT_LL_BUFFSIZE);
    chosen(NCCL_PROTO_LL128, "NCCL_LL128_BUFFSIZE", settings_.nccl_ll128_buffsize,
           NCCL_DEFAULT_LL128_BUFFSIZE);
    chosen(NCCL_PROTO_SIMPLE, "NCCL_BUFFSIZE", settings_.nccl_buffsize, simple);
    return check_buffer_sizes(comm_.buff_sizes);
}

Status Communicator::fill_topology(const CommunicatorOptions& options) {
    DUOFI_TRY(describe_system(runtime_.table().name, comm_.options.relay, settings_, comm_.topo));
    comm_.topo.path = options.path;
    if (options.access) comm_.topo.access = options.access;
    return {};
}

Status Communicator::describe(const CommunicatorOptions& options, RankRecord& mine) {
    DUOFI_ASSIGN(
        mine, describe_rank(comm_.rank, options.device, settings_.nccl_hostid, options.pid_salt));
    mine.channels = static_cast<std::int32_t>(comm_.channels.size());
    mine.protocols = options.protocols;
    mine.buffers = digest_of(comm_.buff_sizes);
    mine.info.comm = reinterpret_cast<std::uint64_t>(&comm_);
    if (comm_.options.relay && may_need_relays(comm_.topo)) {
        DUOFI_ASSIGN(relay_, RelayService::start(runtime_.table()));
        mine.relay = relay_->address();
    }
    return {};
}

Status Communicator::gather(const RankRecord& mine) {
    std::vector<RankRecord> all(static_cast<std::size_t>(comm_.n_ranks));
    const Status gathered = comm_.bootstrap->all_gather(std::as_bytes(std::span(&mine, 1)),
                                                        std::as_writable_bytes(std::span(all)),
                                                        "p2pinit", Deadline(comm_.options.timeout));
    if (!gathered) {
        log::warn(kSetupLog, messages::kP2pGatherFailed, comm_.rank, "init",
                  to_string(gathered.error().code));
        return gathered;
    }
    if (mine.failure != 0) return {};
    for (int peer = 0; peer < comm_.n_ranks; ++peer)
        DUOFI_TRY(check_record(mine, all[static_cast<std::size_t>(peer)], peer));
    for (RankRecord& record : all) {
        record.info.hostHash += all.front().salt;
        record.info.pidHash += all.front().salt;
        comm_.peer_info.push_back(record.info);
        comm_.relays.push_back(record.relay);
        comm_.processes.push_back(record.process);
    }
    place_ranks(comm_.peer_info, comm_.rank, settings_, comm_.topo);
    return {};
}

Status Communicator::make_channels(const CommunicatorOptions& options) {
    const int count = options.channels != 0 ? options.channels : settings_.p2p_channels;
    if (count < 1 || count > MAXCHANNELS) {
        log::warn(kSetupLog, messages::kP2pBadChannels, count, MAXCHANNELS);
        return fail(Errc::invalid_argument, "channels");
    }
    const auto entries = static_cast<std::size_t>(comm_.n_ranks) + 1;
    for (int id = 0; id < count; ++id) {
        ncclChannel channel{};
        std::vector<ncclPeer>& peers = peers_.emplace_back(entries);
        std::vector<int>& ring = rings_.emplace_back();
        for (int step = 0; step < comm_.n_ranks; ++step)
            ring.push_back((comm_.rank + step) % comm_.n_ranks);
        channel.id = id;
        channel.peers = channel.devPeers = peers.data();
        channel.ring = {ring.back(), ring[ring.size() > 1 ? 1 : 0], ring.data(), ring.data()};
        if (!runtime::has(kUnified) || options.separate_mirror) {
            DUOFI_ASSIGN(void* mirror, runtime::host_allocate(entries * sizeof(ncclPeer)));
            mirrors_.push_back(mirror);
            channel.devPeers = static_cast<ncclPeer*>(mirror);
        }
        comm_.channels.push_back(channel);
    }
    return {};
}

void Communicator::watch_others() {
    local::ProcessWatch* watch = runtime::process_watch();
    const HostIdentity& self = comm_.processes[static_cast<std::size_t>(comm_.rank)];
    if (watch == nullptr) return;
    std::vector<HostIdentity> seen{self};
    for (int peer = 0; peer < comm_.n_ranks; ++peer) {
        const HostIdentity& process = comm_.processes[static_cast<std::size_t>(peer)];
        // Of another kernel: out of reach, and no memory is shared with it either.
        if (process.boot_hash != self.boot_hash ||
            std::ranges::find(seen, process) != seen.end())
            continue;
        seen.push_back(process);
        const auto id = watch_one(*watch, peer);
        if (id)
            watches_.push_back(*id);
        else
            log::warn(kSetupLog, messages::kP2pNotWatched, comm_.rank, peer, id.error().place);
    }
}

/// Where its process number means nothing here (another PID namespace), the connection to its fd
/// service tells.
Result<local::ProcessWatch::Id> Communicator::watch_one(local::ProcessWatch& watch, int peer) {
    const HostIdentity& process = comm_.processes[static_cast<std::size_t>(peer)];
    const local::DeathNote note{peer, &comm_.dead_rank, &comm_.abort_flag};
    if (same_kernel_and_pid_namespace(process, comm_.processes[static_cast<std::size_t>(comm_.rank)]))
        return watch.add(process, note);
    const auto space = static_cast<std::uint32_t>(process.pid_namespace);
    DUOFI_ASSIGN(UniqueFd held,
                 local::hold_connection(
                     local::fd_service_address(process.pid, process.start_time, space,
                                               settings_.p2p_fd_socket_dir),
                     Deadline(std::min(kHoldTime, comm_.options.timeout))));
    return watch.add(std::move(held), note);
}

}  // namespace duofi::p2p
