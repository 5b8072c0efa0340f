// `duofi topo`: who reaches whom over P2P, on this machine, on one that a file describes, or on a made-up
// one (p2p contract 3.7). The steps are those of the transports (C-34).
#pragma once

#include <string>

namespace duofi::tool {

struct TopoOptions {
    std::string xml;       ///< file of hwloc or NCCL; "": this machine
    std::string sim;       ///< description as in DUOFI_P2P_SIM
    std::string svg_file;  ///< also a picture there
    std::string dump_file; ///< also the machine as NCCL's XML there
    bool threads = false;  ///< ranks are threads of one process
    bool reasons = false;
    bool json = false;
};

/// Returns the exit code: 1 when the machine cannot be read or a file cannot be written.
int run_topo(const TopoOptions& options);

}  // namespace duofi::tool
