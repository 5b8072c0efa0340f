// Devices and properties: rma contract 1.6, 2.2, 3.12, L-18, L-20 to L-23, user report A9.
#include <algorithm>
#include <cstring>
#include <set>

#include "tests/conformance/rma/rma_conformance.hpp"

namespace duofi::test {
namespace {

// 2.2: each byte of the struct is written, padding included.
DUOFI_RMA_CONFORMANCE(properties_are_written_whole) {
    const Rma& rma = rma_of(rank);
    require(rma.devices() > 0, "no device");
    for (int dev = 0; dev < rma.devices(); ++dev) {
        ncclNetProperties_v12_t first;
        ncclNetProperties_v12_t second;
        std::memset(static_cast<void*>(&first), 0xA5, sizeof(first));
        std::memset(static_cast<void*>(&second), 0x5A, sizeof(second));
        expect_success(rma->properties(dev, &first), "getProperties");
        expect_success(rma->properties(dev, &second), "getProperties");
        const auto* one = reinterpret_cast<const std::uint8_t*>(&first);
        const auto* two = reinterpret_cast<const std::uint8_t*>(&second);
        for (std::size_t i = 0; i < sizeof(first); ++i)
            require(one[i] == two[i], "byte {} of the properties is not written", i);
    }
}

// L-18, L-21, L-23, Q-4 and the values of 2.2.
DUOFI_RMA_CONFORMANCE(properties_are_usable) {
    const Rma& rma = rma_of(rank);
    std::set<std::string> names;
    for (int dev = 0; dev < rma.devices(); ++dev) {
        const ncclNetProperties_v12_t p = rma.properties(dev);
        require(p.name != nullptr && std::strlen(p.name) > 0, "no name");
        names.insert(p.name);
        require(p.pciPath == nullptr || std::strchr(p.pciPath, '/') != nullptr,
                "pciPath without a slash");
        require(p.netDeviceType == NCCL_NET_DEVICE_GIN_PROXY && p.netDeviceVersion == 0,
                "device type {} version {}", static_cast<int>(p.netDeviceType), p.netDeviceVersion);
        require(p.speed > 0 && p.maxComms > 0 && p.latency >= 0, "speed {} maxComms {} latency {}",
                p.speed, p.maxComms, p.latency);
        require(p.vProps.ndevs == 1 && p.vProps.devs[0] == dev, "vProps name {} devices, first {}",
                p.vProps.ndevs, p.vProps.devs[0]);
        require(p.maxP2pBytes > 0 && p.maxP2pBytes <= NCCL_MAX_NET_SIZE_BYTES &&
                    p.maxCollBytes > 0 && p.maxCollBytes <= NCCL_MAX_NET_SIZE_BYTES,
                "largest sizes {} and {}", p.maxP2pBytes, p.maxCollBytes);
        require(p.maxMultiRequestSize == 1 && p.railId == NCCL_NET_ID_UNDEF &&
                    p.planeId == NCCL_NET_ID_UNDEF,
                "maxMultiRequestSize {} rail {} plane {}", p.maxMultiRequestSize, p.railId,
                p.planeId);
        require(p.ptrSupport == NCCL_PTR_HOST, "ptrSupport {}", p.ptrSupport);
        require((p.regIsGlobal == 0 || p.regIsGlobal == 1) && p.forceFlush == 0,
                "regIsGlobal {} forceFlush {}", p.regIsGlobal, p.forceFlush);
    }
    require(static_cast<int>(names.size()) == rma.devices(), "names are not unique");
}

// 3.12, L-22: a bad index is an argument error; strings stay.
DUOFI_RMA_CONFORMANCE(properties_are_stable) {
    log_capture::expect_warn("");
    const Rma& rma = rma_of(rank);
    for (const int bad : {-1, rma.devices(), rma.devices() + 1000}) {
        ncclNetProperties_v12_t properties{};
        const ncclResult_t result = rma->properties(bad, &properties);
        require(result == ncclInvalidArgument, "device {} gave {}", bad, result_name(result));
    }
    const ncclNetProperties_v12_t first = rma.properties(0);
    const int devices = rma.devices();
    {
        const RmaOwned instance = open_instance(rma, 4);
        require(rma.devices() == devices, "init changed the devices");
    }
    const ncclNetProperties_v12_t again = rma.properties(0);
    require(first.name == again.name && first.pciPath == again.pciPath && first.guid == again.guid,
            "properties changed");
}

// A9, L-20: every process has the same list.
struct DeviceIdentity {
    std::array<char, 64> name{};
    std::array<char, 256> path{};
    std::uint64_t guid = 0;
    int speed = 0, port = 0;
    bool operator==(const DeviceIdentity&) const = default;
};

struct SeenDevices {
    static constexpr int kMost = 8;
    int node = 0, count = 0;
    std::array<DeviceIdentity, kMost> devices{};
};

// Ranks of one node; those of two nodes have devices of their own.
DUOFI_RMA_CONFORMANCE(all_ranks_see_one_list) {
    const Rma& rma = rma_of(rank);
    SeenDevices mine{node_of(rank), rma.devices(), {}};
    for (int dev = 0; dev < std::min(mine.count, SeenDevices::kMost); ++dev) {
        DeviceIdentity& device = mine.devices.at(static_cast<std::size_t>(dev));
        const ncclNetProperties_v12_t p = rma.properties(dev);
        std::strncpy(device.name.data(), p.name, device.name.size() - 1);
        if (p.pciPath != nullptr) std::strncpy(device.path.data(), p.pciPath, device.path.size() - 1);
        device.guid = p.guid;
        device.speed = p.speed;
        device.port = p.port;
    }
    for (const SeenDevices& theirs : rank.all_gather(mine)) {
        if (theirs.node != mine.node) continue;
        require(theirs.count == mine.count, "{} and {} devices", mine.count, theirs.count);
        require(theirs.devices == mine.devices, "the devices are not the same everywhere");
    }
}

// 3.12: no claim that one signal makes all puts visible; the word is written.
DUOFI_RMA_CONFORMANCE(no_signal_flushes_all_puts) {
    RmaTeam team(rank, rma_of(rank));
    ncclRmaProperties_v16_t properties;
    std::memset(&properties, 0xEE, sizeof(properties));
    expect_success((*team.rma)->rma_properties(team.coll.get(), &properties), "getRmaProperties");
    std::uint8_t byte = 0;
    std::memcpy(&byte, &properties, 1);
    require(byte == 0, "flushesAllPutsOnAnySignal is {:#x}", byte);
    exchange_all(rank, team);
}

// 3.12: no error where none happened, also after calls that were refused.
DUOFI_RMA_CONFORMANCE(healthy_contexts_have_no_error) {
    log_capture::expect_warn("");
    RmaTeam team(rank, rma_of(rank));
    exchange_all(rank, team);
    void* request = nullptr;
    (void)try_put(team.on(), nothing(1 << 20), &request);
    bool failed = true;
    expect_success((*team.rma)->query_last_error(team.context.get(), &failed), "queryLastError");
    require(!failed, "queryLastError tells of an error");
    rank.barrier();
}

}  // namespace
}  // namespace duofi::test
