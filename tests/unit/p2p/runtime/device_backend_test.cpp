// The runtimes cuda, hip and neuron over mock drivers (V-26, p2p contract 2.7).
// Units: p2p/runtime/device_backend p2p/runtime/cuda p2p/runtime/hip p2p/runtime/neuron
#include <dlfcn.h>

#include <cstring>
#include <vector>

#include "common/util/messages/p2p_runtime.hpp"
#include "p2p/runtime/cuda.hpp"
#include "p2p/runtime/hip.hpp"
#include "p2p/runtime/neuron.hpp"
#include "p2p/runtime/slot_error.hpp"
#include "tests/mocks/control.h"
#include "tests/unit/p2p/runtime/runtime_fixture.hpp"

namespace duofi::p2p {
namespace {

constexpr std::size_t kUnit = P2P_IPC_MIN;

struct Kind {
    const char* name;
    const char* mock;
    const RuntimeTable* table;
};
constexpr Kind kKinds[] = {{"cuda", DUOFI_MOCK_CUDA, &cuda_runtime},
                           {"hip", DUOFI_MOCK_HIP, &hip_runtime},
                           {"neuron", DUOFI_MOCK_NEURON, &neuron_runtime}};

class DeviceBackend : public test::RuntimeTest, public testing::WithParamInterface<Kind> {
  protected:
    void SetUp() override {
        library_ = ::dlopen(GetParam().mock, RTLD_NOW | RTLD_LOCAL);
        ASSERT_NE(library_, nullptr) << ::dlerror();
        control_ = reinterpret_cast<MockControlFunction>(::dlsym(library_, DUOFI_MOCK_CONTROL))();
        *control_ = {};
        control_->devices = 2;
        control_->far_a = control_->far_b = -1;
    }
    void TearDown() override {
        use_ = {};
        ::dlclose(library_);
    }
    [[nodiscard]] Settings settings() const {
        Settings made = test::runtime_settings_of(GetParam().name);
        made.cuda_library = DUOFI_MOCK_CUDA;
        made.hip_library = DUOFI_MOCK_HIP;
        made.neuron_library = DUOFI_MOCK_NEURON;
        return made;
    }
    void start() { use(settings()); }
    [[nodiscard]] bool neuron() const { return GetParam().table == &neuron_runtime; }

