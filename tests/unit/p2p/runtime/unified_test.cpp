// Units: p2p/runtime/unified
#include "p2p/runtime/unified.hpp"

#include <cstring>

#include "tests/unit/p2p/runtime/runtime_fixture.hpp"

namespace duofi::p2p {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

using test::mapped;

class UnifiedRuntime : public test::RuntimeTest {
  protected:
    void SetUp() override { use("unified"); }
};

// The stubs of the base: they succeed and touch nothing (T-5).
TEST_F(UnifiedRuntime, HandlesAndCopiesDoNothing) {
    EXPECT_TRUE(runtime::has(kUnified) && runtime::has(kHostAccessible));
    EXPECT_FALSE(runtime::has(kRealIpc));
    p2pIpcHandle handle;
    std::memset(&handle, 0x5a, sizeof(handle));
    const p2pIpcHandle before = handle;
    void* memory = this;
    EXPECT_TRUE(runtime::ipc_get(&handle, memory));
    EXPECT_EQ(std::memcmp(&handle, &before, sizeof(handle)), 0);
    EXPECT_TRUE(runtime::ipc_open(&memory, handle));
    EXPECT_EQ(memory, this) << "the pointer that was there before";
    EXPECT_TRUE(runtime::ipc_close(memory));
    EXPECT_TRUE(runtime::enable_peer_access(0));
    EXPECT_EQ(use_.table().device_enable_peer_access(0, 0), 0);
    int target = 1;
    const int source = 2;
    EXPECT_TRUE(runtime::copy(&target, &source, sizeof(target), CopyKind::host_to_device));
    EXPECT_EQ(target, 1);
    EXPECT_FALSE(runtime::copy(&target, &source, sizeof(target), static_cast<CopyKind>(9)));
}

TEST_F(UnifiedRuntime, MemoryIsReal) {
    EXPECT_TRUE(runtime::free(nullptr));
    const auto memory = runtime::allocate(2 * kMiB);
    ASSERT_TRUE(memory);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(*memory) % (2 * kMiB), 0u);
    auto* bytes = static_cast<unsigned char*>(*memory);
    EXPECT_EQ(bytes[2 * kMiB - 1], 0);
    EXPECT_TRUE(runtime::fill(bytes, 7, 10));
    EXPECT_EQ(bytes[9], 7);
    EXPECT_TRUE(runtime::reserve(bytes + kMiB, kMiB));
    EXPECT_FALSE(runtime::reserve(bytes + kMiB, kMiB + 1));
    EXPECT_EQ(runtime::pointer_info(bytes + 5)->base, bytes);
    int here = 0;
    EXPECT_FALSE(runtime::pointer_info(&here));
    EXPECT_FALSE(runtime::reserve(&here, 1));
    EXPECT_FALSE(runtime::free(bytes + 1));
    EXPECT_TRUE(runtime::end_exports(bytes));
    EXPECT_TRUE(runtime::free(bytes));
    EXPECT_FALSE(runtime::free(bytes));
    EXPECT_FALSE(mapped(bytes));
    EXPECT_FALSE(runtime::allocate(0));
    EXPECT_FALSE(runtime::allocate(~std::size_t{0}));
}

// T-13
TEST_F(UnifiedRuntime, RetainedMemoryOutlivesItsFree) {
    const auto memory = runtime::allocate(100);
    ASSERT_TRUE(memory);
    EXPECT_TRUE(runtime::retain(*memory) && runtime::retain(*memory));
    EXPECT_TRUE(runtime::free(*memory));
    EXPECT_TRUE(runtime::release(*memory));
    EXPECT_TRUE(mapped(*memory));
    EXPECT_TRUE(runtime::release(*memory));
    EXPECT_FALSE(mapped(*memory));
    EXPECT_FALSE(runtime::release(*memory));
    EXPECT_FALSE(runtime::retain(*memory));
}

TEST_F(UnifiedRuntime, OtherProcessesAreAnotherDomain) {
    const std::uint64_t mine = *runtime::ipc_domain_id();
    EXPECT_TRUE(runtime::same_ipc_domain(mine, *runtime::ipc_domain_id()));
    test::Child child([&](const test::Child::Line& line) {
        std::uint64_t id = 0;
        return unified_runtime.ipc_domain_id(&id) == 0 && line.send(id) ? 0 : 1;
    });
    std::uint64_t theirs = 0;
    ASSERT_TRUE(child.line().receive(theirs));
    EXPECT_FALSE(runtime::same_ipc_domain(mine, theirs));
}

TEST(UnifiedRuntimeLife, TakesBackWhatWasNotFreed) {
    const test::LogLines log;
    void* memory = nullptr;
    {
        const auto use = runtime::acquire(test::runtime_settings_of("unified"));
        memory = *runtime::allocate(1);
        EXPECT_TRUE(mapped(memory));
    }
    EXPECT_FALSE(mapped(memory));
    EXPECT_TRUE(log.warn("P2P runtime unified: 1 allocations were not freed")) << log.dump();
}

}  // namespace
}  // namespace duofi::p2p
