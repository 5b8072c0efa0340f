// Lines of the exchange between ranks: who we are, the store, local processes.
#pragma once

namespace duofi::messages {

inline constexpr char kRankFacts[] =
    "BOOTSTRAP rank facts from {}: rank {} of {}, local rank {}, root {}:{}";
inline constexpr char kBadLaunchValue[] = "BOOTSTRAP {} is set to \"{}\"; accepted: {}";

inline constexpr char kStoreListenFailed[] =
    "BOOTSTRAP op=listen host=\"{}\" port={} err={} err_text=\"{}\" hint=\"is the port taken?\"";
inline constexpr char kStoreServing[] = "BOOTSTRAP store serves {} ranks on port {}";
inline constexpr char kStoreDropped[] = "BOOTSTRAP store dropped client {}: {}";
inline constexpr char kStoreRankLost[] =
    "BOOTSTRAP store lost rank {} ({}): its connection ended without a farewell";
inline constexpr char kStoreRefused[] =
    "BOOTSTRAP store refused rank {} of {}: {} hint=\"do all ranks agree on size and version?\"";
inline constexpr char kStoreUnreachable[] =
    "BOOTSTRAP op=connect rank={} root={}:{} err={} err_text=\"{}\" hint=\"is rank 0 running "
    "there?\"";
inline constexpr char kStorePeerGone[] = "BOOTSTRAP op={} key=\"{}\" rank={}: rank {} is gone";
inline constexpr char kStoreTimedOut[] = "BOOTSTRAP op={} key=\"{}\" rank={}: deadline passed{}";
inline constexpr char kStoreBroken[] =
    "BOOTSTRAP op={} rank={} err={} err_text=\"{}\": connection to the store of rank 0 ended";
inline constexpr char kStoreNoPort[] =
    "BOOTSTRAP no root port: set MASTER_PORT or give one; {} ranks need the store of rank 0";
inline constexpr char kStoreBadKey[] =
    "BOOTSTRAP op={} key of {} bytes, value of {} bytes; accepted: 1 to {} and up to {}";

inline constexpr char kSpawnFailed[] =
    "BOOTSTRAP op=fork rank={} err={} err_text=\"{}\" hint=\"ulimit -u\"";
inline constexpr char kSpawnBodyThrew[] = "BOOTSTRAP rank {} ended with an exception: {}";
inline constexpr char kSpawnRankFailed[] = "BOOTSTRAP {}; ending the other ranks";
inline constexpr char kSpawnDeadline[] =
    "BOOTSTRAP {} of {} ranks still ran when the deadline passed; ending them";
inline constexpr char kSpawnSignal[] = "BOOTSTRAP signal {} received; passing it on to all ranks";

}  // namespace duofi::messages
