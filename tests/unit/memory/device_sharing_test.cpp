// Handles, peers and the state that an application has in its driver: CUDA and HIP (V-26), and the
// neighbours of Neuron chips.
#include <cstring>

#include "common/util/messages/memory.hpp"
#include "tests/unit/local/child.hpp"
#include "tests/unit/memory/device_fixture.hpp"

namespace duofi::memory {
namespace {

class Sharing : public OverMock, public testing::WithParamInterface<DeviceKind> {
  protected:
    Sharing() : OverMock(GetParam()) {}
};

/// What a child finds in memory that it is given a handle of; it must see `word`, and change it.
int use_in_child(DeviceRuntime& runtime, const IpcHandle& handle, int word) {
    const auto first = runtime.ipc_open(handle);
    const auto second = runtime.ipc_open(handle);
    if (!first || !second) return 1;
    if (*first != *second) return 2;
    int seen = 0;
    if (!runtime.copy(&seen, *first, sizeof(seen)) || seen != word) return 3;
    const int answer = word + 1;
    if (!runtime.copy(*first, &answer, sizeof(answer))) return 4;
    const auto facts = runtime.classify(*first);
    if (!facts || facts->kind != MemoryKind::device || facts->bytes < sizeof(word)) return 5;
    if (!runtime.ipc_close(*first)) return 6;
    if (!runtime.classify(*first) || runtime.classify(*first)->kind != MemoryKind::device) return 7;
    if (!runtime.ipc_close(*first)) return 8;
    const Status third = runtime.ipc_close(*first);
    return !third && third.error().code == Errc::invalid_argument ? 0 : 9;
}

TEST_P(Sharing, V26_HandlesLeadToOtherProcesses) {
    use();
    const auto memory = runtime().allocate(kDeviceUnit);
    ASSERT_TRUE(memory);
    const int word = 4711;
    ASSERT_TRUE(runtime().copy(*memory, &word, sizeof(word)));
    const auto handle = runtime().ipc_get(*memory);
    ASSERT_TRUE(handle) << handle.error().place;
    EXPECT_EQ(runtime().ipc_get(*memory).value(), *handle) << "may be asked for again";
    EXPECT_EQ(test::in_child([&] { return use_in_child(runtime(), *handle, word); }), 0);
    int seen = 0;
    ASSERT_TRUE(runtime().copy(&seen, *memory, sizeof(seen)));
    EXPECT_EQ(seen, word + 1);
    EXPECT_TRUE(runtime().free(*memory));
}

TEST_P(Sharing, V26_TheExporterCannotOpenItsOwnHandle) {
    use();
    const auto memory = runtime().allocate(kDeviceUnit);
    const auto handle = runtime().ipc_get(*memory);
    ASSERT_TRUE(memory && handle);
    const auto opened = runtime().ipc_open(*handle);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Errc::invalid_usage);
    EXPECT_EQ(opened.error().provider_errno, 201);
    EXPECT_FALSE(runtime().ipc_close(*memory)) << "that was never opened";
    EXPECT_TRUE(runtime().free(*memory));
}

TEST_P(Sharing, DamagedHandlesAreRefused) {
    use();
    IpcHandle handle{};
    const auto opened = runtime().ipc_open(handle);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Errc::invalid_argument);
}

TEST_P(Sharing, HandlesAreOfWholeAllocations) {
    use();
    const auto memory = runtime().allocate(kDeviceUnit);
    ASSERT_TRUE(memory);
    int plain = 0;
    for (void* wrong : {static_cast<void*>(static_cast<char*>(*memory) + 64),
                        static_cast<void*>(&plain)}) {
        const auto handle = runtime().ipc_get(wrong);
        ASSERT_FALSE(handle);
        EXPECT_EQ(handle.error().code, Errc::invalid_argument);
    }
    EXPECT_TRUE(runtime().free(*memory));
}

TEST_P(Sharing, V26_EnabledPeersAreNoFailure) {
    use();
    EXPECT_TRUE(runtime().disable_peer_access(1).has_value() ||
                runtime().disable_peer_access(1).error().provider_errno == 705);
    const auto first = runtime().enable_peer_access(1);
    const auto second = runtime().enable_peer_access(1);
    ASSERT_TRUE(first && second) << "704";
    EXPECT_EQ(*first, PeerAccess::enabled);
    EXPECT_EQ(*second, PeerAccess::was_enabled);
    EXPECT_TRUE(runtime().disable_peer_access(1));
    const Status again = runtime().disable_peer_access(1);
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().provider_errno, 705);
    EXPECT_FALSE(runtime().enable_peer_access(7)) << "a device that this process does not see";
}

TEST_P(Sharing, FarDevicesCannotBePeers) {
    control().far_a = 0;
    control().far_b = 1;
    use();
    EXPECT_FALSE(*runtime().can_access_peer(0, 1));
    EXPECT_TRUE(*runtime().can_access_peer(1, 1)) << "a device reaches itself";
    EXPECT_FALSE(runtime().can_access_peer(0, 2));
    const auto enabled = runtime().enable_peer_access(1);
    ASSERT_FALSE(enabled);
    EXPECT_EQ(enabled.error().code, Errc::unsupported);
}

TEST_P(Sharing, FeaturesAreFoundByTrying) {
    control().no_ipc = 1;
    use();
    EXPECT_FALSE(runtime().features(0)->ipc);
    control().no_ipc = 0;
    EXPECT_FALSE(runtime().features(0)->ipc) << "tried once";
    EXPECT_TRUE(runtime().features(1)->ipc);
    EXPECT_EQ(control().blocks, 0) << "the trial is freed";
    EXPECT_FALSE(runtime().features(2));
}

