// The three runtimes over mock drivers that behave as documented (V-26): what all have in common,
// for each of them.
// Units: common/memory/device_runtime common/memory/driver_library common/memory/cuda_driver
// common/memory/cuda_runtime common/memory/gpu_driver common/memory/hip_driver common/memory/hip_runtime
// common/memory/neuron_driver common/memory/neuron_runtime
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "common/util/messages/memory.hpp"
#include "tests/unit/local/child.hpp"
#include "tests/unit/memory/device_fixture.hpp"

namespace duofi::memory {
namespace {

class AnyDriver : public OverMock, public testing::WithParamInterface<DeviceKind> {
  protected:
    AnyDriver() : OverMock(GetParam()) {}
};

TEST_P(AnyDriver, SaysWhatItIs) {
    use();
    EXPECT_EQ(runtime().kind(), GetParam());
    EXPECT_EQ(runtime().library(), mock_path(GetParam()));
    EXPECT_EQ(runtime().device_count(), 2);
    EXPECT_EQ(log_.with("MEM " + std::string(to_string(GetParam())) + ": ").size(), 1u)
        << log_.dump();
}

TEST_P(AnyDriver, V26_AbsentLibraryIsOneLine) {
    OpenOptions options;
    options.library = "/nonexistent/driver.so";
    const auto opened = open_device_runtime(GetParam(), options);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Errc::unsupported);
    EXPECT_EQ(log_.with("is not available: ").size(), 1u) << log_.dump();
    EXPECT_EQ(log_.with("/nonexistent/driver.so").size(), 1u) << log_.dump();
}

TEST_P(AnyDriver, V26_AnotherLibraryLacksTheFirstFunction) {
    OpenOptions options;
    options.library = mock_path(GetParam() == DeviceKind::cuda ? DeviceKind::hip : DeviceKind::cuda);
    const auto opened = open_device_runtime(GetParam(), options);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Errc::unsupported);
    const char* first = GetParam() == DeviceKind::cuda  ? "cuInit"
                        : GetParam() == DeviceKind::hip ? "hipInit"
                                                        : "nrt_init";
    EXPECT_EQ(log_.with(std::string("has no ") + first).size(), 1u) << log_.dump();
}

TEST_P(AnyDriver, V26_OneMissingFunctionIsNamed) {
    const auto opened = open(+[](void* library, const char* name) -> void* {
        const std::string_view wanted(name);
        const bool lost = wanted == "cuIpcOpenMemHandle_v2" || wanted == "hipMemGetAddressRange" ||
                          wanted == "nrt_tensor_read";
        return lost ? nullptr : ::dlsym(library, name);
    });
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Errc::unsupported);
    EXPECT_EQ(log_.with("has no ").size(), 1u) << log_.dump();
}

TEST_P(AnyDriver, V26_OldVersionsAreRefused) {
    const std::vector<int> old{10020, 40000000, 1};
    control().version = old[static_cast<std::size_t>(GetParam())];
    const auto opened = open();
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Errc::unsupported);
    EXPECT_EQ(log_.with("has version " + std::to_string(control().version)).size(), 1u)
        << log_.dump();
}

TEST_P(AnyDriver, DriversThatDoNotStartGiveTheirCode) {
    control().init_result = 4;
    const auto opened = open();
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Errc::no_data);
    EXPECT_EQ(opened.error().provider_errno, 4);
    EXPECT_EQ(log_.with("returned 4").size(), 1u) << log_.dump();
}

TEST_P(AnyDriver, NoDeviceIsNoRuntime) {
    control().devices = 0;
    const auto opened = open();
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Errc::no_data);
    EXPECT_EQ(control().contexts, 0);
}

