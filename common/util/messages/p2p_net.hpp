// Lines of the network transport of P2P. The first one keeps its words (p2p contract 1.19).
#pragma once

namespace duofi::messages {

inline constexpr char kNetSendEdge[] = "Channel {:02} : {}[{:x}] -> {}[{:x}] [send] via NET_NEURON/{}/{}{}";
inline constexpr char kNetPluginLine[] = "{}";
inline constexpr char kNetInUse[] = "P2P rank {}: NET over {} (table v{}), {} devices";
inline constexpr char kNetUnknownVersion[] = "P2P NET: table v{} of {} is not used (accepted: v6 to v12)";
inline constexpr char kNetCallFailed[] =
    "P2P rank {}: {} of the net plugin for rank {} (channel {}) returned {}";
inline constexpr char kNetOtherTransport[] =
    "P2P rank {}: rank {} selected P2P for channel {}, this rank selected NET";
inline constexpr char kNetNotDrained[] =
    "P2P rank {}: channel {} to rank {} is closed with operations under way";
inline constexpr char kNetNoMemory[] = "P2P rank {}: no memory for the buffers of a NET edge ({} bytes)";

}  // namespace duofi::messages
