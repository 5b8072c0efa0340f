// Units: common/local/memory_limit common/local/ipc_domain common/local/pages
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "common/local/ipc_domain.hpp"
#include "common/local/memory_limit.hpp"
#include "common/local/pages.hpp"

namespace duofi::local {
namespace {

class GroupTree : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = testing::TempDir() + "groups_XXXXXX";
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        root_ = name;
    }
    void TearDown() override { std::filesystem::remove_all(root_); }
    void put(const std::string& path, const std::string& text) {
        std::filesystem::create_directories((root_ / path).parent_path());
        std::ofstream(root_ / path) << text;
    }
    std::size_t headroom() const { return memory_headroom(root_.string()); }
    std::filesystem::path root_;
};

TEST_F(GroupTree, NothingKnownIsNoLimit) {
    EXPECT_EQ(headroom(), kNoMemoryLimit);
    put("proc/self/cgroup", "garbage\n0::\n5:memory:relative\n");
    EXPECT_EQ(headroom(), kNoMemoryLimit);
}

TEST_F(GroupTree, SecondVersionTakesTheTightestOfAllLevels) {
    put("proc/self/cgroup", "0::/job/step\n");
    put("sys/fs/cgroup/job/step/memory.max", "max\n");
    put("sys/fs/cgroup/job/step/memory.current", "500\n");
    EXPECT_EQ(headroom(), kNoMemoryLimit);
    put("sys/fs/cgroup/job/memory.max", "10000\n");
    put("sys/fs/cgroup/job/memory.current", "4000\n");
    EXPECT_EQ(headroom(), 6000u);
    put("sys/fs/cgroup/memory.max", "5000\n");  // a container sees its own group here
    put("sys/fs/cgroup/memory.current", "4500\n");
    EXPECT_EQ(headroom(), 500u);
}

TEST_F(GroupTree, CacheThatCanBeDroppedIsNotUsed) {
    put("proc/self/cgroup", "0::/job\n");
    put("sys/fs/cgroup/job/memory.max", "10000\n");
    put("sys/fs/cgroup/job/memory.current", "9000\n");
    put("sys/fs/cgroup/job/memory.stat", "anon 1000\nfile 7000\nshmem 2000\ninactive_file 4000\nactive_file 1000\n");
    EXPECT_EQ(headroom(), 6000u);
}

