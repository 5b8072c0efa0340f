// NCCL's own description of a machine in XML (NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE; p2p contract 3.6),
// both ways. Pure functions; any thread.
#pragma once

#include <string>

#include "p2p/gate/topology.hpp"
#include "p2p/gate/xml_document.hpp"

namespace duofi::p2p {

/// The machine under a root element "system" of version 1. Elements that are not known are skipped;
/// wrong ones are a fault with their line and what was expected there. Devices keep the order of
/// their "dev" numbers.
[[nodiscard]] FileResult<TopoModel> model_of_nccl_xml(const XmlElement& root);

/// The same machine again, for model_of_nccl_xml and for NCCL. Ends with a line break.
[[nodiscard]] std::string nccl_xml_of(const TopoModel& model);

}  // namespace duofi::p2p
