// Models of real machines: from their PCI tree, or from a file (p2p contract 3.6). Any thread.
#pragma once

#include <optional>
#include <string>

#include "common/topology/io_tree.hpp"
#include "p2p/gate/topology.hpp"
#include "p2p/gate/xml_document.hpp"

namespace duofi::p2p {

/// Which devices of a PCI tree become devices of the model.
enum class Accelerators { none, all };

/// Bridges that are the ports of one switch become one node. Devices are ordered by bus id.
[[nodiscard]] TopoModel model_of_tree(const topology::IoTree& tree, Accelerators accelerators);

/// GPUs and Neuron devices, by PCI class and vendor.
[[nodiscard]] bool is_accelerator(const topology::IoObject& object) noexcept;

/// This machine, from hwloc, or from sysfs when hwloc fails; `source` says which.
[[nodiscard]] TopoModel model_of_this_machine(Accelerators accelerators);

/// A file as hwloc or as NCCL writes it; its root element tells which.
[[nodiscard]] FileResult<TopoModel> model_of_file(const std::string& path);

/// The same, with one WARN line when it fails; `named_by` is the variable or option that holds the
/// path. Errors: invalid_argument.
[[nodiscard]] Result<TopoModel> load_model(const char* named_by, const std::string& path);

}  // namespace duofi::p2p
