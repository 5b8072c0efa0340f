// Little of everything: descriptors, memory, /dev/shm, /proc (V-32, V-34). Each in a child of its own.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstring>
#include <vector>

#include "common/util/messages/local.hpp"
#include "common/util/unique_fd.hpp"
#include "tests/unit/p2p/runtime/runtime_fixture.hpp"

namespace duofi::p2p {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr int kCannot = 77;  // this machine does not let us try

// V-32: the limit is an error at the allocation that meets it, and ended exports make room.
TEST(Limits, DescriptorsEndInAnErrorAndComeBack) {
    EXPECT_EQ(test::in_child([] {
                  const rlimit tight{64, 64};
                  if (::setrlimit(RLIMIT_NOFILE, &tight) != 0) return 1;
                  const auto use = runtime::acquire(test::runtime_settings_of("host"));
                  if (!use) return 2;
                  std::vector<void*> held;
                  auto memory = runtime::allocate(2 * kMiB);
                  for (; memory; memory = runtime::allocate(2 * kMiB)) held.push_back(*memory);
                  if (held.size() < 32 || held.size() > 62 || memory.error().code != Errc::system) return 3;
                  for (void* one : held)
                      if (!runtime::end_exports(one)) return 4;
                  for (int i = 0; i < 40; ++i) {
                      const auto more = runtime::allocate(2 * kMiB);
                      if (!more || !runtime::end_exports(*more)) return 5;
                      held.push_back(*more);
                  }
                  for (void* one : held) {
                      std::memset(one, 1, 4096);
                      if (!runtime::free(one)) return 6;
                  }
                  return 0;
              }),
              0);
}

// V-32: a control group, when one can be made here. The kernel would end the process at the first touch too many.
class MemoryGroup {
  public:
    explicit MemoryGroup(std::size_t bytes) {
        for (const auto& [folder, file] : {std::pair{"/sys/fs/cgroup/", "memory.max"},
                                           std::pair{"/sys/fs/cgroup/memory/", "memory.limit_in_bytes"}}) {
            path_ = folder + std::string("duofi-test-") + std::to_string(::getpid());
            if (::mkdir(path_.c_str(), 0755) != 0) continue;
            if (put(file, std::to_string(bytes))) return;
            ::rmdir(path_.c_str());
        }
        path_.clear();
    }
    ~MemoryGroup() {
        if (!path_.empty()) ::rmdir(path_.c_str());
    }
    bool enter() const { return !path_.empty() && put("cgroup.procs", std::to_string(::getpid())); }
    explicit operator bool() const { return !path_.empty(); }

  private:
    bool put(const std::string& file, const std::string& text) const {
        const UniqueFd fd(::open((path_ + "/" + file).c_str(), O_WRONLY | O_CLOEXEC));
        return fd && ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
    }
    std::string path_;
};

TEST(Limits, MemoryOfAControlGroupIsAnError) {
    const MemoryGroup group(64 * kMiB);
    if (!group) GTEST_SKIP() << "no control group can be made here";
    const int code = test::in_child([&] {
        if (!group.enter()) return kCannot;
        const auto use = runtime::acquire(test::runtime_settings_of("host"));
        const auto memory = runtime::allocate(256 * kMiB);
        if (!use || !memory) return 1;  // addresses alone are no memory
        const Status all = runtime::reserve(*memory, 256 * kMiB);
        if (all || all.error().code != Errc::no_memory) return 2;
        if (std::strcmp(all.error().place, messages::kSegmentMemoryLimit) != 0) return 3;
        if (!runtime::reserve(*memory, 16 * kMiB)) return 4;
        std::memset(*memory, 1, 16 * kMiB);
        if (!runtime::reserve(*memory, 16 * kMiB)) return 5;  // they are there already
        return runtime::free(*memory) ? 0 : 6;
    });
    if (code == kCannot) GTEST_SKIP() << "this process cannot be moved into a control group";
    EXPECT_EQ(code, 0);
}

bool private_mounts() {
    return ::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

// V-34: nothing of ours is in /dev/shm, so its size and its mode do not matter.
TEST(Limits, SmallOrReadOnlyDevShmDoesNotMatter) {
    const int code = test::in_child([] {
        if (!private_mounts() || ::mount("tmpfs", "/dev/shm", "tmpfs", MS_RDONLY, "size=64k") != 0) return kCannot;
        const auto use = runtime::acquire(test::runtime_settings_of("host"));
        const auto memory = runtime::allocate(32 * kMiB);
        if (!use || !memory || !runtime::reserve(*memory, 32 * kMiB)) return 1;
        p2pIpcHandle handle{};
        return runtime::ipc_get(&handle, *memory) && runtime::free(*memory) ? 0 : 2;
    });
    if (code == kCannot) GTEST_SKIP() << "needs root for mounts";
    EXPECT_EQ(code, 0);
}

// V-34: without /proc no process can open another one's memory. Said once; inside the process all goes on.
TEST(Limits, WithoutProcMemoryStaysInTheProcess) {
    const int code = test::in_child([] {
        if (!private_mounts() || ::mount("tmpfs", "/proc", "tmpfs", 0, "size=64k") != 0) return kCannot;
        const test::LogLines log;
        const auto use = runtime::acquire(test::runtime_settings_of("host"));
        if (!use || runtime::has(kRealIpc)) return 1;
        if (log.with("memory cannot be shared with other processes").size() != 1) return 2;
        const auto domain = runtime::ipc_domain_id();
        if (!domain || runtime::same_ipc_domain(*domain, *domain)) return 3;  // falls to NET
        const auto memory = runtime::allocate(2 * kMiB);
        p2pIpcHandle handle{};
        void* opened = nullptr;
        if (!memory || !runtime::ipc_get(&handle, *memory) || !runtime::ipc_open(&opened, handle)) return 4;
        return runtime::ipc_close(opened) && runtime::free(*memory) ? 0 : 5;
    });
    if (code == kCannot) GTEST_SKIP() << "needs root for mounts";
    EXPECT_EQ(code, 0);
}

// V-34: hidepid hides other users' processes, not ours.
TEST(Limits, HiddenProcessesOfOthersDoNotMatter) {
    const int code = test::in_child([] {
        if (!private_mounts() || ::mount("proc", "/proc", "proc", 0, "hidepid=2,gid=60001") != 0) return kCannot;
        if (::setresuid(65534, 65534, 65534) != 0) return kCannot;
        test::Child exporter([](const test::Child::Line& line) {
            const auto use = runtime::acquire(test::runtime_settings_of("host"));
            const auto memory = runtime::allocate(1);
            p2pIpcHandle handle{};
            if (!use || !memory || !runtime::ipc_get(&handle, *memory) || !line.send(handle)) return 1;
            return line.heard() ? 0 : 2;
        });
        p2pIpcHandle handle{};
        if (!exporter.line().receive(handle)) return 1;
        const auto use = runtime::acquire(test::runtime_settings_of("host"));
        void* memory = nullptr;
        if (!use || !runtime::ipc_open(&memory, handle) || !runtime::ipc_close(memory)) return 2;
        exporter.line().ring();
        return exporter.wait();
    });
    if (code == kCannot) GTEST_SKIP() << "needs root for mounts";
    EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace duofi::p2p