TEST_P(AnyDriver, MemoryIsZeroWhenTheCallReturns) {
    use();
    const auto memory = runtime().allocate(3);
    ASSERT_TRUE(memory) << memory.error().place;
    const auto facts = runtime().classify(*memory);
    ASSERT_TRUE(facts);
    EXPECT_EQ(facts->kind, MemoryKind::device);
    EXPECT_EQ(facts->base, *memory);
    EXPECT_EQ(facts->bytes, kDeviceUnit) << "nothing else lies in what is exported";
    EXPECT_EQ(facts->device, 0);
    const auto* bytes = static_cast<const unsigned char*>(*memory);
    EXPECT_TRUE(std::all_of(bytes, bytes + kDeviceUnit, [](unsigned char b) { return b == 0; }));
    EXPECT_TRUE(runtime().free(*memory));
    EXPECT_EQ(control().blocks, 0);
}

TEST_P(AnyDriver, SizesThatCannotBeAreRefused) {
    use();
    for (const std::size_t bytes : {std::size_t{0}, SIZE_MAX, SIZE_MAX - 1}) {
        const auto memory = runtime().allocate(bytes);
        ASSERT_FALSE(memory) << bytes;
        EXPECT_EQ(memory.error().code, Errc::invalid_argument) << bytes;
    }
    control().memory = kDeviceUnit;
    const auto large = runtime().allocate(kDeviceUnit + 1);
    ASSERT_FALSE(large);
    EXPECT_EQ(large.error().code, Errc::no_memory);
    EXPECT_NE(large.error().provider_errno, 0) << "the driver's own code";
    EXPECT_STRNE(runtime().code_text(large.error().provider_errno), "");
}

TEST_P(AnyDriver, FreeOfNothingSucceedsAndOfStrangersFails) {
    use();
    EXPECT_TRUE(runtime().free(nullptr));
    int stranger = 0;
    const Status freed = runtime().free(&stranger);
    ASSERT_FALSE(freed);
    EXPECT_EQ(freed.error().code, Errc::invalid_argument);
}

TEST_P(AnyDriver, CopiesAndFillsAreDoneWhenTheyReturn) {
    use();
    const auto first = runtime().allocate(kDeviceUnit);
    ASSERT_TRUE(runtime().set_device(1));
    const auto second = runtime().allocate(kDeviceUnit);
    ASSERT_TRUE(first && second);
    EXPECT_EQ(runtime().classify(*second)->device, 1);
    std::vector<unsigned char> from(kDeviceUnit), to(kDeviceUnit);
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i * 7);
    ASSERT_TRUE(runtime().copy(*first, from.data(), from.size()));
    ASSERT_TRUE(runtime().copy(*second, *first, from.size()));
    ASSERT_TRUE(runtime().copy(to.data(), *second, to.size()));
    EXPECT_EQ(from, to);
    ASSERT_TRUE(runtime().fill(static_cast<char*>(*second) + 5, 0x3c, 9));
    ASSERT_TRUE(runtime().copy(to.data(), *second, to.size()));
    std::fill_n(from.begin() + 5, 9, static_cast<unsigned char>(0x3c));
    EXPECT_EQ(from, to);
    EXPECT_FALSE(runtime().fill(to.data(), 0, 1)) << "that is not device memory";
    EXPECT_TRUE(runtime().free(*first) && runtime().free(*second));
}

TEST_P(AnyDriver, HostMemoryIsHostMemory) {
    use();
    std::vector<char> plain(100);
    for (const void* pointer : {static_cast<const void*>(plain.data()),
                                static_cast<const void*>(nullptr)}) {
        const auto facts = runtime().classify(pointer);
        ASSERT_TRUE(facts);
        EXPECT_EQ(facts->kind, MemoryKind::host);
        EXPECT_EQ(facts->device, -1);
    }
    const auto reachable = runtime().host_allocate(5000);
    ASSERT_TRUE(reachable);
    EXPECT_EQ(static_cast<char*>(*reachable)[4999], 0);
    EXPECT_EQ(runtime().classify(*reachable)->kind, MemoryKind::host);
    EXPECT_TRUE(runtime().host_free(*reachable));
    EXPECT_TRUE(runtime().host_free(nullptr));
}

TEST_P(AnyDriver, DevicesBelongToThreads) {
    use();
    ASSERT_TRUE(runtime().set_device(1));
    int seen = -1;
    std::thread([&] { seen = runtime().device(); }).join();
    EXPECT_EQ(seen, 0);
    EXPECT_EQ(runtime().device(), 1);
    EXPECT_FALSE(runtime().set_device(2));
    EXPECT_FALSE(runtime().set_device(-1));
    ASSERT_TRUE(runtime().set_device(0));
}

