// Lines of the runtimes of P2P, and the reasons that their errors carry as their place.
#pragma once

namespace duofi::messages {

inline constexpr char kRuntimeReady[] =
    "P2P runtime {}: {} devices, capabilities 0x{:x}, memory of other processes: {}";
inline constexpr char kRuntimeUnavailable[] =
    "P2P runtime \"{}\" is not in this build (DUOFI_P2P_RUNTIME; there are: host, unified, sim, cuda, hip, neuron)";
inline constexpr char kRuntimeInUse[] =
    "P2P runtime {} cannot be used: this process uses {} already";
inline constexpr char kRuntimeFailed[] = "P2P runtime {}: op={} code={} err_text=\"{}\"";
inline constexpr char kRuntimeNoIpc[] =
    "P2P runtime {}: memory cannot be shared with other processes: {} (error {}) hint=\"is /proc mounted?\"";
inline constexpr char kRuntimeLeftovers[] = "P2P runtime {}: {} allocations were not freed";
inline constexpr char kRuntimeBadDevices[] =
    "P2P DUOFI_P2P_HOST_DEVICES=\"{}\" is not used (accepted: a comma list of NUMA nodes); one device per node";
inline constexpr char kSimBadPlan[] = "P2P DUOFI_P2P_SIM=\"{}\": {}";
inline constexpr char kRelayRefused[] = "P2P relay refused {} bytes: {}";

inline constexpr char kNoError[] = "no error";
inline constexpr char kUnknownError[] = "unknown error";
inline constexpr char kPeerAccessAlready[] = "peer access is already enabled";
inline constexpr char kOtherRuntime[] = "this process uses another P2P runtime";
inline constexpr char kNoRuntime[] = "no P2P runtime is in use";
inline constexpr char kSlotMissing[] = "the runtime does not offer this";
inline constexpr char kRuntimeNull[] = "a pointer is NULL";
inline constexpr char kRuntimeCopyKind[] = "the kind of copy is not 0 to 4";
inline constexpr char kRuntimeOpenFlag[] = "the only flag of an open is 1";
inline constexpr char kRuntimeDevice[] = "there is no such device";
inline constexpr char kRuntimeBusId[] = "no device has this bus id";
inline constexpr char kRuntimePeerNotEnabled[] = "peer access is not enabled";
inline constexpr char kRuntimeNotOurs[] = "the address is not memory of the runtime";
inline constexpr char kRuntimeSize[] = "size 0 or too large";
inline constexpr char kRuntimeNoMemory[] = "not enough memory for an allocation";
inline constexpr char kRuntimeChild[] = "P2P cannot be used in a forked child; create the communicator after the fork";
inline constexpr char kRuntimeNotForCpus[] =
    "P2P: kernels run on CPUs here, which cannot reach the memory of this runtime hint=\"DUOFI_P2P_RUNTIME=host\"";
inline constexpr char kRuntimeNoDriver[] = "the driver library cannot be used (the line before says why)";
inline constexpr char kSimFault[] = "the sim runtime was told to fail here";
inline constexpr char kSimSyntax[] =
    "accepted: base=host|unified; devices=N or topo=NAME[:CHIPS]|FILE; reach=adjacent|instance; "
    "pod=p2p:ID:NODE:SIZE|switch:ID:NODE; vserver=N; far=A-B,..; latency_us=N; fail=SLOT:CALL[:CODE],..";

inline constexpr char kRelayAddress[] = "the rank offers no relay service";
inline constexpr char kRelayConnect[] = "the relay's service does not answer";
inline constexpr char kRelayAnswer[] = "the relay's answer is not valid";
inline constexpr char kRelayTimeout[] = "the relay did not answer in time";
inline constexpr char kRelayOutOfLeases[] = "the relay lends no more buffers";
inline constexpr char kRelayOutOfMemory[] = "the relay has not enough memory";
inline constexpr char kRelayUnknownLease[] = "no such lease";

}  // namespace duofi::messages
