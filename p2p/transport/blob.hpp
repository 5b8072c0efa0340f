// The 128 bytes that two ends of an edge exchange (p2p contract 1.5). Pure functions but for the
// log; any thread.
#pragma once

#include "common/util/error.hpp"
#include "p2p/abi.h"
#include "p2p/transport/comm.hpp"

namespace duofi::p2p {

/// The edge that a blob belongs to, as its sender sees it.
struct BlobFacts {
    int channel = 0;
    int own_rank = 0;
    int peer_rank = 0;
    Direction direction = Direction::send;
};

/// `info` in the first 80 bytes as it is; behind it the trailer, or zeros without one.
void pack_blob(const ncclComm& comm, const BlobFacts& facts, const p2pConnectInfo& info,
               ncclConnect& blob) noexcept;

/// `expected` is what the peer must have said. Errors, each after one WARN line:
/// Errc::invalid_usage (other transport, other buffer sizes), Errc::remote (damaged, or of another
/// edge).
[[nodiscard]] Result<p2pConnectInfo> unpack_blob(const ncclComm& comm, const BlobFacts& expected,
                                                 const ncclConnect& blob);

/// True for what a P2P end of this package packs with a trailer. For transports whose own blobs
/// fill all 128 bytes (T-6, T-15).
[[nodiscard]] bool looks_like_p2p(const ncclConnect& blob) noexcept;

}  // namespace duofi::p2p
