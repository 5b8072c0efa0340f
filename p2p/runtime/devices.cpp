#include "p2p/runtime/devices.hpp"

#include <charconv>
#include <mutex>
#include <utility>

#include "common/topology/sysfs.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/p2p_runtime.hpp"
#include "p2p/gate/topology.hpp"
#include "p2p/runtime/slot_error.hpp"

namespace duofi::p2p::devices {

namespace {

struct State {
    std::mutex mutex;
    std::vector<int> nodes;
    std::vector<bool> enabled;  // peers
};
State& state() {
    static State instance;
    return instance;
}
thread_local int current_device = 0;

int no_device() { return slot_failure(Errc::invalid_argument, messages::kRuntimeDevice); }

}  // namespace

void set_device_nodes(std::vector<int> nodes) {
    const std::scoped_lock lock(state().mutex);
    state().enabled.assign(nodes.size(), false);
    state().nodes = std::move(nodes);
}

std::vector<int> parse_node_list(std::string_view text) {
    std::vector<int> nodes;
    const char* at = text.data();
    const char* end = at + text.size();
    while (at < end) {
        int first = -1;
        auto parsed = std::from_chars(at, end, first);
        if (parsed.ec != std::errc{} || first < 0) return {};
        int last = first;
        if (parsed.ptr < end && *parsed.ptr == '-') {
            parsed = std::from_chars(parsed.ptr + 1, end, last);
            if (parsed.ec != std::errc{} || last < first) return {};
        }
        if (last - first >= kMostDevices - static_cast<int>(nodes.size())) return {};
        for (int node = first; node <= last; ++node) nodes.push_back(node);
        if (parsed.ptr < end && (*parsed.ptr != ',' || parsed.ptr + 1 == end)) return {};
        at = parsed.ptr < end ? parsed.ptr + 1 : end;
    }
    return nodes;
}

std::vector<int> device_nodes(std::string_view text) {
    if (!text.empty()) {
        std::vector<int> wanted = parse_node_list(text);
        if (!wanted.empty()) return wanted;
        log::warn(NCCL_INIT | NCCL_P2P, messages::kRuntimeBadDevices, text);
    }
    const auto online = topology::Sysfs().first_line("/sys/devices/system/node/online");
    std::vector<int> nodes = online ? parse_node_list(*online) : std::vector<int>{};
    return nodes.empty() ? std::vector<int>{-1} : nodes;
}

bool exists(int device) noexcept {
    const std::scoped_lock lock(state().mutex);
    return device >= 0 && device < static_cast<int>(state().nodes.size());
}

int current() noexcept { return exists(current_device) ? current_device : 0; }

int node_of(int device) noexcept {
    const std::scoped_lock lock(state().mutex);
    const auto index = static_cast<std::size_t>(device);
    return device >= 0 && index < state().nodes.size() ? state().nodes[index] : -1;
}

int get_device_count(int* count) {
    if (count == nullptr) return null_pointer();
    const std::scoped_lock lock(state().mutex);
    *count = static_cast<int>(state().nodes.size());
    return kRuntimeOk;
}

int set_device(int device) {
    if (!exists(device)) return no_device();
    current_device = device;
    return kRuntimeOk;
}

int get_device(int* device) {
    if (device == nullptr) return null_pointer();
    *device = current();
    return kRuntimeOk;
}

int device_family(int device, int* family) {
    if (family == nullptr) return null_pointer();
    if (!exists(device)) return no_device();
    *family = 0;
    return kRuntimeOk;
}

int device_info(int device, DeviceInfo* info) {
    if (info == nullptr) return null_pointer();
    if (!exists(device)) return no_device();
    *info = {};
    info->host_device = device;
    info->numa_node = node_of(device);
    return kRuntimeOk;
}

int device_by_pci_bus_id(std::int64_t bus_id, int* device) {
    if (device == nullptr) return null_pointer();
    const auto index = static_cast<int>(bus_id >> 12 & 0xff);
    if (!exists(index) || made_up_bus_id(index) != bus_id)
        return slot_failure(Errc::invalid_argument, messages::kRuntimeBusId);
    *device = index;
    return kRuntimeOk;
}

int device_pci_bus_id(int device, std::int64_t* bus_id) {
    if (bus_id == nullptr) return null_pointer();
    if (!exists(device)) return no_device();
    *bus_id = made_up_bus_id(device);
    return kRuntimeOk;
}

int device_numa_node(int device, int* node) {
    if (node == nullptr) return null_pointer();
    if (!exists(device)) return no_device();
    *node = node_of(device);
    return kRuntimeOk;
}

int can_access_peer(int* can, int device, int peer) {
    if (can == nullptr) return null_pointer();
    if (!exists(device) || !exists(peer)) return no_device();
    *can = 1;
    return kRuntimeOk;
}

int enable_peer_access(int peer, unsigned) {
    if (!exists(peer)) return no_device();
    const std::scoped_lock lock(state().mutex);
    auto enabled = state().enabled[static_cast<std::size_t>(peer)];
    if (enabled) return kPeerAccessAlreadyEnabled;
    enabled = true;
    return kRuntimeOk;
}

int disable_peer_access(int peer) {
    if (!exists(peer)) return no_device();
    const std::scoped_lock lock(state().mutex);
    auto enabled = state().enabled[static_cast<std::size_t>(peer)];
    if (!enabled) return slot_failure(Errc::invalid_usage, messages::kRuntimePeerNotEnabled);
    enabled = false;
    return kRuntimeOk;
}

}  // namespace duofi::p2p::devices