TEST_P(AnyDriver, DmabufBeginsWhereTheMemoryDoes) {
    use();
    const auto memory = runtime().allocate(kDeviceUnit);
    ASSERT_TRUE(memory);
    auto* inside = static_cast<char*>(*memory) + 4096 + 100;
    const auto range = runtime().export_dmabuf(inside, 200);
    ASSERT_TRUE(range) << range.error().place;
    EXPECT_TRUE(range->fd);
    EXPECT_EQ(range->offset, GetParam() == DeviceKind::neuron ? 0u : 100u);
    const auto beyond = runtime().export_dmabuf(inside, 2 * kDeviceUnit);
    ASSERT_FALSE(beyond);
    EXPECT_EQ(beyond.error().code, Errc::invalid_argument);
    EXPECT_TRUE(runtime().free(*memory));
    EXPECT_TRUE(runtime().features(0)->dmabuf);
}

TEST_P(AnyDriver, DriversWithoutDmabufSaySo) {
    const auto opened = open(+[](void* library, const char* name) -> void* {
        const std::string_view wanted(name);
        const bool lost = wanted == "cuMemGetHandleForAddressRange" ||
                          wanted == "hipMemGetHandleForAddressRange" ||
                          wanted == "nrt_get_dmabuf_fd";
        return lost ? nullptr : ::dlsym(library, name);
    });
    ASSERT_TRUE(opened) << "it is optional";
    EXPECT_FALSE((*opened)->features(0)->dmabuf);
    char byte = 0;
    EXPECT_EQ((*opened)->export_dmabuf(&byte, 1).error().code, Errc::unsupported);
}

TEST_P(AnyDriver, BusIdsLeadBackToDevices) {
    use();
    const auto bus_id = runtime().bus_id(0);
    ASSERT_TRUE(bus_id);
    EXPECT_EQ(bus_id->size(), std::strlen("0000:00:00.0"));
    const auto device = runtime().device_by_bus_id(*bus_id);
    ASSERT_TRUE(device);
    EXPECT_EQ(*device, 0);
    EXPECT_EQ(runtime().device_by_bus_id("0000:01:00.0").error().code, Errc::invalid_argument)
        << "a device that this process does not see";
    EXPECT_FALSE(runtime().bus_id(2));
    EXPECT_FALSE(runtime().facts(-1));
}

INSTANTIATE_TEST_SUITE_P(Drivers, AnyDriver,
                         testing::Values(DeviceKind::cuda, DeviceKind::hip, DeviceKind::neuron),
                         [](const auto& kind) { return to_string(kind.param); });

TEST(DeviceOptions, LibrariesComeFromTheSettings) {
    Settings settings;
    settings.cuda_library = "c";
    settings.hip_library = "h";
    settings.neuron_library = "n";
    EXPECT_EQ(open_options(DeviceKind::cuda, settings).library, "c");
    EXPECT_EQ(open_options(DeviceKind::hip, settings).library, "h");
    EXPECT_EQ(open_options(DeviceKind::neuron, settings).library, "n");
}

TEST(DeviceOptions, NothingIsLoadedThatIsNotThere) {
    const int loaded = test::in_child([] {
        OpenOptions options;
        options.library = DUOFI_MOCK_CUDA;
        options.only_if_loaded = true;
        if (open_device_runtime(DeviceKind::cuda, options)) return 1;
        if (::dlopen(DUOFI_MOCK_CUDA, RTLD_NOW) == nullptr) return 2;
        return open_device_runtime(DeviceKind::cuda, options) ? 0 : 3;
    });
    // Where a test before has loaded it, it stays.
    EXPECT_TRUE(loaded == 0 || (loaded == 1 && ::dlopen(DUOFI_MOCK_CUDA, RTLD_NOLOAD | RTLD_NOW)));
}

}  // namespace
}  // namespace duofi::memory
