// Lines of the RMA plugin.
#pragma once

namespace duofi::messages {

inline constexpr char kRmaReady[] =
    "RMA/OFI {} {}: table=v{} provider={} devices={} done={} engine={} libfabric={}.{}";
inline constexpr char kRmaDeclined[] =
    "RMA/OFI tables not offered: {}. hint=\"NCCL_RMA_PLUGIN=duofi or DUOFI_RMA=1 asks for them\"";
inline constexpr char kRmaUnsupported[] =
    "RMA/OFI dev={} provider={} cannot serve one-sided operations: the provider grants no one-sided operations with ordered signals";

inline constexpr char kRmaBadObject[] = "RMA/OFI {}: {} is not one of ours, or has ended";
inline constexpr char kRmaNullArgument[] = "RMA/OFI {}: argument {} is NULL";
inline constexpr char kRmaBadDevice[] = "RMA/OFI {}: device {} (accepted: 0..{})";
inline constexpr char kRmaBadRanks[] = "RMA/OFI connect: nranks={} rank={} (accepted: nranks 1..{}, rank below it)";
inline constexpr char kRmaBadHandle[] =
    "RMA/OFI connect: the handle of rank {} is {} (expected: what listen of the same provider and version has written; DUOFI_OFI_PROVIDER and FI_PROVIDER must be the same on all ranks)";
inline constexpr char kRmaListenerUsed[] = "RMA/OFI connect: the listen comm has served a connect already";
inline constexpr char kRmaStranger[] =
    "RMA/OFI connect: rank {} introduced itself at rank {} of {}, but its handle was not given";
inline constexpr char kRmaDisagreement[] =
    "RMA/OFI connect: rank {} says {:#x}, rank {} says {:#x} about number of ranks, engine and completion hint=\"same nranks, DUOFI_RMA_ENGINE and DUOFI_RMA_COMPLETION on all ranks\"";
inline constexpr char kRmaConnectTimeout[] =
    "RMA/OFI connect gave up after {}s: {} of {} ranks have not introduced themselves, first is rank {}: dev={} hint=\"have all ranks called connect? DUOFI_CONNECT_TIMEOUT sets the limit\"";
inline constexpr char kRmaConnectLost[] =
    "RMA/OFI connect failed within {}s: a rank is gone; {} of {} ranks have not introduced themselves, first is rank {}: dev={}";
inline constexpr char kRmaBadConfig[] = "RMA/OFI createContext: nContexts={} (accepted: 1 or more)";

inline constexpr char kRmaMemoryType[] =
    "RMA/OFI regMrSym: type={} (accepted: 1 = host memory; this device reports ptrSupport 1)";
inline constexpr char kRmaNoDmabuf[] =
    "RMA/OFI regMrSymDmaBuf: not offered (ptrSupport says so)";
inline constexpr char kRmaBadRange[] = "RMA/OFI regMrSym: data={} size={} is not a range of memory";
inline constexpr char kRmaWindowFailed[] =
    "RMA/OFI regMrSym: rank {} could not register its part (reason {}), so no rank does";
inline constexpr char kRmaWindowIncomplete[] =
    "RMA/OFI regMrSym: {} of {} ranks did not take part within {}s hint=\"all ranks must call it in the same order\"";

inline constexpr char kRmaBadStream[] = "RMA/OFI {}: context {} does not exist";
inline constexpr char kRmaBadRank[] = "RMA/OFI {}: rank {} (accepted: 0..{})";
inline constexpr char kRmaOutOfRange[] =
    "RMA/OFI {}: {} offset {} size {} is outside the window of {} bytes on rank {}";
inline constexpr char kRmaForeignWindow[] = "RMA/OFI {}: {} is not a window of this group";
inline constexpr char kRmaBadSignal[] =
    "RMA/OFI iputSignal: signal offset {} on rank {} (accepted: 8-byte aligned, inside the window of {} bytes)";
inline constexpr char kRmaBadSignalOp[] = "RMA/OFI iputSignal: signalOp={:#x} (accepted: 1 = INC, 2 = ADD)";
inline constexpr char kRmaRankGone[] = "RMA/OFI {}: rank {} is lost or has left the group";
inline constexpr char kRmaStaleRequest[] =
    "RMA/OFI test: the request is not outstanding (tested after done, or its context has ended)";
inline constexpr char kRmaOperationFailed[] =
    "RMA/OFI op={} rank={} size={} err={} err_text=\"{}\"";
inline constexpr char kRmaContextAbandoned[] =
    "RMA/OFI destroyContext: {} operations were not finished within {} ms and are given up";
inline constexpr char kRmaLateSignals[] =
    "RMA/OFI {} signals for deregistered windows were dropped on rank {}";
inline constexpr char kRmaForkedChild[] =
    "RMA/OFI {}: called in a child of the process that initialised the plugin; only the parent may use it";

}  // namespace duofi::messages