TEST_F(GroupTree, FirstVersionHasItsOwnNames) {
    put("proc/self/cgroup", "4:cpu,memory:/job\n3:cpuset:/\n");
    put("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "10000\n");
    put("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "12000\n");
    EXPECT_EQ(headroom(), 0u) << "above the limit already";
    put("sys/fs/cgroup/memory/job/memory.stat", "inactive_file 9\ntotal_inactive_file 5000\ntotal_active_file 0\n");
    EXPECT_EQ(headroom(), 3000u);
}

TEST(MemoryLimit, OfThisProcessCanBeAsked) { EXPECT_GT(memory_headroom(), 0u); }

constexpr DomainFacts kFacts{11, 22, 33, 44, 0, 1000, true};

// p2p contract 2.5
TEST(IpcDomain, IsTheSameForTheSameFacts) {
    const std::uint64_t id = domain_id(kFacts, true, true);
    EXPECT_EQ(id, domain_id(kFacts, true, true));
    EXPECT_TRUE(same_domain(id, id));
}

TEST(IpcDomain, OtherUserKernelOrUserNamespaceIsAnother) {
    const std::uint64_t id = domain_id(kFacts, true, true);
    for (const auto change : {+[](DomainFacts& f) { f.user = 1001; }, +[](DomainFacts& f) { f.boot_hash = 12; },
                              +[](DomainFacts& f) { f.user_namespace = 34; }}) {
        DomainFacts other = kFacts;
        change(other);
        EXPECT_FALSE(same_domain(id, domain_id(other, true, true)));
    }
}

TEST(IpcDomain, EitherWayIsEnough) {
    DomainFacts other_pids = kFacts;
    other_pids.pid_namespace = 23;
    DomainFacts other_net = kFacts;
    other_net.net_namespace = 45;
    DomainFacts undumpable = kFacts;
    undumpable.dumpable = false;
    const std::uint64_t id = domain_id(kFacts, true, true);
    EXPECT_TRUE(same_domain(id, domain_id(other_pids, true, true))) << "through the fd service";
    EXPECT_FALSE(same_domain(id, domain_id(other_pids, true, false)));
    EXPECT_FALSE(same_domain(domain_id(kFacts, true, false), domain_id(other_pids, true, true)));
    EXPECT_TRUE(same_domain(id, domain_id(other_net, true, true))) << "through /proc";
    EXPECT_TRUE(same_domain(id, domain_id(undumpable, true, true))) << "through the fd service";
    EXPECT_FALSE(same_domain(id, domain_id(undumpable, true, false)));
}

TEST(IpcDomain, SharedDirectoryReplacesTheNetNamespace) {
    DomainFacts a = kFacts, b = kFacts;
    a.pid_namespace = 1;
    a.net_namespace = 2;
    a.socket_dir = b.socket_dir = 99;
    EXPECT_TRUE(same_domain(domain_id(a, true, true), domain_id(b, true, true)));
    b.socket_dir = 0;
    EXPECT_FALSE(same_domain(domain_id(a, true, true), domain_id(b, true, true)));
}

TEST(IpcDomain, ClosedOrUnknownWaysMatchNobody) {
    EXPECT_EQ(domain_id(kFacts, false, false), 0u);
    EXPECT_EQ(domain_id(DomainFacts{}, true, true), 0u);
    EXPECT_FALSE(same_domain(0, 0));
}

TEST(IpcDomain, ThisProcessKnowsItsFacts) {
    const DomainFacts facts = read_domain_facts(testing::TempDir());
    EXPECT_NE(facts.boot_hash, 0u);
    EXPECT_NE(facts.pid_namespace, 0u);
    EXPECT_NE(facts.user_namespace, 0u);
    EXPECT_NE(facts.net_namespace, 0u);
    EXPECT_NE(facts.socket_dir, 0u);
    EXPECT_EQ(read_domain_facts("/no/such/directory").socket_dir, 0u);
    EXPECT_EQ(read_domain_facts("/proc/version").socket_dir, 0u) << "no directory";
}

TEST(Pages, MappingsAreAligned) {
    constexpr std::size_t kUnit = std::size_t{2} << 20;
    for (const std::size_t bytes : {std::size_t{1}, page_size(), kUnit, kUnit + 1}) {
        void* memory = map_aligned(-1, bytes, kUnit);
        ASSERT_NE(memory, nullptr);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % kUnit, 0u);
        auto* words = static_cast<unsigned char*>(memory);
        EXPECT_EQ(words[bytes - 1], 0);
        words[bytes - 1] = 1;
        unmap(memory, bytes);
    }
    EXPECT_EQ(map_aligned(-1, std::size_t{1} << 62, kUnit), nullptr);
}

TEST(Pages, PopulateBringsPagesAndKeepsContent) {
    const std::size_t page = page_size();
    void* memory = map_aligned(-1, 16 * page, page);
    auto* bytes = static_cast<unsigned char*>(memory);
    bytes[5 * page] = 7;
    ASSERT_TRUE(populate(bytes + page + 1, 8 * page));
    std::array<unsigned char, 16> resident{};
    ASSERT_EQ(::mincore(memory, 16 * page, resident.data()), 0);
    for (std::size_t i = 1; i < 10; ++i) EXPECT_EQ(resident[i] & 1, 1) << i;
    EXPECT_EQ(resident[12] & 1, 0);
    EXPECT_EQ(bytes[5 * page], 7);
    unmap(memory, 16 * page);
}

}  // namespace
}  // namespace duofi::local
