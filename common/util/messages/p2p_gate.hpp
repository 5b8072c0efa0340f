// Lines of the gate of P2P and of the descriptions of machines that it reads.
#pragma once

namespace duofi::messages {

inline constexpr char kTopologyFile[] = "P2P {}: {}:{}: {}";
inline constexpr char kTopologyDumpFailed[] = "P2P NCCL_TOPO_DUMP_FILE: {} cannot be written ({})";
inline constexpr char kTopologyDumped[] = "P2P topology written to {} (NCCL_TOPO_DUMP_FILE)";
inline constexpr char kTopologyLevelBad[] = "P2P NCCL_P2P_LEVEL=\"{}\" is not used hint=\"accepted: {}\"";
inline constexpr char kTopologyUnknownDevice[] =
    "P2P rank {}: device {:x} is not in the topology ({}), so it cannot use P2P";
inline constexpr char kTopologyMatrix[] = "P2P {}";
inline constexpr char kSimTopology[] =
    "topo= takes trn1, trn2, trn3, trn3switch or inf2, with :1, :4, :8, :16 (inf2 :1, :6, :12), or an XML file";
inline constexpr char kSimTopologyFile[] = "the file of topo= cannot be used";

}  // namespace duofi::messages
