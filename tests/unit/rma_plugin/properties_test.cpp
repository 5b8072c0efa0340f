// What callers of every RMA table read about a device (L-18, L-21 to L-24, Q-4, M-7; rma contract 2.2).
#include "rma_plugin/properties.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "common/ofi/fid.hpp"

namespace duofi::rma {
namespace {

ofi::DeviceInfo nic(int mr_mode = 0) {
    ofi::InfoPtr info(fi_allocinfo());
    info->domain_attr->mr_mode = mr_mode;
    ofi::DeviceInfo device;
    device.name = "duofi_eth0";
    device.pci_path = "/sys/devices/pci0000:00/0000:00:03.0";
    device.guid = 0x1122334455667788;
    device.speed_mbps = 25000;
    device.port = 2;
    device.max_msg_size = 1 << 20;
    device.info = std::shared_ptr<fi_info>(std::move(info));
    return device;
}

TEST(RmaProperties, show_the_device) {
    const ofi::DeviceInfo device = nic();
    const ncclNetProperties_v12_t got = properties_of(device, 3, {35.5F, 32768});
    EXPECT_EQ(got.name, device.name.c_str()) << "the list's own text (L-22)";
    EXPECT_EQ(got.pciPath, device.pci_path->c_str());
    EXPECT_EQ(got.guid, device.guid);
    EXPECT_EQ(got.ptrSupport, NCCL_PTR_HOST) << "neither device memory nor DMA-BUF (M-5, M-7)";
    EXPECT_EQ(got.forceFlush, 0);
    EXPECT_EQ(got.speed, 25000);
    EXPECT_EQ(got.port, 2);
    EXPECT_EQ(got.latency, 35.5F);
    EXPECT_EQ(got.maxComms, 32768);
    EXPECT_EQ(got.maxRecvs, 8) << "Q-4";
    EXPECT_EQ(got.netDeviceType, NCCL_NET_DEVICE_GIN_PROXY) << "L-18";
    EXPECT_EQ(got.netDeviceVersion, 0);
    EXPECT_EQ(got.vProps.ndevs, 1);
    EXPECT_EQ(got.vProps.devs[0], 3);
    for (int i = 1; i < NCCL_NET_MAX_DEVS_PER_NIC_V12; ++i) EXPECT_EQ(got.vProps.devs[i], 0);
    EXPECT_EQ(got.maxP2pBytes, std::size_t{1} << 20);
    EXPECT_EQ(got.maxCollBytes, std::size_t{1} << 20);
    EXPECT_EQ(got.maxMultiRequestSize, 1);
    EXPECT_EQ(got.railId, -1);
    EXPECT_EQ(got.planeId, -1);
}

TEST(RmaProperties, without_a_pci_path_show_NULL) {
    ofi::DeviceInfo device = nic();
    device.pci_path.reset();
    EXPECT_EQ(properties_of(device, 0, {}).pciPath, nullptr);
}

TEST(RmaProperties, bound_the_largest_message_as_callers_do) {
    ofi::DeviceInfo device = nic();
    device.max_msg_size = SIZE_MAX;
    EXPECT_EQ(properties_of(device, 0, {}).maxP2pBytes, std::size_t{1} << 30);
}

TEST(RmaProperties, registrations_bound_to_endpoints_are_not_global) {
    EXPECT_EQ(properties_of(nic(), 0, {}).regIsGlobal, 1);
    EXPECT_EQ(properties_of(nic(FI_MR_ENDPOINT), 0, {}).regIsGlobal, 0);
    EXPECT_EQ(properties_of(nic(FI_MR_VIRT_ADDR | FI_MR_LOCAL), 0, {}).regIsGlobal, 1);
}

TEST(RmaProperties, leave_no_byte_of_the_caller_in_place) {
    const ofi::DeviceInfo device = nic();
    alignas(ncclNetProperties_v12_t) unsigned char old[2][sizeof(ncclNetProperties_v12_t)];
    std::memset(old[0], 0xa5, sizeof(old[0]));
    std::memset(old[1], 0x5a, sizeof(old[1]));
    for (auto& place : old) *reinterpret_cast<ncclNetProperties_v12_t*>(place) = properties_of(device, 1, {});
    EXPECT_EQ(std::memcmp(old[0], old[1], sizeof(old[0])), 0) << "padding too";
}

}  // namespace
}  // namespace duofi::rma
