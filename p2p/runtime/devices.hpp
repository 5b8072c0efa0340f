// Devices of runtimes whose devices are CPUs: one for each NUMA node, or as many as the user names, with made-up bus
// ids in PCI domain 0xffff (p2p contract 3.6). The functions named as slots are the slots of all our runtimes. Any thread,
// but for set_device_nodes (init only).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "p2p/runtime/runtime_table.hpp"

namespace duofi::p2p::devices {

/// Most devices of one process.
inline constexpr int kMostDevices = 256;

/// Device i uses memory of node nodes[i]; -1: no wish. Forgets enabled peers.
void set_device_nodes(std::vector<int> nodes);
/// From the text of DUOFI_P2P_HOST_DEVICES; empty or malformed (one WARN line): the nodes of this machine.
[[nodiscard]] std::vector<int> device_nodes(std::string_view text);
/// Nodes in a list such as "0-1,4"; empty when malformed.
[[nodiscard]] std::vector<int> parse_node_list(std::string_view text);

[[nodiscard]] bool exists(int device) noexcept;
/// Of the calling thread, and the node of its memory.
[[nodiscard]] int current() noexcept;
[[nodiscard]] int node_of(int device) noexcept;

int get_device_count(int* count);
int set_device(int device);
int get_device(int* device);
int device_family(int device, int* family);
int device_info(int device, DeviceInfo* info);
int device_by_pci_bus_id(std::int64_t bus_id, int* device);
int device_pci_bus_id(int device, std::int64_t* bus_id);
int device_numa_node(int device, int* node);
/// 1 for any two devices: CPUs of one node reach all its memory.
int can_access_peer(int* can, int device, int peer);
/// 704 when it is enabled already.
int enable_peer_access(int peer, unsigned flags);
int disable_peer_access(int peer);

}  // namespace duofi::p2p::devices
