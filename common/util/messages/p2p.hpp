// Lines of the intra-node transport. Those that users grep for keep their words (p2p contract 1.19).
#pragma once

namespace duofi::messages {

inline constexpr char kP2pDirect[] =
    "Channel {:02} : {}[{:x}] -> {}[{:x}] via P2P/direct pointer{}";
inline constexpr char kP2pIpc[] = "Channel {:02} : {}[{:x}] -> {}[{:x}] via P2P/IPC{}";
inline constexpr char kP2pIndirect[] =
    "Channel {:02} : {}[{:x}] -> {}[{:x}] via P2P/indirect/{}[{:x}]{}";
inline constexpr char kP2pCouldNotEnable[] =
    "Could not enable P2P between dev {}(={:x}) and dev {}(={:x})";
inline constexpr char kP2pQueryFailed[] = "peer query failed between dev {}(={:x}) and dev {}(={:x})";
inline constexpr char kP2pNoTransport[] =
    "No transport found between devices {} and {}. Possible replica group misconfiguration";
inline constexpr char kP2pPeerFailed[] = "failed to peer with device {}(={:x}): {} {}";
inline constexpr char kP2pSetByEnvironment[] = "{} set by environment to {}";

inline constexpr char kP2pReady[] =
    "P2P {} {}: rank={} nranks={} runtime={} device={} busId={:x} channels={} buffers={}/{}/{} NUMA={}";
inline constexpr char kP2pRankDiffers[] =
    "P2P rank {} has another {}: {} there, {} here hint=\"same package and settings on all ranks\"";
inline constexpr char kP2pBadSetting[] = "P2P {}=\"{}\" is not used hint=\"accepted: {}\"";
inline constexpr char kP2pBadBuffers[] =
    "P2P buffer sizes LL={} LL128={} SIMPLE={} (accepted: multiples of 1024 above 0, at most {} together)";
inline constexpr char kP2pBadChannels[] = "P2P channels={} (accepted: 1..{})";
inline constexpr char kP2pBadArgument[] = "P2P {}: {}";
inline constexpr char kP2pForkedChild[] =
    "P2P {}: called in a child of the process that made the communicator; only the parent may use it";
inline constexpr char kP2pBootstrapFailed[] = "P2P {} with rank {} failed during {}: {}";
inline constexpr char kP2pGatherFailed[] = "P2P rank {}: the ranks did not all arrive at {}: {}";
inline constexpr char kP2pPeerGaveUp[] = "P2P rank {}: rank {} gave up during {} with result {}";
inline constexpr char kP2pPeerGone[] = "P2P rank {}: rank {} (pid {}) of this node is gone";
inline constexpr char kP2pAborted[] = "P2P rank {}: {} ends because the communicator was aborted";
inline constexpr char kP2pUnexpected[] =
    "P2P rank {}: rank {} sent a message of type {} during {} (expected: {})";
inline constexpr char kP2pBlobCount[] =
    "P2P rank {}: rank {} sent {} bytes of connect blobs, expected {} bytes hint=\"the two ranks mark different channels\"";
inline constexpr char kP2pOtherTransport[] =
    "P2P rank {}: rank {} selected transport {} for channel {}, this rank selected P2P";
inline constexpr char kP2pNotABlob[] =
    "P2P rank {}: the connect blob of rank {} for channel {} is not one of P2P hint=\"has the other side selected another transport?\"";
inline constexpr char kP2pBrokenBlob[] =
    "P2P rank {}: the connect blob of rank {} for channel {} is damaged";
inline constexpr char kP2pForeignBlob[] =
    "P2P rank {}: the connect blob of rank {} is meant for {}: {} here, {} there";
inline constexpr char kP2pOtherBuffers[] =
    "P2P rank {}: rank {} uses other buffer sizes hint=\"same NCCL_BUFFSIZE, NCCL_LL_BUFFSIZE and NCCL_LL128_BUFFSIZE on all ranks\"";
inline constexpr char kP2pReadDisagrees[] =
    "P2P rank {}: rank {} says read={} for channel {}, this rank says read={} hint=\"same NCCL_P2P_READ_ENABLE on all ranks\"";
inline constexpr char kP2pConnectedTwice[] =
    "P2P rank {}: connect of a connector that is connected (channel {})";
inline constexpr char kP2pBadOwner[] =
    "P2P rank {}: rank {} says that rank {} owns its memory (accepted: 0..{})";
inline constexpr char kP2pSmallMemory[] =
    "P2P rank {}: memory of rank {} has {} bytes at offset {}, expected {} at offset 0";
inline constexpr char kP2pNoRelayAddress[] =
    "P2P rank {}: the edge to rank {} needs a buffer on rank {}, which offers none";
inline constexpr char kP2pMirrorBroken[] =
    "P2P rank {}: the connector of rank {} did not arrive where kernels read it hint=\"the runtime copies nothing, so devPeers must be peers\"";
inline constexpr char kP2pRelaySentinel[] =
    "P2P: a connector with a relay buffer (id {}) is freed, but relays are off";
inline constexpr char kP2pKernelFailed[] =
    "P2P rank {}: {} failed: {} hint=\"do all ranks call it with the same counts?\"";
inline constexpr char kP2pPeerFailedInKernel[] =
    "P2P rank {}: {} ends because an operation failed on rank {}, whose log says why";
inline constexpr char kP2pNotWatched[] =
    "P2P rank {}: the end of rank {} will not be noticed: {} hint=\"DUOFI_P2P_TIMEOUT limits its waits\"";
inline constexpr char kP2pTeardownAlone[] =
    "P2P rank {}: destroyed without the other ranks: {}";

}  // namespace duofi::messages
