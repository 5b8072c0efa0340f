// Lines of the OFI core.
#pragma once

namespace duofi::messages {

inline constexpr char kOpenFailed[] =
    "NET/OFI op={} dev={} provider={} err={} err_text=\"{}\" hint=\"see duofi info for the providers found\"";
inline constexpr char kRegistrationFailed[] =
    "NET/OFI op=regMr size={} err={} err_text=\"{}\" hint=\"check ulimit -l\"";
inline constexpr char kKeysExhausted[] =
    "NET/OFI op=regMr err_text=\"all registration keys are in use\" in_use={} hint=\"raise OFI_NCCL_MR_KEY_SIZE\"";
inline constexpr char kMessageLost[] = "the provider lost a message that had arrived, perhaps from this peer";
inline constexpr char kPeerLost[] =
    "NET/OFI peer lost: dev={} provider={} peer={} pid={} evidence=\"{}\" hint=\"look at the log of that rank\"";
inline constexpr char kStalled[] =
    "NET/OFI no progress: op={} dev={} peer={} size={} tag={} age={}s hint=\"is the peer still calling the library?\"";
inline constexpr char kProtocolViolation[] =
    "NET/OFI protocol violation: dev={} peer={} what=\"{}\"";
inline constexpr char kOperationFailed[] = "NET/OFI {}";
inline constexpr char kEndpointClosedDirty[] =
    "NET/OFI endpoint closed without an answer from {} peers: dev={} hint=\"they are stopped or unreachable\"";
inline constexpr char kEndpointAbandoned[] =
    "NET/OFI endpoint left open: dev={}, {} reads under way from peers that are stopped or unreachable; its memory stays taken";
inline constexpr char kRefused[] =
    "NET/OFI connect refused by peer: dev={} reason=\"{}\"";
inline constexpr char kConnectLost[] =
    "NET/OFI connect failed: dev={} peer={} hint=\"its endpoint closed or its process ended meanwhile\"";
inline constexpr char kConnectTimeout[] =
    "NET/OFI connect gave up after {}s: dev={} peer={} hint=\"is the address reachable? DUOFI_CONNECT_TIMEOUT sets the limit\"";

}  // namespace duofi::messages
