// What `duofi info` finds out, as plain data. Collected by info.cpp, printed by info_text.cpp or
// report.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/ofi/device_list.hpp"
#include "common/util/settings.hpp"

namespace duofi::tool {

struct BuildFacts {
    std::string version, revision, compiler, build_type, libfabric_headers;
};

struct LibraryFacts {
    std::string libfabric_version, libfabric_file;
    std::string hwloc_file;  ///< "" when not mapped
};

/// A device as the plugin's v6 table shows it to a host.
struct HostDevice {
    std::string name, pci_path;
    std::uint64_t guid = 0;
    int pointer_support = 0, speed_mbps = 0, port = 0, max_comms = 0, max_recvs = 0;
    double latency_us = 0;
};

struct PluginFacts {
    std::string asked;                ///< short name or path
    std::string file;                 ///< "" when nothing opened
    std::string hash;                 ///< FNV-1a 64 of the file, hex; to compare nodes
    std::string error;                ///< why nothing opened, or why init failed; "" = fine
    std::string network_name;         ///< `name` of the table a current RCCL takes
    int taken_version = 0;            ///< that table's version, 0 = none
    std::vector<std::string> tables;  ///< exported symbols, newest net first, then RMA
    std::vector<HostDevice> devices;  ///< empty unless init succeeded
    std::string protocol;             ///< of large messages: "SENDRECV", "RDMA"
    std::vector<std::string> rails;   ///< one text per device of several rails
};

struct InfoReport {
    BuildFacts build;
    LibraryFacts libraries;
    std::string settings_error;  ///< "" = settings are good
    std::vector<SettingRow> settings;
    std::string discovery_error;  ///< "" = at least one device
    ofi::DeviceList discovered;
    PluginFacts plugin;
    std::string fingerprint;  ///< one line, equal on nodes that fit together (A22)
};

}  // namespace duofi::tool
