// Lines of the emulated proxies.
#pragma once

namespace duofi::messages {

inline constexpr char kGinProxyStopped[] =
    "GIN/Proxy: stopped: operation={} result={} peer={} context={} (the communicator is of no "
    "further use; NCCL_DEBUG=INFO shows what the plugin said)";
inline constexpr char kRmaProxyStopped[] =
    "RMA/Proxy: stopped: operation={} result={} peer={} (the communicator is of no further use; "
    "NCCL_DEBUG=INFO shows what the plugin said)";
inline constexpr char kGinWaitTimedOut[] =
    "GIN/Device: {} timed out: peer={} rank={} context={} outstanding={} limit={}ms";
inline constexpr char kProxyCloseFailed[] = "GIN/Proxy: close: operation={} result={}";

}  // namespace duofi::messages
