// Compile-time proof that every struct of p2p/abi.h has the layout of p2p contract 1.3-1.9 (C-9),
// typed in here a second time, as plain numbers.
#include <cstddef>
#include <type_traits>

#include "common/abi/layout.hpp"
#include "p2p/abi.h"

namespace {
using duofi::abi::layout::in_place;

// clang-format off
namespace transport_comm_at {
using T = ncclTransportComm;
static_assert(sizeof(T) == 48 && in_place({
    AT(setup, 0x00), AT(connect, 0x08), AT(free, 0x10), AT(proxy, 0x18), AT(allocRequest, 0x20),
    AT(freeRequest, 0x28)}));
}
namespace transport_at {
using T = ncclTransport;
static_assert(sizeof(T) == 120 && in_place({
    AT(name, 0x00), AT(canConnect, 0x10), AT(send.setup, 0x18), AT(send.connect, 0x20),
    AT(send.free, 0x28), AT(send.proxy, 0x30), AT(send.allocRequest, 0x38),
    AT(send.freeRequest, 0x40), AT(recv.setup, 0x48), AT(recv.connect, 0x50), AT(recv.free, 0x58),
    AT(recv.proxy, 0x60), AT(recv.allocRequest, 0x68), AT(recv.freeRequest, 0x70)}));
}
namespace peer_info_at {
using T = ncclPeerInfo;
static_assert(sizeof(T) == 112 && in_place({
    AT(rank, 0x00), AT(cudaDev, 0x04), AT(gdrSupport, 0x08), AT(numaNode, 0x0c),
    AT(hostHash, 0x10), AT(pidHash, 0x18), AT(shmDev, 0x20), AT(busId, 0x28),
    AT(instanceFamily, 0x30), AT(podType, 0x34), AT(podId, 0x38), AT(podNode, 0x40),
    AT(routingId, 0x44), AT(tpbIndex, 0x48), AT(virtualCoreSize, 0x4c), AT(reserved, 0x50),
    AT(comm, 0x58), AT(computeCap, 0x60), AT(hostDevice, 0x64), AT(mlaIndex, 0x68),
    AT(podSize, 0x6c)}));
}
namespace connect_info_at {
using T = p2pConnectInfo;
static_assert(sizeof(p2pIpcHandle) == 64);
static_assert(sizeof(T) == 80 && in_place({
    AT(rank, 0x00), AT(read, 0x04), AT(directPtr, 0x08), AT(devIpc, 0x10)}));
}
namespace blob_trailer_at {
using T = p2pBlobTrailer;
static_assert(sizeof(T) == 48 && sizeof(p2pConnectInfo) + sizeof(T) == sizeof(ncclConnect));
static_assert(in_place({
    AT(magic, 0x00), AT(version, 0x08), AT(transport, 0x0a), AT(channel, 0x0c), AT(ownRank, 0x10),
    AT(peerRank, 0x14), AT(direction, 0x18), AT(buffDigest, 0x1c), AT(epoch, 0x20), AT(crc, 0x28),
    AT(pad, 0x2c)}));
}
namespace connect_at {
static_assert(sizeof(ncclConnect) == 128 && CONNECT_SIZE == 128);
}
namespace resources_at {
using T = p2pResources;
static_assert(sizeof(T) == 32 && in_place({
    AT(devMem, 0x00), AT(ipcPtr, 0x08), AT(remoteId, 0x10), AT(memRank, 0x14),
    AT(bootstrap, 0x18)}));
}
namespace send_mem_at {
using T = ncclSendMem;
static_assert(sizeof(T) == 4104 && in_place({
    AT(head, 0x000), AT(ptrExchange, 0x080), AT(alarm, 0x100), AT(buff, 0x1000)}));
}
namespace recv_mem_at {
using T = ncclRecvMem;
static_assert(sizeof(T) == 4104 && in_place({
    AT(tail, 0x000), AT(sizesFifo, 0x080), AT(ptrsFifo, 0x0a0), AT(alarm, 0x100),
    AT(buff, 0x1000)}));
static_assert(sizeof(T::sizesFifo) == 32 && sizeof(T::ptrsFifo) == 64);
}
namespace conn_info_at {
using T = ncclConnInfo;
static_assert(sizeof(T) == 88 && in_place({
    AT(buffs, 0x00), AT(tail, 0x18), AT(head, 0x20), AT(direct, 0x28), AT(shared, 0x2c),
    AT(ptrExchange, 0x30), AT(sizesFifo, 0x38), AT(ptrsFifo, 0x40), AT(step, 0x48),
    AT(llLastCleaning, 0x50)}));
}
namespace connector_at {
using T = ncclConnector;
static_assert(sizeof(T) == 128 && in_place({
    AT(connected, 0x00), AT(proxyAppend, 0x08), AT(transportComm, 0x10),
    AT(transportResources, 0x18), AT(conn, 0x20), AT(comm, 0x78)}));
}
namespace peer_at {
using T = ncclPeer;
static_assert(sizeof(T) == 256 && in_place({AT(send, 0x00), AT(recv, 0x80)}));
}
namespace channel_at {
using T = ncclChannel;
static_assert(sizeof(T) == 512 && in_place({
    AT(ring, 0x00), AT(tree, 0x18), AT(collTree, 0x2c), AT(id, 0x40), AT(peers, 0x48),
    AT(devPeers, 0x50), AT(workFifo, 0x58)}));
}
// clang-format on
#undef AT

static_assert(std::extent_v<decltype(ncclTransports)> == 2 && sizeof(ncclTransports) == 16);
static_assert(NCCL_NUM_PROTOCOLS == 3 && NCCL_STEPS == 8 && MAXCHANNELS == 32);

}  // namespace
