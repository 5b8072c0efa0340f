#include "net_plugin/properties.hpp"

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstring>
#include <mutex>
#include <optional>
#include <set>

#include "common/ofi/device_list.hpp"
#include "common/ofi/quirks.hpp"

namespace duofi::net {

namespace {

constexpr std::int64_t kIntMax = INT_MAX;

/// One copy per text, kept until unload: a caller that never finalizes and inits again still holds
/// the pointers of the first init.
const char* interned(std::string_view text) {
    static std::mutex mutex;
    static std::set<std::string> texts;
    const std::lock_guard lock(mutex);
    return texts.emplace(text).first->c_str();
}

int reported_speed(const DeviceFacts& facts) {
    return static_cast<int>(facts.speed_mbps > 0 ? std::min(facts.speed_mbps, kIntMax) : kFallbackSpeedMbps);
}

std::size_t max_message(const DeviceFacts& facts) {
    const auto bound = static_cast<std::size_t>(kIntMax);
    return facts.max_msg_bytes == 0 ? bound : std::min(facts.max_msg_bytes, bound);
}

/// Reads the id that libfabric gives as text, "0xefa0".
std::optional<std::uint16_t> device_id(const fi_info& info) {
    if (info.nic == nullptr || info.nic->device_attr == nullptr) return std::nullopt;
    const char* text = info.nic->device_attr->device_id;
    if (text == nullptr || std::strncmp(text, "0x", 2) != 0) return std::nullopt;
    std::uint16_t id = 0;
    const char* end = text + std::strlen(text);
    const auto parsed = std::from_chars(text + 2, end, id, 16);
    if (parsed.ec != std::errc{} || parsed.ptr != end) return std::nullopt;
    return id;
}

bool dmabuf(const DeviceFacts& facts, const PropertyPolicy& policy) {
    memory::DmabufSupport gate;
    gate.caps = facts.caps;
    gate.api_version = facts.api_version;
    gate.viable = policy.dmabuf_viable;
    gate.gdr = policy.gdr;
    gate.is_efa = facts.is_efa;
    gate.has_nic_attributes = facts.has_nic_attributes;
    gate.nic_device_id = facts.nic_device_id;
    return memory::dmabuf_supported(gate);
}

}  // namespace

bool usable_pci_path(std::string_view path) noexcept {
    const auto slash = path.rfind('/');
    if (slash == std::string_view::npos) return false;
    const std::size_t last = path.size() - slash - 1;
    return last > 0 && last < kBusIdBytes;
}

bool registration_is_global(std::uint64_t mr_mode, bool domain_per_thread) noexcept {
    return (mr_mode & memory::kModeEndpoint) == 0 && !domain_per_thread;
}

DeviceFacts facts_of(const ofi::DeviceInfo& device) {
    const fi_info& info = *device.info;
    DeviceFacts out;
    out.name = device.name;
    out.pci_path = device.pci_path.value_or("");
    out.guid = device.guid;
    out.speed_mbps = device.speed_mbps;
    out.port = device.port;
    out.caps = device.caps;
    out.mr_mode = static_cast<std::uint64_t>(info.domain_attr->mr_mode);
    out.api_version = info.fabric_attr->api_version;
    out.max_msg_bytes = device.max_msg_size;
    out.mr_key_bytes = info.domain_attr->mr_key_size;
    out.inject_bytes = info.tx_attr->inject_size;
    out.is_efa = !ofi::efa_version_ok(device.provider, 0);  // the gate shuts for that provider only
    const auto id = device_id(info);
    out.has_nic_attributes = id.has_value();
    out.nic_device_id = id.value_or(0);
    return out;
}

DeviceFacts facts_of(const ofi::RailInfos& rails) {
    DeviceFacts out = facts_of(*rails.front());
    out.speed_mbps = ofi::speed_of(rails);
    return out;
}

DeviceProperties make_properties(const DeviceFacts& facts, const PropertyPolicy& policy) {
    DeviceProperties out;
    out.name = interned(facts.name);
    out.pci_path = usable_pci_path(facts.pci_path) ? interned(facts.pci_path) : nullptr;
    out.guid = facts.guid;
    out.hmem_supported = policy.gdr == memory::GdrState::supported;
    out.dmabuf_supported = dmabuf(facts, policy);
    out.reg_is_global = registration_is_global(facts.mr_mode, policy.domain_per_thread);
    out.speed_mbps = reported_speed(facts);
    out.port = facts.port;
    out.latency_us = static_cast<float>(policy.latency_us);
    out.max_comms = policy.max_comms;
    out.max_p2p_bytes = max_message(facts);
    out.max_coll_bytes = out.max_p2p_bytes;
    out.max_write_inline_bytes = facts.inject_bytes;
    out.max_mr_key_bytes = facts.mr_key_bytes;
    const bool counts_from_zero = (memory::expanded_mr_mode(facts.mr_mode) & memory::kModeVirtAddr) != 0;
    out.rma_supported = (facts.caps & memory::kCapRma) != 0 && (policy.tells_origins || counts_from_zero);
    return out;
}

int canonical_ptr_support(const DeviceProperties& properties) noexcept {
    int bits = NCCL_PTR_HOST;
    if (properties.hmem_supported) bits |= NCCL_PTR_CUDA;
    if (properties.dmabuf_supported) bits |= NCCL_PTR_DMABUF;
    return bits;
}

ncclNetProperties_v6_t to_v6(const DeviceProperties& properties) noexcept {
    ncclNetProperties_v6_t out{};
    out.name = const_cast<char*>(properties.name);  // callers only read; the ABI lacks the const
    out.pciPath = const_cast<char*>(properties.pci_path);
    out.guid = properties.guid;
    out.ptrSupport = canonical_ptr_support(properties);
    out.speed = properties.speed_mbps;
    out.port = properties.port;
    out.latency = properties.latency_us;
    out.maxComms = properties.max_comms;
    out.maxRecvs = properties.max_group_receives;
    return out;
}

}  // namespace duofi::net
