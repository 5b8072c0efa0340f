#include "rma_plugin/properties.hpp"

#include <algorithm>
#include <cstring>

#include "common/memory/registration_policy.hpp"

namespace duofi::rma {

namespace {

constexpr int kQueueMultiplier = 8;       // architecture 6; a power of two
constexpr std::size_t kMaxBytes = std::size_t{1} << 30;  // MAX_NET_SIZE

}  // namespace

ncclNetProperties_v12_t properties_of(const ofi::DeviceInfo& device, int index, const ReportedForAll& all) noexcept {
    ncclNetProperties_v12_t out;
    std::memset(&out, 0, sizeof(out));  // padding too: callers do not clear it
    out.name = const_cast<char*>(device.name.c_str());  // callers only read; the ABI lacks the const
    out.pciPath = device.pci_path ? const_cast<char*>(device.pci_path->c_str()) : nullptr;
    out.guid = device.guid;
    out.ptrSupport = NCCL_PTR_HOST;
    const auto mr_mode = static_cast<std::uint64_t>(device.info->domain_attr->mr_mode);
    out.regIsGlobal = (memory::expanded_mr_mode(mr_mode) & memory::kModeEndpoint) == 0 ? 1 : 0;
    out.speed = device.speed_mbps;
    out.port = device.port;
    out.latency = all.latency_us;
    out.maxComms = all.max_comms;
    out.maxRecvs = kQueueMultiplier;
    out.netDeviceType = NCCL_NET_DEVICE_GIN_PROXY;  // L-18
    out.vProps.ndevs = 1;
    out.vProps.devs[0] = index;
    out.maxP2pBytes = std::min<std::size_t>(static_cast<std::size_t>(device.max_msg_size), kMaxBytes);
    out.maxCollBytes = out.maxP2pBytes;
    out.maxMultiRequestSize = 1;
    out.railId = -1;
    out.planeId = -1;
    return out;
}

}  // namespace duofi::rma
