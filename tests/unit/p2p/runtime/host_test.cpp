// Units: p2p/runtime/host p2p/runtime/events
#include "p2p/runtime/host.hpp"

#include <sys/resource.h>

#include <cstring>
#include <vector>

#include "common/util/clock.hpp"
#include "common/util/messages/local.hpp"
#include "common/util/messages/p2p_runtime.hpp"
#include "tests/unit/p2p/runtime/runtime_fixture.hpp"

namespace duofi::p2p {
namespace {

using test::Child;
constexpr std::size_t kMiB = std::size_t{1} << 20;

class HostRuntime : public test::RuntimeTest {
  protected:
    void SetUp() override { use("host"); }
    std::byte* allocate(std::size_t bytes = 2 * kMiB) {
        const auto made = runtime::allocate(bytes);
        EXPECT_TRUE(made);
        return static_cast<std::byte*>(*made);
    }
};

TEST_F(HostRuntime, OffersWhatTheContractAsks) {
    for (const Capability bit : {kHostAccessible, kRealIpc, kIpcInterior, kSameProcessIpc, kRelay})
        EXPECT_TRUE(runtime::has(bit)) << bit;
    EXPECT_FALSE(runtime::has(kUnified));
    EXPECT_EQ(log_.with("P2P runtime host: ").size(), 1u) << log_.dump();
    const RuntimeTable& table = use_.table();
    EXPECT_STREQ(table.name, "host");
    for (std::size_t offset = 0; offset < sizeof(RuntimeTable); offset += sizeof(void*)) {
        const void* slot = nullptr;
        std::memcpy(&slot, reinterpret_cast<const std::byte*>(&table) + offset, sizeof(slot));
        EXPECT_NE(slot, nullptr) << offset;
    }
}

// C-27
TEST_F(HostRuntime, MemoryIsAlignedZeroAndFreedOnce) {
    EXPECT_TRUE(runtime::free(nullptr));
    for (const std::size_t bytes : {std::size_t{1}, 2 * kMiB, 5 * kMiB}) {
        std::byte* memory = allocate(bytes);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % (2 * kMiB), 0u);
        EXPECT_EQ(memory[bytes - 1], std::byte{0});
        const auto info = runtime::pointer_info(memory + bytes - 1);
        ASSERT_TRUE(info);
        EXPECT_EQ(info->base, memory);
        EXPECT_GE(info->bytes, bytes);
        EXPECT_FALSE(info->imported);
        EXPECT_TRUE(runtime::free(memory));
        EXPECT_FALSE(runtime::free(memory));
        EXPECT_FALSE(runtime::pointer_info(memory));
    }
    EXPECT_FALSE(runtime::allocate(0));
}

// C-27
TEST_F(HostRuntime, HandlesOpenInTheSameProcess) {
    std::byte* memory = allocate();
    p2pIpcHandle handle{};
    ASSERT_TRUE(runtime::ipc_get(&handle, memory));
    void* first = nullptr;
    void* second = nullptr;
    ASSERT_TRUE(runtime::ipc_open(&first, handle) && runtime::ipc_open(&second, handle));
    EXPECT_EQ(first, memory);
    EXPECT_EQ(second, memory);
    EXPECT_TRUE(runtime::ipc_close(first) && runtime::ipc_close(second));
    EXPECT_FALSE(runtime::ipc_close(first));
    EXPECT_TRUE(runtime::free(memory));
    void* stale = this;
    EXPECT_FALSE(runtime::ipc_open(&stale, handle));
    EXPECT_EQ(stale, this) << "outputs are set on success only";
    EXPECT_TRUE(log_.warn(std::string("P2P runtime host: op=ipcOpenMemHandle code=3 err_text=\"") +
                          messages::kHandleStale + "\""))
        << log_.dump();
}

TEST(HostRuntimeProcesses, ShareMemoryThroughHandles) {
    Child child([](const Child::Line& line) {
        const auto use = runtime::acquire(test::runtime_settings_of("host"));
        const auto memory = runtime::allocate(4 * kMiB);
        p2pIpcHandle handle{};
        if (!use || !memory || !runtime::ipc_get(&handle, static_cast<std::byte*>(*memory) + kMiB)) return 1;
        std::memcpy(static_cast<std::byte*>(*memory) + kMiB, "from afar", 10);
        if (!line.send(handle) || !line.send(*runtime::ipc_domain_id()) || !line.heard()) return 2;
        if (!runtime::end_exports(*memory)) return 3;
        return runtime::free(*memory) ? 0 : 4;
    });
    p2pIpcHandle handle{};
    std::uint64_t domain = 0;
    ASSERT_TRUE(child.line().receive(handle) && child.line().receive(domain));
    const auto use = runtime::acquire(test::runtime_settings_of("host"));
    ASSERT_TRUE(use);
    EXPECT_TRUE(runtime::same_ipc_domain(domain, *runtime::ipc_domain_id()));
    void* memory = nullptr;
    ASSERT_TRUE(runtime::ipc_open(&memory, handle));
    EXPECT_STREQ(static_cast<const char*>(memory), "from afar");
    const auto info = runtime::pointer_info(memory);
    EXPECT_TRUE(info->imported);
    EXPECT_EQ(info->bytes, 4 * kMiB);
    EXPECT_TRUE(runtime::reserve(memory, kMiB)) << "also by an importer";
    child.line().ring();
    EXPECT_EQ(child.wait(), 0);
    EXPECT_STREQ(static_cast<const char*>(memory), "from afar");
    EXPECT_TRUE(runtime::ipc_close(memory));
}

// T-13
TEST_F(HostRuntime, RetainedMemoryOutlivesItsFree) {
    std::byte* memory = allocate();
    EXPECT_TRUE(runtime::retain(memory + 100));
    EXPECT_TRUE(runtime::free(memory));
    memory[7] = std::byte{7};
    EXPECT_TRUE(runtime::release(memory + 100));
    EXPECT_FALSE(runtime::release(memory + 100));
}

TEST_F(HostRuntime, EndedExportsCannotBeExportedAgain) {
    std::byte* memory = allocate();
    p2pIpcHandle handle{};
    EXPECT_TRUE(runtime::ipc_get(&handle, memory));
    EXPECT_TRUE(runtime::end_exports(memory));
    const Status again = runtime::ipc_get(&handle, memory);
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, Errc::invalid_usage);
    EXPECT_FALSE(runtime::end_exports(nullptr));
    EXPECT_TRUE(runtime::free(memory));
}

