#include "p2p/transport/peer_info.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "common/util/log.hpp"
#include "common/util/messages/p2p.hpp"
#include "p2p/runtime/runtime.hpp"

namespace duofi::p2p {
namespace {

constexpr char kPidNamespace[] = "/proc/self/ns/pid";

Status add_device_facts(int device, ncclPeerInfo& info) {
    DUOFI_ASSIGN(info.busId, runtime::bus_id(device));
    DUOFI_ASSIGN(info.shmDev, runtime::ipc_domain_id());
    DUOFI_ASSIGN(const DeviceInfo facts, runtime::device_info(device));
    info.numaNode = facts.numa_node;
    info.instanceFamily = facts.family;
    info.podType = facts.pod_type;
    info.podId = facts.pod_id;
    info.podNode = facts.pod_node;
    info.podSize = facts.pod_size;
    info.routingId = facts.routing_id;
    info.tpbIndex = facts.tpb_index;
    info.virtualCoreSize = facts.virtual_core_size;
    info.hostDevice = facts.host_device;
    info.mlaIndex = facts.mla_index;
    info.computeCap = facts.compute_cap;
    info.hostHash += static_cast<std::uint64_t>(facts.virtual_server);
    return {};
}

Status differs(int peer, const char* what, std::uint64_t here, std::uint64_t there) {
    if (here == there) return {};
    log::warn(NCCL_INIT | NCCL_P2P, messages::kP2pRankDiffers, peer, what, there, here);
    return fail(Errc::invalid_usage, "init");
}

}  // namespace

std::string pid_text() {
    std::array<char, 128> link{};
    const ssize_t length = ::readlink(kPidNamespace, link.data(), link.size());
    std::string text = std::to_string(::getpid());
    if (length > 0) text.append(link.data(), static_cast<std::size_t>(length));
    return text;
}

Result<RankRecord> describe_rank(int rank, int device, std::string_view host_id,
                                 std::uint64_t pid_salt) {
    RankRecord record;
    record.info.rank = rank;
    record.info.cudaDev = device;
    record.info.hostHash = string_hash(host_text(host_id));
    record.info.pidHash = string_hash(pid_text()) + pid_salt;
    record.process = read_host_identity();
    record.runtime = static_cast<std::uint32_t>(string_hash(runtime::installed()->name));
    if (::getrandom(&record.salt, sizeof(record.salt), 0) != sizeof(record.salt))
        return fail(Errc::system, "getrandom", errno);
    DUOFI_TRY(add_device_facts(device, record.info));
    return record;
}

Status check_record(const RankRecord& mine, const RankRecord& theirs, int peer) {
    DUOFI_TRY(differs(peer, "format of records", mine.version, theirs.version));
    if (theirs.failure != 0) {
        log::warn(NCCL_INIT | NCCL_P2P, messages::kP2pPeerGaveUp, mine.info.rank, peer, "init",
                  theirs.failure);
        return fail(Errc::remote, "init");
    }
    DUOFI_TRY(differs(peer, "number of channels", static_cast<std::uint64_t>(mine.channels),
                      static_cast<std::uint64_t>(theirs.channels)));
    DUOFI_TRY(differs(peer, "set of protocols (NCCL_PROTO)", mine.protocols, theirs.protocols));
    DUOFI_TRY(differs(peer, "choice of buffer sizes (NCCL_BUFFSIZE, NCCL_LL_BUFFSIZE, NCCL_LL128_BUFFSIZE, DUOFI_P2P_COMPAT)",
                      mine.buffers, theirs.buffers));
    DUOFI_TRY(differs(peer, "runtime", mine.runtime, theirs.runtime));
    return differs(peer, "rank", static_cast<std::uint64_t>(peer),
                   static_cast<std::uint64_t>(theirs.info.rank));
}

}  // namespace duofi::p2p