INSTANTIATE_TEST_SUITE_P(Drivers, Sharing, testing::Values(DeviceKind::cuda, DeviceKind::hip),
                         [](const auto& kind) { return to_string(kind.param); });

class Cuda : public OverMock {
  protected:
    Cuda() : OverMock(DeviceKind::cuda) {}
};

TEST_F(Cuda, TheApplicationKeepsItsContext) {
    use();
    auto* get = driver<int(void**)>("cuCtxGetCurrent");
    auto* set = driver<int(void*)>("cuCtxSetCurrent");
    int mark = 0;
    ASSERT_EQ(set(&mark), 0);
    const auto memory = runtime().allocate(1);
    ASSERT_TRUE(memory);
    ASSERT_TRUE(runtime().fill(*memory, 1, 1));
    void* now = nullptr;
    ASSERT_EQ(get(&now), 0);
    EXPECT_EQ(now, &mark);
    ASSERT_TRUE(runtime().free(*memory));
    ASSERT_EQ(set(nullptr), 0);
}

TEST_F(Cuda, PointersAreToldApartWithoutAContext) {
    use();
    const int before = control().contexts;
    int plain = 0;
    EXPECT_EQ(runtime().classify(&plain)->kind, MemoryKind::host);
    EXPECT_EQ(control().contexts, before);
}

TEST_F(Cuda, ContextsAreGivenBack) {
    {
        auto opened = open();
        ASSERT_TRUE(opened);
        const auto memory = (*opened)->allocate(1);
        ASSERT_TRUE(memory && (*opened)->free(*memory));
        EXPECT_EQ(control().contexts, 1);
    }
    EXPECT_EQ(control().contexts, 0);
}

class Hip : public OverMock {
  protected:
    Hip() : OverMock(DeviceKind::hip) {}
    int taken_error() { return driver<int()>("hipGetLastError")(); }
};

TEST_F(Hip, TheApplicationNeverSeesOurFailures) {
    use();
    auto* set = driver<int(int)>("hipSetDevice");
    auto* get = driver<int(int*)>("hipGetDevice");
    ASSERT_EQ(set(1), 0);
    const auto memory = runtime().allocate(1);
    ASSERT_TRUE(memory);
    EXPECT_EQ(runtime().classify(*memory)->device, 0) << "ours, not the application's";
    int plain = 0;
    EXPECT_EQ(runtime().classify(&plain)->kind, MemoryKind::host);
    EXPECT_FALSE(runtime().free(&plain));
    EXPECT_TRUE(runtime().enable_peer_access(1) && runtime().enable_peer_access(1));
    EXPECT_EQ(taken_error(), 0) << "also 704 leaves nothing behind";
    int now = -1;
    ASSERT_EQ(get(&now), 0);
    EXPECT_EQ(now, 1);
    EXPECT_TRUE(runtime().disable_peer_access(1));
    EXPECT_TRUE(runtime().free(*memory));
    ASSERT_EQ(set(0), 0);
}

TEST_F(Hip, BothNumberingsOfMemoryAreRead) {
    for (const int version : {50731921, 60342133, 70051831}) {
        control().version = version;
        auto opened = open();
        ASSERT_TRUE(opened) << version;
        DeviceRuntime& over = **opened;
        const auto device = over.allocate(1);
        const auto host = over.host_allocate(1);
        ASSERT_TRUE(device && host) << version << ": uncached or fine-grained, as there is";
        int plain = 0;
        EXPECT_EQ(over.classify(*device)->kind, MemoryKind::device) << version;
        EXPECT_EQ(over.classify(*host)->kind, MemoryKind::host) << version;
        EXPECT_EQ(over.classify(&plain)->kind, MemoryKind::host) << version;
        EXPECT_EQ(taken_error(), 0) << version;
        EXPECT_TRUE(over.free(*device) && over.host_free(*host));
    }
}

class Neuron : public OverMock {
  protected:
    Neuron() : OverMock(DeviceKind::neuron) {}
};

TEST_F(Neuron, CoresOfChipsThatAPortJoinsReachEachOther) {
    control().devices = 32;  // 16 chips of two cores
    use();
    for (int peer = 0; peer < 32; ++peer) {
        const int chip = peer / 2;
        const bool near = chip == 0 || chip == 12 || chip == 3 || chip == 4 || chip == 1;
        EXPECT_EQ(*runtime().can_access_peer(0, peer), near) << peer;
        EXPECT_EQ(*runtime().can_access_peer(peer, 1), near) << peer;
    }
    EXPECT_EQ(runtime().facts(5)->mla_index, 2);
    EXPECT_EQ(runtime().facts(5)->tpb_index, 1);
    EXPECT_EQ(runtime().facts(5)->family, 2);
    EXPECT_EQ(runtime().device_by_bus_id("0000:a2:00.0").value(), 4) << "first core of the chip";
}

TEST_F(Neuron, SwitchesJoinAll) {
    control().devices = 32;
    control().family = 15;
    use();
    EXPECT_TRUE(*runtime().can_access_peer(0, 31));
    EXPECT_EQ(runtime().facts(9)->mla_index, 1) << "eight cores per chip";
}

TEST_F(Neuron, NothingIsHandedOver) {
    use();
    const auto memory = runtime().allocate(1);
    ASSERT_TRUE(memory);
    EXPECT_EQ(runtime().ipc_get(*memory).error().code, Errc::unsupported);
    EXPECT_FALSE(runtime().features(0)->ipc);
    EXPECT_EQ(*runtime().enable_peer_access(1), PeerAccess::was_enabled);
    EXPECT_TRUE(runtime().free(*memory));
}

}  // namespace
}  // namespace duofi::memory