TEST_F(HostRuntime, CopiesAndFills) {
    std::byte* memory = allocate();
    std::vector<std::byte> source(100000, std::byte{3});
    for (int kind = 0; kind <= 4; ++kind)
        EXPECT_TRUE(runtime::copy(memory + kind, source.data(), source.size(), static_cast<CopyKind>(kind)));
    EXPECT_EQ(memory[source.size() + 3], std::byte{3});
    EXPECT_EQ(memory[source.size() + 4], std::byte{0});
    EXPECT_TRUE(runtime::fill(memory, 9, 64));
    EXPECT_TRUE(runtime::copy_async(source.data(), memory, 64, CopyKind::automatic));
    EXPECT_EQ(source[63], std::byte{9});
    for (const int kind : {-1, 5}) EXPECT_FALSE(runtime::copy(memory, source.data(), 1, static_cast<CopyKind>(kind)));
    EXPECT_FALSE(runtime::copy(memory, nullptr, 1, CopyKind::automatic));
    EXPECT_TRUE(runtime::copy(nullptr, nullptr, 0, CopyKind::automatic));
    EXPECT_FALSE(runtime::fill(nullptr, 0, 1));
    EXPECT_TRUE(runtime::free(memory));
}

TEST_F(HostRuntime, HostMemoryIsPlainZeroedMemory) {
    const auto memory = runtime::host_allocate(10000);
    ASSERT_TRUE(memory);
    EXPECT_EQ(static_cast<const char*>(*memory)[9999], 0);
    EXPECT_TRUE(runtime::host_free(*memory));
    EXPECT_TRUE(runtime::host_free(nullptr));
    EXPECT_FALSE(runtime::host_allocate(0));
}