    void* library_ = nullptr;
    MockControl* control_ = nullptr;
};

TEST_P(DeviceBackend, IsChosenByName) {
    EXPECT_EQ(runtime::find_table(GetParam().name), GetParam().table);
    start();
    EXPECT_STREQ(use_.table().name, GetParam().name);
    EXPECT_EQ(*runtime::device_count(), 2);
    EXPECT_EQ(runtime::has(kRealIpc), !neuron());
    EXPECT_EQ(runtime::has(kUnified), neuron());
    EXPECT_FALSE(runtime::has(kHostAccessible)) << "kernels of CPUs must stay away";
    EXPECT_FALSE(runtime::has(kRelay) || runtime::has(kIpcInterior) ||
                 runtime::has(kSameProcessIpc));
}

TEST_P(DeviceBackend, V26_WithoutADriverThereIsOneReason) {
    Settings broken = settings();
    broken.cuda_library = broken.hip_library = broken.neuron_library = "/nonexistent.so";
    const auto used = runtime::acquire(broken);
    ASSERT_FALSE(used);
    EXPECT_EQ(used.error().code, Errc::unsupported);
    EXPECT_STREQ(used.error().place, messages::kRuntimeNoDriver);
    EXPECT_EQ(log_.with("is not available: ").size(), 1u) << log_.dump();
    EXPECT_EQ(runtime::installed(), nullptr);
    EXPECT_TRUE(runtime::acquire(settings())) << "the next one may succeed";
}

TEST_P(DeviceBackend, MemoryHasTheFormOfAllRuntimes) {  // C-27
    start();
    const auto memory = runtime::allocate(kUnit + 1);
    ASSERT_TRUE(memory);
    const auto info = runtime::pointer_info(static_cast<char*>(*memory) + 77);
    ASSERT_TRUE(info);
    EXPECT_EQ(info->base, *memory);
    EXPECT_EQ(info->bytes, 2 * kUnit);
    EXPECT_EQ(info->device, 0);
    EXPECT_FALSE(info->imported);
    EXPECT_TRUE(runtime::reserve(*memory, kUnit)) << "nothing to do";
    EXPECT_TRUE(runtime::end_exports(*memory));
    EXPECT_TRUE(runtime::free(*memory));
    EXPECT_EQ(control_->blocks, 0);
    EXPECT_TRUE(runtime::free(nullptr)) << "shows that the driver is alive";
    int plain = 0;
    EXPECT_EQ(runtime::pointer_info(&plain).error().code, Errc::invalid_argument);
    EXPECT_EQ(runtime::free(&plain).error().code, Errc::invalid_argument);
}

TEST_P(DeviceBackend, FailuresCarryTheTextOfTheDriver) {
    control_->memory = kUnit;
    start();
    const auto large = runtime::allocate(2 * kUnit);
    ASSERT_FALSE(large);
    EXPECT_EQ(large.error().code, Errc::no_memory);
    const char* text = neuron() ? "NRT_RESOURCE" : "out of memory";
    EXPECT_STREQ(large.error().place, text);
    EXPECT_EQ(log_.with(text).size(), 1u) << log_.dump();
}

TEST_P(DeviceBackend, RetainedMemoryOutlivesItsOwner) {  // T-13
    start();
    const auto memory = runtime::allocate(kUnit);
    ASSERT_TRUE(memory);
    ASSERT_TRUE(runtime::retain(static_cast<char*>(*memory) + 5));
    ASSERT_TRUE(runtime::free(*memory));
    EXPECT_EQ(control_->blocks, 1);
    EXPECT_FALSE(runtime::free(*memory)) << "twice";
    ASSERT_TRUE(runtime::release(*memory));
    EXPECT_EQ(control_->blocks, 0);
    EXPECT_FALSE(runtime::release(*memory));
}

TEST_P(DeviceBackend, CopiesArriveBeforeTheyReturn) {  // C-24
    start();
    const auto memory = runtime::allocate(kUnit);
    ASSERT_TRUE(memory);
    const std::vector<char> from(128, 'k');
    std::vector<char> to(128);
    ASSERT_TRUE(runtime::copy(*memory, from.data(), 128, CopyKind::host_to_device));
    ASSERT_TRUE(runtime::copy_async(to.data(), *memory, 128, CopyKind::device_to_host));
    EXPECT_EQ(from, to);
    EXPECT_FALSE(runtime::copy(*memory, from.data(), 128, static_cast<CopyKind>(5)));
    EXPECT_FALSE(runtime::copy(nullptr, from.data(), 1, CopyKind::automatic));
    const auto mirror = runtime::host_allocate(4096);
    ASSERT_TRUE(mirror && runtime::copy(*mirror, from.data(), 128, CopyKind::host_to_device));
    EXPECT_EQ(std::memcmp(*mirror, from.data(), 128), 0);
    EXPECT_TRUE(runtime::host_free(*mirror) && runtime::free(*memory));
}

TEST_P(DeviceBackend, PeersAreEnabledOnce) {
    start();
    EXPECT_TRUE(runtime::enable_peer_access(1));
    EXPECT_TRUE(runtime::enable_peer_access(1)) << "704 is success";
    EXPECT_EQ(use_.table().device_enable_peer_access(1, 0), kPeerAccessAlreadyEnabled);
    EXPECT_TRUE(*runtime::can_access_peer(0, 1));
    EXPECT_TRUE(runtime::disable_peer_access(1));
    EXPECT_FALSE(runtime::can_access_peer(0, 2)) << "not visible here";
}

TEST_P(DeviceBackend, BusIdsAreNumbersOfTheirDigits) {  // p2p contract 3.6
    start();
    const auto bus_id = runtime::bus_id(0);
    ASSERT_TRUE(bus_id);
    const std::int64_t first = neuron() ? 0xa0000 : GetParam().table == &hip_runtime ? 0x80000 : 0x40000;
    EXPECT_EQ(*bus_id, first);
    EXPECT_EQ(*runtime::device_by_bus_id(*bus_id), 0);
    EXPECT_FALSE(runtime::device_by_bus_id(0x1000));
    EXPECT_EQ(runtime::numa_node(0).value(), -1) << "there is no such device in this machine";
    const auto info = runtime::device_info(1);
    ASSERT_TRUE(info);
    EXPECT_EQ(info->family, neuron() ? 2 : 0);
    EXPECT_EQ(info->tpb_index, neuron() ? 1 : -1);
    EXPECT_TRUE(runtime::set_device(1));
    EXPECT_EQ(*runtime::device(), 1);
    EXPECT_FALSE(runtime::set_device(2));
    EXPECT_TRUE(runtime::set_device(0));
}

TEST_P(DeviceBackend, HandlesAreOfTheDriver) {
    start();
    const auto memory = runtime::allocate(kUnit);
    ASSERT_TRUE(memory);
    p2pIpcHandle handle{};
    ASSERT_TRUE(runtime::ipc_get(&handle, *memory));
    if (neuron()) {  // T-5: the pointer is right as it is, and stays so
        void* pointer = *memory;
        EXPECT_TRUE(runtime::ipc_open(&pointer, handle));
        EXPECT_EQ(pointer, *memory);
        EXPECT_TRUE(runtime::ipc_close(pointer));
    } else {
        const int result = test::in_child([&] {
            // A new process starts its own driver, as every user of one must.
            void* opened = nullptr;
            auto* open = GetParam().table->ipc_open_mem_handle;
            if (open(&opened, &handle, 2) != static_cast<int>(Errc::invalid_argument)) return 1;
            if (open(&opened, &handle, P2P_IPC_LAZY_PEER_ACCESS) != kRuntimeOk) return 2;
            PointerInfo info;
            if (GetParam().table->pointer_query(&info, opened) != kRuntimeOk) return 3;
            if (!info.imported || info.base != opened || info.bytes != kUnit) return 4;
            if (GetParam().table->ipc_close_mem_handle(opened) != kRuntimeOk) return 5;
            return GetParam().table->ipc_close_mem_handle(opened) != kRuntimeOk ? 0 : 6;
        });
        EXPECT_EQ(result, 0);
        void* own = nullptr;
        EXPECT_EQ(runtime::ipc_open(&own, handle).error().code, Errc::invalid_usage);
    }
    EXPECT_TRUE(runtime::free(*memory));
}

TEST_P(DeviceBackend, WhatIsLeftIsFreedAndSaid) {
    start();
    ASSERT_TRUE(runtime::allocate(1));
    use_ = {};
    EXPECT_EQ(log_.with("1 allocations were not freed").size(), 1u) << log_.dump();
    EXPECT_EQ(control_->blocks, 0);
    EXPECT_EQ(control_->contexts, 0);
    int count = 0;
    EXPECT_EQ(GetParam().table->get_device_count(&count), static_cast<int>(Errc::invalid_usage));
    EXPECT_EQ(GetParam().table->malloc(nullptr, 1), static_cast<int>(Errc::invalid_argument));
    EXPECT_EQ(GetParam().table->capabilities(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Kinds, DeviceBackend, testing::ValuesIn(kKinds),
                         [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace duofi::p2p
