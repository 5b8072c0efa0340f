// From facts to the struct of the v6 table: net contract 3.8, 6.3, 6.4, S5, S7, T5.
#include "net_plugin/properties.hpp"

#include <gtest/gtest.h>

#include <climits>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "common/ofi/device_list.hpp"

namespace duofi::net {
namespace {

DeviceFacts tcp_nic() {
    DeviceFacts facts;
    facts.name = "duofi_eth0";
    facts.pci_path = "/sys/devices/pci0000:00/0000:00:03.0";
    facts.guid = 0x1122334455667788ULL;
    facts.speed_mbps = 25'000;
    facts.caps = memory::kCapRma;
    facts.api_version = 0x10011;
    facts.max_msg_bytes = SIZE_MAX;
    facts.mr_key_bytes = 8;
    facts.inject_bytes = 128;
    return facts;
}

TEST(Properties, WhatV6Shows) {
    PropertyPolicy policy;
    policy.latency_us = 35.5;
    policy.max_comms = 1 << 20;
    const ncclNetProperties_v6_t got = to_v6(make_properties(tcp_nic(), policy));
    EXPECT_STREQ(got.name, "duofi_eth0");
    EXPECT_STREQ(got.pciPath, "/sys/devices/pci0000:00/0000:00:03.0");
    EXPECT_EQ(got.guid, 0x1122334455667788ULL);
    EXPECT_EQ(got.ptrSupport, NCCL_PTR_HOST);
    EXPECT_EQ(got.speed, 25'000);
    EXPECT_EQ(got.port, 1);
    EXPECT_FLOAT_EQ(got.latency, 35.5F);
    EXPECT_EQ(got.maxComms, 1 << 20);
    EXPECT_EQ(got.maxRecvs, 8);
}

TEST(Properties, InternalValuesOfLaterTables) {
    const DeviceProperties got = make_properties(tcp_nic(), PropertyPolicy{});
    EXPECT_EQ(got.max_p2p_bytes, static_cast<std::size_t>(INT_MAX));
    EXPECT_EQ(got.max_coll_bytes, static_cast<std::size_t>(INT_MAX));
    EXPECT_EQ(got.max_write_inline_bytes, 128U);
    EXPECT_EQ(got.max_mr_key_bytes, 8U);
    EXPECT_FALSE(got.hmem_supported);
    EXPECT_FALSE(got.dmabuf_supported);

    auto facts = tcp_nic();
    facts.max_msg_bytes = 65'536;
    EXPECT_EQ(make_properties(facts, PropertyPolicy{}).max_p2p_bytes, 65'536U);
    facts.max_msg_bytes = 0;
    EXPECT_EQ(make_properties(facts, PropertyPolicy{}).max_p2p_bytes,
              static_cast<std::size_t>(INT_MAX));
}

TEST(Properties, T5SamePointersForTenThousandCalls) {
    const DeviceProperties properties = make_properties(tcp_nic(), PropertyPolicy{});
    const ncclNetProperties_v6_t first = to_v6(properties);
    for (int i = 0; i < 10'000; ++i) {
        const ncclNetProperties_v6_t again = to_v6(properties);
        ASSERT_EQ(again.name, first.name);
        ASSERT_EQ(again.pciPath, first.pciPath);
    }
}

TEST(Properties, T5SamePointersAfterASecondInit) {
    // Callers of v6 init twice without a finalize in between and keep the names of the first init.
    const ncclNetProperties_v6_t first = to_v6(make_properties(tcp_nic(), PropertyPolicy{}));
    const ncclNetProperties_v6_t second = to_v6(make_properties(tcp_nic(), PropertyPolicy{}));
    EXPECT_EQ(first.name, second.name);
    EXPECT_EQ(first.pciPath, second.pciPath);
    auto other = tcp_nic();
    other.name = "duofi_eth1";
    EXPECT_STRNE(to_v6(make_properties(other, PropertyPolicy{})).name, first.name);
    EXPECT_STREQ(first.name, "duofi_eth0");
}

TEST(Properties, PciPathIsShownOnlyWhenCallersSurviveIt) {  // 6.3
    const std::string last31(31, 'x');
    const std::string last32(32, 'x');
    struct Row {
        std::string path;
        bool usable;
    };
    const std::vector<Row> rows{
        {"/sys/devices/pci0000:00/0000:00:03.0", true},
        {"/" + last31, true},
        {"/" + last32, false},
        {"/sys/" + last32, false},
        {"/" + last32 + "/0000:00:03.0", true},
        {"0000:00:03.0", false},
        {"/sys/devices/", false},
        {"/", false},
        {"", false},
    };
    for (const Row& row : rows) {
        auto facts = tcp_nic();
        facts.pci_path = row.path;
        EXPECT_EQ(usable_pci_path(row.path), row.usable) << row.path;
        const auto got = to_v6(make_properties(facts, PropertyPolicy{}));
        if (row.usable)
            EXPECT_STREQ(got.pciPath, row.path.c_str());
        else
            EXPECT_EQ(got.pciPath, nullptr) << row.path;
    }
}

TEST(Properties, RegIsGlobalIsTheNegationOfS5) {
    struct Row {
        std::uint64_t mr_mode;
        bool domain_per_thread, global;
    };
    for (const Row& row :
         std::vector<Row>{{0, false, true},
                          {0, true, false},
                          {memory::kModeEndpoint, false, false},
                          {memory::kModeEndpoint, true, false},
                          {memory::kModeProvKey | memory::kModeBasic, false, true}}) {
        auto facts = tcp_nic();
        facts.mr_mode = row.mr_mode;
        PropertyPolicy policy;
        policy.domain_per_thread = row.domain_per_thread;
        EXPECT_EQ(make_properties(facts, policy).reg_is_global, row.global)
            << row.mr_mode << " " << row.domain_per_thread;
    }
}

TEST(Properties, SpeedFallsBack) {  // 6.4, 3.8
    struct Row {
        std::int64_t nic;
        int expected;
    };
    for (const Row& row : std::vector<Row>{{25'000, 25'000}, {0, 10'000}, {-1, 10'000}, {INT64_MAX, INT_MAX}}) {
        auto facts = tcp_nic();
        facts.speed_mbps = row.nic;
        EXPECT_EQ(make_properties(facts, PropertyPolicy{}).speed_mbps, row.expected) << row.nic;
    }
}

TEST(Properties, DeviceMemoryBitsOfS7) {
    auto facts = tcp_nic();
    facts.caps |= memory::kCapHmem;
    facts.api_version = 0x10014;
    PropertyPolicy policy;
    policy.gdr = memory::GdrState::supported;
    EXPECT_EQ(canonical_ptr_support(make_properties(facts, policy)), NCCL_PTR_HOST | NCCL_PTR_CUDA);
    policy.dmabuf_viable = true;
    EXPECT_EQ(canonical_ptr_support(make_properties(facts, policy)),
              NCCL_PTR_HOST | NCCL_PTR_CUDA | NCCL_PTR_DMABUF);
    facts.is_efa = true;
    facts.has_nic_attributes = true;
    facts.nic_device_id = 0xefa1;  // S3
    EXPECT_EQ(canonical_ptr_support(make_properties(facts, policy)), NCCL_PTR_HOST | NCCL_PTR_CUDA);
    policy.gdr = memory::GdrState::unsupported;
    EXPECT_EQ(canonical_ptr_support(make_properties(facts, policy)), NCCL_PTR_HOST);
}

TEST(Properties, RmaNeedsVirtualAddressing) {  // architecture 5, P6
    auto facts = tcp_nic();
    EXPECT_FALSE(make_properties(facts, PropertyPolicy{}).rma_supported) << "offset addressing";
    facts.mr_mode = memory::kModeVirtAddr;
    EXPECT_TRUE(make_properties(facts, PropertyPolicy{}).rma_supported);
    facts.mr_mode = memory::kModeBasic;
    EXPECT_TRUE(make_properties(facts, PropertyPolicy{}).rma_supported);
    facts.caps = 0;
    EXPECT_FALSE(make_properties(facts, PropertyPolicy{}).rma_supported) << "no FI_RMA";
}

std::shared_ptr<fi_info> empty_info() {
    return {fi_allocinfo(), fi_freeinfo};
}

TEST(Properties, FactsComeFromTheDeviceList) {
    ofi::DeviceInfo device;
    device.name = "duofi_rdmap0";
    device.pci_path = "/sys/devices/pci0000:00/0000:00:1e.0";
    device.guid = 7;
    device.speed_mbps = 100'000;
    device.port = 2;
    device.provider = "efa";
    device.max_msg_size = 1U << 30;
    device.caps = FI_RMA | FI_TAGGED;
    device.info = empty_info();
    device.info->domain_attr->mr_mode = FI_MR_PROV_KEY | FI_MR_ENDPOINT;
    device.info->domain_attr->mr_key_size = 4;
    device.info->tx_attr->inject_size = 32;
    device.info->fabric_attr->api_version = FI_VERSION(1, 20);

    const DeviceFacts plain = facts_of(device);
    EXPECT_EQ(plain.name, device.name);
    EXPECT_EQ(plain.pci_path, *device.pci_path);
    EXPECT_EQ(plain.guid, 7U);
    EXPECT_EQ(plain.speed_mbps, 100'000);
    EXPECT_EQ(plain.port, 2);
    EXPECT_EQ(plain.caps, device.caps);
    EXPECT_EQ(plain.mr_mode, static_cast<std::uint64_t>(FI_MR_PROV_KEY | FI_MR_ENDPOINT));
    EXPECT_EQ(plain.api_version, 0x10014U);
    EXPECT_EQ(plain.max_msg_bytes, 1U << 30);
    EXPECT_EQ(plain.mr_key_bytes, 4U);
    EXPECT_EQ(plain.inject_bytes, 32U);
    EXPECT_TRUE(plain.is_efa);
    EXPECT_FALSE(plain.has_nic_attributes);
    EXPECT_EQ(make_properties(plain, PropertyPolicy{}).port, 2);

    device.pci_path.reset();
    EXPECT_EQ(make_properties(facts_of(device), PropertyPolicy{}).pci_path, nullptr);
    for (const char* provider : {"tcp", "tcp;ofi_rxm", "net", "shm", "efa;ofi_rxd", "verbs"}) {
        device.provider = provider;
        EXPECT_FALSE(facts_of(device).is_efa) << provider;
    }
}

TEST(Properties, DeviceIdIsReadFromText) {
    struct Row {
        const char* text;
        bool known;
        std::uint16_t id;
    };
    for (const Row& row : std::vector<Row>{{"0xefa0", true, 0xefa0},
                                           {"0xEFA2", true, 0xefa2},
                                           {"0x1", true, 1},
                                           {"efa0", false, 0},
                                           {"0x", false, 0},
                                           {"0xefa0x", false, 0},
                                           {"0x12345", false, 0},
                                           {nullptr, false, 0}}) {
        ofi::DeviceInfo device;
        device.info = empty_info();
        fi_device_attr attributes{};
        fid_nic nic{};
        attributes.device_id = const_cast<char*>(row.text);
        nic.device_attr = &attributes;
        device.info->nic = &nic;
        const DeviceFacts got = facts_of(device);
        device.info->nic = nullptr;  // not the info's to free
        EXPECT_EQ(got.has_nic_attributes, row.known) << (row.text ? row.text : "NULL");
        EXPECT_EQ(got.nic_device_id, row.id);
    }
}

}  // namespace
}  // namespace duofi::net