TEST_F(HostRuntime, EventsArePointsInTime) {
    const EventTable& events = *use_.table().events;
    void* from = nullptr;
    void* to = nullptr;
    ASSERT_EQ(events.create(&from), 0);
    ASSERT_EQ(events.create(&to), 0);
    EXPECT_EQ(events.record(from), 0);
    const Deadline a_while(2 * kMillisecond);
    while (!a_while.passed()) {
    }
    EXPECT_EQ(events.record(to), 0);
    EXPECT_EQ(events.query(to), 0);
    EXPECT_EQ(events.synchronize(to), 0);
    double microseconds = 0;
    EXPECT_EQ(events.elapsed_us(from, to, &microseconds), 0);
    EXPECT_GE(microseconds, 2000);
    EXPECT_NE(events.record(nullptr), 0);
    EXPECT_NE(events.create(nullptr), 0);
    EXPECT_NE(events.elapsed_us(from, nullptr, &microseconds), 0);
    EXPECT_EQ(events.destroy(from), 0);
    EXPECT_EQ(events.destroy(to), 0);
}

TEST_F(HostRuntime, SlotsRefuseNullAndWrongFlags) {
    const RuntimeTable& table = use_.table();
    const p2pIpcHandle handle{};
    void* memory = nullptr;
    EXPECT_NE(table.malloc(nullptr, 1), 0);
    EXPECT_NE(table.ipc_get_mem_handle(nullptr, this), 0);
    EXPECT_NE(table.ipc_open_mem_handle(nullptr, &handle, 1), 0);
    EXPECT_NE(table.ipc_open_mem_handle(&memory, nullptr, 1), 0);
    EXPECT_NE(table.ipc_open_mem_handle(&memory, &handle, 0), 0);
    EXPECT_STREQ(table.error_string(static_cast<int>(Errc::invalid_argument)), messages::kRuntimeOpenFlag);
    EXPECT_NE(table.pointer_query(nullptr, this), 0);
    EXPECT_NE(table.get_device_count(nullptr), 0);
    EXPECT_NE(table.get_device(nullptr), 0);
    EXPECT_NE(table.ipc_domain_id(nullptr), 0);
    EXPECT_NE(table.device_can_access_peer(nullptr, 0, 0), 0);
    EXPECT_NE(table.remote_alloc(nullptr, nullptr, 1), 0);
}

TEST(HostRuntimeLife, TellsOfWhatWasNotFreed) {
    const test::LogLines log;
    const std::size_t mapped = test::mapped_segments();
    {
        const auto use = runtime::acquire(test::runtime_settings_of("host"));
        ASSERT_TRUE(runtime::allocate(1));
        EXPECT_GT(test::mapped_segments(), mapped);
    }
    EXPECT_TRUE(log.warn("P2P runtime host: 1 allocations were not freed")) << log.dump();
    EXPECT_EQ(test::mapped_segments(), mapped);
}

TEST(HostRuntimeLife, CompatibilityHasNoRelay) {
    Settings settings = test::runtime_settings_of("host");
    settings.p2p_compat = true;
    const auto use = runtime::acquire(settings);
    ASSERT_TRUE(use);
    EXPECT_FALSE(runtime::has(kRelay));
    const auto lease = runtime::remote_allocate(RelayAddress{}, 1);
    ASSERT_FALSE(lease);
    EXPECT_EQ(lease.error().code, Errc::unsupported);
}

TEST(HostRuntimeLife, RaisesTheSoftLimitOfDescriptors) {
    EXPECT_EQ(test::in_child([] {
                  rlimit limit{};
                  ::getrlimit(RLIMIT_NOFILE, &limit);
                  limit.rlim_cur = 100;
                  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
                  const auto use = runtime::acquire(test::runtime_settings_of("host"));
                  ::getrlimit(RLIMIT_NOFILE, &limit);
                  return use && limit.rlim_cur == limit.rlim_max ? 0 : 2;
              }),
              0);
}

// Repeated lives in one process leave nothing.
TEST(HostRuntimeLife, EndsWithEverythingItBegan) {
    const std::size_t before = test::open_descriptors();
    for (int life = 0; life < 5; ++life) {
        const auto use = runtime::acquire(test::runtime_settings_of("host"));
        ASSERT_TRUE(use);
        const auto memory = runtime::allocate(3 * kMiB);
        p2pIpcHandle handle{};
        ASSERT_TRUE(runtime::ipc_get(&handle, *memory));
        ASSERT_TRUE(runtime::free(*memory));
    }
    EXPECT_EQ(test::open_descriptors(), before);
    EXPECT_EQ(test::mapped_segments(), 0u);
}

}  // namespace
}  // namespace duofi::p2p
