#include "p2p/transport/blob.hpp"

#include <cstddef>
#include <cstring>
#include <span>

#include "common/local/crc32c.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/p2p.hpp"
#include "p2p/log_subsystems.hpp"

namespace duofi::p2p {
namespace {

constexpr std::size_t kTrailerAt = sizeof(p2pConnectInfo);
constexpr std::size_t kCrcAt = kTrailerAt + offsetof(p2pBlobTrailer, crc);

std::uint32_t checksum(const ncclConnect& blob) noexcept {
    return local::crc32c(std::as_bytes(std::span(blob.data)).first(kCrcAt));
}

p2pBlobTrailer trailer_of(const ncclConnect& blob) noexcept {
    p2pBlobTrailer trailer;
    std::memcpy(&trailer, blob.data + kTrailerAt, sizeof(trailer));
    return trailer;
}

std::uint32_t word(int value) noexcept {
    return static_cast<std::uint32_t>(value);
}

std::uint64_t epoch_with(const ncclComm& comm, int peer) noexcept {
    return comm.epochs[static_cast<std::size_t>(peer)];
}

Status foreign(const ncclComm& comm, const BlobFacts& expected, const char* what,
               std::uint64_t here, std::uint64_t there) {
    if (here == there) return {};
    log::warn(kSetupLog, messages::kP2pForeignBlob, comm.rank, expected.own_rank, what, here, there);
    return fail(Errc::remote, "connect blob");
}

Status check_trailer(const ncclComm& comm, const BlobFacts& expected, const ncclConnect& blob) {
    const p2pBlobTrailer trailer = trailer_of(blob);
    if (trailer.magic != P2P_TRAILER_MAGIC || trailer.version != P2P_TRAILER_VERSION) {
        log::warn(kSetupLog, messages::kP2pNotABlob, comm.rank, expected.own_rank, expected.channel);
        return fail(Errc::invalid_usage, "connect blob");
    }
    if (trailer.crc != checksum(blob) || trailer.pad != 0) {
        log::warn(kSetupLog, messages::kP2pBrokenBlob, comm.rank, expected.own_rank, expected.channel);
        return fail(Errc::remote, "connect blob");
    }
    if (trailer.transport != TRANSPORT_P2P) {
        log::warn(kSetupLog, messages::kP2pOtherTransport, comm.rank, expected.own_rank,
                  trailer.transport, expected.channel);
        return fail(Errc::invalid_usage, "connect blob");
    }
    DUOFI_TRY(foreign(comm, expected, "rank", word(expected.own_rank), trailer.ownRank));
    DUOFI_TRY(foreign(comm, expected, "peer", word(expected.peer_rank), trailer.peerRank));
    DUOFI_TRY(foreign(comm, expected, "channel", word(expected.channel), trailer.channel));
    DUOFI_TRY(foreign(comm, expected, "direction", static_cast<std::uint32_t>(expected.direction),
                      trailer.direction));
    DUOFI_TRY(
        foreign(comm, expected, "set-up", epoch_with(comm, expected.own_rank), trailer.epoch));
    if (trailer.buffDigest != digest_of(comm.buff_sizes)) {
        log::warn(kSetupLog, messages::kP2pOtherBuffers, comm.rank, expected.own_rank);
        return fail(Errc::invalid_usage, "connect blob");
    }
    return {};
}

}  // namespace

void pack_blob(const ncclComm& comm, const BlobFacts& facts, const p2pConnectInfo& info,
               ncclConnect& blob) noexcept {
    blob = {};
    std::memcpy(blob.data, &info, sizeof(info));
    if (!comm.options.trailer) return;
    p2pBlobTrailer trailer{};
    trailer.magic = P2P_TRAILER_MAGIC;
    trailer.version = P2P_TRAILER_VERSION;
    trailer.transport = TRANSPORT_P2P;
    trailer.channel = word(facts.channel);
    trailer.ownRank = word(facts.own_rank);
    trailer.peerRank = word(facts.peer_rank);
    trailer.direction = static_cast<std::uint32_t>(facts.direction);
    trailer.buffDigest = digest_of(comm.buff_sizes);
    trailer.epoch = epoch_with(comm, facts.peer_rank);
    std::memcpy(blob.data + kTrailerAt, &trailer, sizeof(trailer));
    trailer.crc = checksum(blob);
    std::memcpy(blob.data + kTrailerAt, &trailer, sizeof(trailer));
}

Result<p2pConnectInfo> unpack_blob(const ncclComm& comm, const BlobFacts& expected,
                                   const ncclConnect& blob) {
    if (comm.options.trailer) DUOFI_TRY(check_trailer(comm, expected, blob));
    p2pConnectInfo info;
    std::memcpy(&info, blob.data, sizeof(info));
    return info;
}

bool looks_like_p2p(const ncclConnect& blob) noexcept {
    const p2pBlobTrailer trailer = trailer_of(blob);
    return trailer.magic == P2P_TRAILER_MAGIC && trailer.crc == checksum(blob);
}

}  // namespace duofi::p2p
