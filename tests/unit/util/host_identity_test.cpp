#include "common/util/host_identity.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

namespace duofi {
namespace {

// A stand-in for /proc with one process, or with nothing at all.
class ProcTree : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = testing::TempDir() + "proc_XXXXXX";
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        root_ = name;
    }
    void TearDown() override { std::filesystem::remove_all(root_); }
    void put(const std::string& path, const std::string& text) {
        std::filesystem::create_directories((root_ / path).parent_path());
        std::ofstream(root_ / path) << text;
    }
    std::string stat(const std::string& name, char state, int threads, long start) {
        return "1 (" + name + ") " + state + " 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 " +
               std::to_string(threads) + " 0 " + std::to_string(start) + " 0 0\n";
    }
    const char* root() const { return root_.c_str(); }
    std::filesystem::path root_;
};

TEST(HostIdentity, KnowsItself) {
    const HostIdentity self = read_host_identity();
    EXPECT_NE(self.boot_hash, 0u);
    EXPECT_NE(self.pid_namespace, 0u);
    EXPECT_NE(self.start_time, 0u);
    EXPECT_EQ(self.pid, static_cast<std::uint32_t>(::getpid()));
    EXPECT_EQ(self, read_host_identity());
    EXPECT_TRUE(same_kernel_and_pid_namespace(self, self));
    EXPECT_FALSE(process_gone(self, self));
}

TEST(HostIdentity, SurvivesTheWire) {
    const HostIdentity self = read_host_identity();
    std::array<std::byte, kHostIdentityBytes> bytes{};
    ByteWriter out(bytes);
    write(out, self);
    EXPECT_TRUE(out.ok());
    EXPECT_EQ(out.remaining(), 0u);
    ByteReader in(bytes);
    EXPECT_EQ(read_identity(in), self);
    EXPECT_TRUE(in.ok());
    ByteReader cut(std::span<const std::byte>(bytes).first(kHostIdentityBytes - 1));
    (void)read_identity(cut);
    EXPECT_FALSE(cut.ok());
}

TEST(HostIdentity, OtherKernelOrNamespaceOrUnknownIsNotTheSame) {
    const HostIdentity a{1, 2, 3, 4};
    HostIdentity b = a;
    EXPECT_TRUE(same_kernel_and_pid_namespace(a, b));
    b.boot_hash = 9;
    EXPECT_FALSE(same_kernel_and_pid_namespace(a, b));
    b = a;
    b.pid_namespace = 9;
    EXPECT_FALSE(same_kernel_and_pid_namespace(a, b));
    EXPECT_FALSE(same_kernel_and_pid_namespace(HostIdentity{}, HostIdentity{}));
}

TEST(HostIdentity, ChildIsGoneOnceItIsAZombieAndAfterIt) {
    const HostIdentity self = read_host_identity();
    int to_child[2];
    int to_parent[2];
    ASSERT_EQ(::pipe(to_child), 0);
    ASSERT_EQ(::pipe(to_parent), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        const HostIdentity mine = read_host_identity();
        char byte = 0;
        if (::write(to_parent[1], &mine, sizeof(mine)) < 0 || ::read(to_child[0], &byte, 1) < 0)
            _exit(1);
        _exit(0);
    }
    HostIdentity peer;
    ASSERT_EQ(::read(to_parent[0], &peer, sizeof(peer)), static_cast<ssize_t>(sizeof(peer)));
    EXPECT_TRUE(same_kernel_and_pid_namespace(self, peer));
    EXPECT_EQ(peer.pid, static_cast<std::uint32_t>(child));
    EXPECT_FALSE(process_gone(peer, self));
    ASSERT_EQ(::write(to_child[1], "x", 1), 1);
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
    EXPECT_TRUE(process_gone(peer, self)) << "zombie";
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    EXPECT_TRUE(process_gone(peer, self)) << "reaped";
    for (const int fd : {to_child[0], to_child[1], to_parent[0], to_parent[1]}) ::close(fd);
}

TEST_F(ProcTree, MissingProcLeavesZerosAndNoVerdict) {
    const HostIdentity blind = read_host_identity(root());
    EXPECT_EQ(blind.boot_hash, 0u);
    EXPECT_EQ(blind.pid_namespace, 0u);
    EXPECT_EQ(blind.start_time, 0u);
    EXPECT_EQ(blind.pid, static_cast<std::uint32_t>(::getpid()));
    const HostIdentity self = read_host_identity();
    EXPECT_FALSE(process_gone(blind, self));
    EXPECT_FALSE(process_gone(self, self, root())) << "alive, but hidden from /proc";
}

TEST_F(ProcTree, ReadsPastAwkwardProcessNames) {
    put("self/stat", stat("a) S 1 (b", 'R', 1, 4711));
    put("sys/kernel/random/boot_id", "0a1b\n");
    const HostIdentity identity = read_host_identity(root());
    EXPECT_EQ(identity.start_time, 4711u);
    put("sys/kernel/random/boot_id", "0a1c\n");
    EXPECT_NE(read_host_identity(root()).boot_hash, identity.boot_hash);
}

TEST_F(ProcTree, ReusedPidAndZombiesCountAsGone) {
    const HostIdentity self = read_host_identity();
    const std::string path = std::to_string(self.pid) + "/stat";
    const long start = static_cast<long>(self.start_time);
    put(path, stat("x", 'S', 1, start));
    EXPECT_FALSE(process_gone(self, self, root()));
    put(path, stat("x", 'T', 1, start));
    EXPECT_FALSE(process_gone(self, self, root())) << "stopped is not dead";
    put(path, stat("x", 'S', 1, start + 1));
    EXPECT_TRUE(process_gone(self, self, root())) << "younger process with this pid";
    put(path, stat("x", 'Z', 1, start));
    EXPECT_TRUE(process_gone(self, self, root()));
    put(path, stat("x", 'Z', 3, start));
    EXPECT_FALSE(process_gone(self, self, root())) << "first thread ended, others live";
    put(path, "1 (x) Z");
    EXPECT_FALSE(process_gone(self, self, root())) << "cut short";
}

}  // namespace
}  // namespace duofi
