// Peers that die at any moment: the survivor gets an error or its memory, hears of it within a second, and nothing is
// left (V-29, V-31).
#include <cstring>
#include <random>
#include <set>
#include <sstream>
#include <thread>
#include <vector>

#include "common/local/process_watch.hpp"
#include "p2p/runtime/relay_service.hpp"
#include "tests/unit/p2p/runtime/runtime_fixture.hpp"

namespace duofi::p2p {
namespace {

using test::Child;
constexpr std::size_t kMiB = std::size_t{1} << 20;

struct Offer {
    HostIdentity who;
    p2pIpcHandle handle;
    RelayAddress relay;
};

// Goes through all stages again and again until it is killed. In each it may die.
int victim(const Child::Line& line) {
    const auto use = runtime::acquire(test::runtime_settings_of("host"));
    if (!use) return 1;
    const auto relay = RelayService::start(use->table());
    Offer offer{read_host_identity(), {}, (*relay)->address()};
    if (!line.send(offer)) return 2;
    while (true) {
        const auto memory = runtime::allocate(2 * kMiB);
        if (!memory || !runtime::ipc_get(&offer.handle, *memory) || !line.send(offer)) return 3;
        for (int i = 0; i < 1000; ++i) static_cast<volatile char*>(*memory)[i * 64] = static_cast<char>(i);
        char word = 0;
        if (!line.receive(word) || !runtime::end_exports(*memory) || !runtime::free(*memory)) return 4;
    }
}

// What carries the number of a victim: files, sockets without a file, System V memory.
std::vector<std::string> left_behind(const std::set<std::string>& victims) {
    std::vector<std::string> found;
    const auto judge = [&](const std::string& name) {
        if (name.find("duofi") == std::string::npos) return;
        for (const std::string& pid : victims)
            if (name.find("-" + pid + "-") != std::string::npos) found.push_back(name);
    };
    for (const char* folder : {"/dev/shm", "/tmp"})
        for (const auto& entry : std::filesystem::directory_iterator(folder)) judge(entry.path().string());
    std::ifstream sockets("/proc/net/unix");
    for (std::string line; std::getline(sockets, line);) judge(line);
    std::ifstream table("/proc/sysvipc/shm");
    for (std::string line; std::getline(table, line);) {
        std::istringstream columns(line);
        std::string key, id, mode, size, creator;
        columns >> key >> id >> mode >> size >> creator;
        if (victims.count(creator) != 0) found.push_back("System V " + id);
    }
    return found;
}

// Works with the victim's memory until it is gone; a deadline for everything.
void work_until_gone(const Child& child, std::uint32_t& abort) {
    const std::atomic_ref<std::uint32_t> aborted(abort);
    const Deadline deadline(20 * kSecond);
    Offer offer;
    while (child.line().receive(offer) && !deadline.passed()) {
        void* memory = nullptr;
        if (runtime::ipc_open(&memory, offer.handle)) {
            std::memset(memory, 0x3c, 2 * kMiB);
            EXPECT_TRUE(runtime::ipc_close(memory));
        }
        const auto lease = runtime::remote_allocate(offer.relay, kMiB);
        EXPECT_TRUE(!lease || runtime::remote_free(lease->id));
        child.line().ring();
    }
    EXPECT_FALSE(deadline.passed());
    const Deadline a_second(kSecond);
    while (aborted.load(std::memory_order_acquire) == 0 && !a_second.passed()) std::this_thread::yield();
    EXPECT_NE(aborted.load(), 0u) << "V-29: told within a second";
}

TEST(Crash, RandomMoments) {
    constexpr int kDeaths = 20;
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::set<std::string> victims;
    const std::size_t descriptors = test::open_descriptors();
    {
        const test::LogLines quiet(log::Level::warn);
        for (int death = 0; death < kDeaths; ++death) {
            Child child(victim);
            victims.insert(std::to_string(child.pid()));
            Offer first;
            ASSERT_TRUE(child.line().receive(first));
            const auto use = runtime::acquire(test::runtime_settings_of("host"));
            ASSERT_TRUE(use);
            std::int32_t dead = -1;
            std::uint32_t abort = 0;
            const auto watch = runtime::process_watch()->add(first.who, {death, &dead, &abort});
            ASSERT_TRUE(watch);
            std::thread killer([&, delay = std::uniform_int_distribution<int>(0, 8000)(random)] {
                std::this_thread::sleep_for(std::chrono::microseconds(delay));
                ::kill(child.pid(), SIGKILL);
            });
            work_until_gone(child, abort);
            killer.join();
            EXPECT_EQ(std::atomic_ref<std::int32_t>(dead).load(), death);
            runtime::process_watch()->remove(*watch);
        }
    }
    EXPECT_EQ(test::open_descriptors(), descriptors);
    EXPECT_EQ(test::mapped_segments(), 0u);
    EXPECT_EQ(left_behind(victims), std::vector<std::string>{});
}

// V-35: a program that this process starts, and a child that ends, disturb nothing.
TEST(Crash, ChildrenAndProgramsThatEndDisturbNothing) {
    const auto use = runtime::acquire(test::runtime_settings_of("host"));
    ASSERT_TRUE(use);
    const auto memory = runtime::allocate(2 * kMiB);
    p2pIpcHandle handle{};
    ASSERT_TRUE(runtime::ipc_get(&handle, *memory));
    std::memset(*memory, 1, kMiB);
    EXPECT_EQ(test::in_child([] { return 0; }), 0);
    EXPECT_EQ(test::in_child([] {
                  ::execl("/bin/sh", "sh", "-c",
                          "for f in /proc/self/fd/*; do readlink $f; done | grep -q duofi-segment", nullptr);
                  return 9;
              }),
              1)
        << "no descriptor of ours is inherited";
    void* opened = nullptr;
    EXPECT_TRUE(runtime::ipc_open(&opened, handle));
    EXPECT_EQ(static_cast<char*>(opened)[kMiB - 1], 1);
    EXPECT_TRUE(runtime::ipc_close(opened));
    EXPECT_TRUE(runtime::free(*memory));
}

}  // namespace
}  // namespace duofi::p2p
