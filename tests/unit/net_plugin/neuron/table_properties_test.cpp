// Properties as Neuron's tables show them (net contract 2.3, 3.8, S7). Units: net_plugin/neuron/table_properties.
#include "net_plugin/neuron/table_properties.hpp"

#include <gtest/gtest.h>

namespace duofi::net {
namespace {

DeviceProperties sample() {
    DeviceProperties p;
    p.name = "duofi_eth0";
    p.pci_path = "/sys/devices/0000:00:03.0";
    p.guid = 77;
    p.reg_is_global = true;
    p.speed_mbps = 25'000;
    p.port = 2;
    p.latency_us = 35.5F;
    p.max_comms = 4096;
    p.max_write_inline_bytes = 128;
    p.max_mr_key_bytes = 8;
    p.rma_supported = true;
    return p;
}

TEST(NeuronProperties, v6_carries_every_field) {
    const DeviceProperties p = sample();
    const ncclNetProperties_neuron_v6_t out = to_neuron_v6(p);
    EXPECT_EQ(out.name, p.name);
    EXPECT_EQ(out.pciPath, p.pci_path);
    EXPECT_EQ(out.guid, 77u);
    EXPECT_EQ(out.ptrSupport, NCCL_PTR_HOST);
    EXPECT_EQ(out.regIsGlobal, 1);
    EXPECT_EQ(out.speed, 25'000);
    EXPECT_EQ(out.port, 2);
    EXPECT_EQ(out.latency, 35.5F);
    EXPECT_EQ(out.maxComms, 4096);
    EXPECT_EQ(out.maxRecvs, 8);
    EXPECT_EQ(out.max_write_inline_size, 128u);
    EXPECT_EQ(out.max_mr_key_size, 8u);
    EXPECT_EQ(out.rma_supported, 1);
}

TEST(NeuronProperties, v4_carries_what_it_has) {
    const DeviceProperties p = sample();
    const ncclNetProperties_neuron_v4_t out = to_neuron_v4(p);
    EXPECT_EQ(out.name, p.name);
    EXPECT_EQ(out.pciPath, p.pci_path);
    EXPECT_EQ(out.guid, 77u);
    EXPECT_EQ(out.ptrSupport, NCCL_PTR_HOST);
    EXPECT_EQ(out.speed, 25'000);
    EXPECT_EQ(out.port, 2);
    EXPECT_EQ(out.maxComms, 4096);
}

TEST(NeuronProperties, device_memory_is_neuron_memory_and_never_dmabuf) {
    DeviceProperties p = sample();
    p.dmabuf_supported = true;
    EXPECT_EQ(neuron_ptr_support(p), NCCL_PTR_HOST);
    p.hmem_supported = true;
    EXPECT_EQ(neuron_ptr_support(p), NCCL_PTR_HOST | NCCL_PTR_NEURON);
    p.rma_supported = p.reg_is_global = false;
    EXPECT_EQ(to_neuron_v6(p).rma_supported, 0);
    EXPECT_EQ(to_neuron_v6(p).regIsGlobal, 0);
}

// Peers are told from where the provider counts, so offsets will do; without RMA nothing does.
TEST(NeuronProperties, rma_is_supported_with_either_kind_of_address) {
    DeviceFacts facts;
    PropertyPolicy policy;
    facts.caps = memory::kCapRma;
    EXPECT_FALSE(make_properties(facts, policy).rma_supported);
    policy.tells_origins = true;
    EXPECT_TRUE(make_properties(facts, policy).rma_supported);
    facts.mr_mode = memory::kModeBasic;
    EXPECT_TRUE(make_properties(facts, policy).rma_supported);
    facts.caps = 0;
    EXPECT_FALSE(make_properties(facts, policy).rma_supported);
}

}  // namespace
}  // namespace duofi::net
