// Units: common/local/fd_service common/local/fd_request common/local/unix_socket common/local/background
// common/local/packet_server
#include "common/local/fd_service.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "common/local/background.hpp"
#include "common/local/fd_wire.hpp"
#include "common/local/process_watch.hpp"
#include "common/local/unix_socket.hpp"
#include "common/util/messages/local.hpp"
#include "tests/unit/local/child.hpp"
#include "tests/unit/local/paused_call.hpp"

namespace duofi::local {
namespace {

using test::Child;
constexpr Nanoseconds kPatience = 10 * kSecond;

// Knows one segment.
struct Source final : DescriptorSource {
    UniqueFd file{::memfd_create("served", MFD_CLOEXEC)};
    UniqueFd descriptor_of(std::uint32_t generation, std::uint64_t nonce) override {
        if (generation != 3 || nonce != 99) return UniqueFd();
        return UniqueFd(::fcntl(file.get(), F_DUPFD_CLOEXEC, 0));
    }
};

class FdServiceTest : public testing::TestWithParam<bool> {
  protected:
    void SetUp() override {
        if (!GetParam()) return;
        std::string name = testing::TempDir() + "sockets_XXXXXX";
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        directory_ = name;
    }
    void TearDown() override {
        service_.reset();
        if (directory_.empty()) return;
        EXPECT_TRUE(std::filesystem::is_empty(directory_)) << "the socket is gone";
        std::filesystem::remove_all(directory_);
    }
    void start() {
        auto started = FdService::start(source_, self_, directory_);
        ASSERT_TRUE(started) << started.error().place;
        service_ = std::move(*started);
    }
    std::string address() const {
        return fd_service_address(self_.pid, self_.start_time, static_cast<std::uint32_t>(self_.pid_namespace),
                                  directory_);
    }
    HostIdentity self_ = read_host_identity();
    std::string directory_;
    Source source_;
    std::unique_ptr<FdService> service_;
};

TEST_P(FdServiceTest, GivesOutTheDescriptorThatWasAskedFor) {
    start();
    EXPECT_EQ(service_->address(), address());
    for (int i = 0; i < 50; ++i) {
        const auto fetched = fetch_descriptor(address(), 3, 99, Deadline(kPatience));
        ASSERT_TRUE(fetched) << fetched.error().place;
        struct stat theirs {}, mine {};
        ASSERT_EQ(::fstat(fetched->get(), &theirs), 0);
        ASSERT_EQ(::fstat(source_.file.get(), &mine), 0);
        EXPECT_EQ(theirs.st_ino, mine.st_ino);
        EXPECT_NE(::fcntl(fetched->get(), F_GETFD) & FD_CLOEXEC, 0);
    }
}

TEST_P(FdServiceTest, RefusesWhatIsNotExported) {
    start();
    for (const auto& [generation, nonce] : {std::pair{3U, 98ULL}, std::pair{4U, 99ULL}, std::pair{0U, 0ULL}}) {
        const auto fetched = fetch_descriptor(address(), generation, nonce, Deadline(kPatience));
        ASSERT_FALSE(fetched);
        EXPECT_STREQ(fetched.error().place, messages::kExporterClosed);
    }
}

TEST_P(FdServiceTest, WithoutServiceThereIsNoWait) {
    const auto fetched = fetch_descriptor(address(), 3, 99, Deadline(kPatience));
    ASSERT_FALSE(fetched);
    EXPECT_STREQ(fetched.error().place, messages::kServiceConnect);
}

TEST_P(FdServiceTest, OnlyOneProcessHasAnAddress) {
    start();
    const auto second = FdService::start(source_, self_, directory_);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().provider_errno, EADDRINUSE);
    EXPECT_TRUE(fetch_descriptor(address(), 3, 99, Deadline(kPatience))) << "the first one still serves";
}

TEST_P(FdServiceTest, SurvivesClientsThatTalkNonsense) {
    start();
    const std::vector<std::byte> nonsense(100, std::byte{0x5a});
    for (const std::size_t length : {1, 8, 23, 24, 25, 100}) {
        auto socket = connect_unix(address());
        ASSERT_TRUE(socket);
        ASSERT_TRUE(send_packet(socket->get(), std::span(nonsense).first(length)));
        std::byte answer{};
        ASSERT_TRUE(wait_readable(socket->get(), Deadline(kPatience)));
        EXPECT_EQ(receive_packet(socket->get(), {&answer, 1}), Received::ended) << length;
    }
    const FdRequest unknown{kFdMagic, static_cast<FdCommand>(9), 99, 3, 0};
    auto socket = connect_unix(address());
    ASSERT_TRUE(socket && send_packet(socket->get(), std::as_bytes(std::span(&unknown, 1)), source_.file.get()));
    ASSERT_TRUE(wait_readable(socket->get(), Deadline(kPatience)));
    EXPECT_TRUE(fetch_descriptor(address(), 3, 99, Deadline(kPatience)));
}

TEST_P(FdServiceTest, SilentClientsDoNotHoldOthersUp) {
    start();
    std::vector<UniqueFd> silent;
    for (int i = 0; i < 20; ++i) {
        auto socket = connect_unix(address());
        ASSERT_TRUE(socket);
        silent.push_back(std::move(*socket));
    }
    EXPECT_TRUE(fetch_descriptor(address(), 3, 99, Deadline(kPatience)));
    ASSERT_TRUE(wait_readable(silent.front().get(), Deadline(kPatience))) << "given up after two seconds";
    std::byte answer{};
    EXPECT_EQ(receive_packet(silent.front().get(), {&answer, 1}), Received::ended);
}

// Copies of its descriptors in a child (V-35) keep nobody waiting for a service that is gone.
TEST_P(FdServiceTest, EndsForItsClientsThoughAChildLives) {
    start();
    const auto asking = connect_unix(address());
    ASSERT_TRUE(asking);
    ASSERT_TRUE(fetch_descriptor(address(), 3, 99, Deadline(kPatience))) << "so the other one is in as well";
    Child child([](const Child::Line& line) { return line.heard() ? 0 : 1; });
    service_.reset();
    std::byte answer{};
    EXPECT_TRUE(wait_readable(asking->get(), Deadline(kSecond)));
    EXPECT_EQ(receive_packet(asking->get(), {&answer, 1}), Received::ended);
    const auto late = fetch_descriptor(address(), 3, 99, Deadline(kPatience));
    ASSERT_FALSE(late);
    EXPECT_STREQ(late.error().place, messages::kServiceConnect);
    child.line().ring();
    EXPECT_EQ(child.wait(), 0);
}

INSTANTIATE_TEST_SUITE_P(Places, FdServiceTest, testing::Bool());

// V-31: sockets of killed processes go with the next start in that directory.
TEST(FdService, SweepsWhatKilledProcessesLeft) {
    std::string directory = testing::TempDir() + "sweep_XXXXXX";
    ASSERT_NE(::mkdtemp(directory.data()), nullptr);
    Child child([&](const Child::Line& line) {
        Source source;
        const auto service = FdService::start(source, read_host_identity(), directory);
        if (!service) return 1;
        line.ring();
        return line.heard() ? 0 : 2;
    });
    ASSERT_TRUE(child.line().heard());
    Source source;
    {
        const auto mine = FdService::start(source, read_host_identity(), directory);
        ASSERT_TRUE(mine);
        EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory), {}), 2) << "the living are left alone";
    }
    child.kill();
    EXPECT_FALSE(std::filesystem::is_empty(directory));
    {
        const auto mine = FdService::start(source, read_host_identity(), directory);
        ASSERT_TRUE(mine);
        EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory), {}), 1);
    }
    EXPECT_TRUE(std::filesystem::is_empty(directory));
    std::filesystem::remove_all(directory);
}

std::vector<std::string> names_in(const std::string& directory) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) names.push_back(entry.path().filename());
    return names;
}

// Ranks start together: a name that is there before its socket listens would be swept by the next one.
TEST(FdService, HasItsNameOnlyWhenItListens) {
    constexpr int kNoFilter = 77;
    std::string directory = testing::TempDir() + "early_XXXXXX";
    ASSERT_NE(::mkdtemp(directory.data()), nullptr);
    const int code = test::in_child([&] {
        bool seen = false, asked = false;
        const test::PausedCall before(SYS_listen, test::PausedCall::kAny, [&] {
            asked = true;
            for (const std::string& name : names_in(directory)) seen = seen || name.starts_with("duofi-fd-");
        });
        if (!before) return kNoFilter;
        Source source;
        const auto service = FdService::start(source, read_host_identity(), directory);
        if (!service || !asked) return 1;
        return seen ? 2 : 0;
    });
    EXPECT_TRUE(std::filesystem::is_empty(directory));
    std::filesystem::remove_all(directory);
    if (code == kNoFilter) GTEST_SKIP() << "no filters that notify on this kernel";
    EXPECT_EQ(code, 0);
}

TEST(FdService, RefusesUnusableDirectories) {
    Source source;
    const auto missing = FdService::start(source, read_host_identity(), "/no/such/directory");
    ASSERT_FALSE(missing);
    EXPECT_STREQ(missing.error().place, messages::kServiceListen);
    const auto deep = FdService::start(source, read_host_identity(), "/tmp/" + std::string(200, 'x'));
    ASSERT_FALSE(deep);
    EXPECT_STREQ(deep.error().place, messages::kServiceAddress);
}

TEST(UnixSocket, WaitingEndsAtTheDeadline) {
    const std::string address = std::string(1, '\0') + "duofi-test-" + std::to_string(::getpid());
    const auto listener = listen_unix(address);
    ASSERT_TRUE(listener);
    const auto socket = connect_unix(address);
    ASSERT_TRUE(socket);
    const Nanoseconds begin = now_ns();
    EXPECT_FALSE(wait_readable(socket->get(), Deadline(30 * kMillisecond)));
    EXPECT_GE(now_ns() - begin, 30 * kMillisecond);
    const UniqueFd accepted = accept_unix(listener->get());
    ASSERT_TRUE(accepted);
    EXPECT_FALSE(accept_unix(listener->get())) << "nobody else waits";
    std::byte word{};
    EXPECT_EQ(receive_packet(socket->get(), {&word, 1}), Received::nothing_yet);
}

// V-43: more clients at once than a listener queues.
TEST(UnixSocket, WaitsForAPlaceInTheQueue) {
    const std::string address = std::string(1, '\0') + "duofi-full-" + std::to_string(::getpid());
    const auto listener = listen_unix(address);
    ASSERT_TRUE(listener);
    std::vector<UniqueFd> waiting;
    auto one = connect_unix(address);
    for (; one && waiting.size() < 1000; one = connect_unix(address)) waiting.push_back(std::move(*one));
    ASSERT_FALSE(one);
    EXPECT_EQ(one.error().provider_errno, EAGAIN);
    const Nanoseconds begin = now_ns();
    EXPECT_FALSE(connect_unix(address, Deadline(20 * kMillisecond)));
    EXPECT_GE(now_ns() - begin, 20 * kMillisecond);
    std::thread server([&] {
        ::usleep(20000);
        EXPECT_TRUE(accept_unix(listener->get()));
    });
    EXPECT_TRUE(connect_unix(address, Deadline(kPatience)));
    server.join();
}

TEST(BackgroundThread, WakesPausesAndStops) {
    BackgroundThread thread;
    std::atomic<int> rounds{0};
    ASSERT_TRUE(thread.start("test", [&] {
        while (!thread.stopping()) {
            thread.pause(kPatience);
            thread.silence();
            ++rounds;
        }
    }));
    const Deadline deadline(kPatience);
    thread.wake();
    while (rounds == 0 && !deadline.passed()) std::this_thread::yield();
    EXPECT_EQ(rounds, 1);
    const Nanoseconds begin = now_ns();
    thread.stop();
    thread.stop();
    EXPECT_LT(now_ns() - begin, kPatience / 2);
    EXPECT_FALSE(thread.started());
}

// V-35: a child neither waits for a thread that it does not have nor takes the parent's socket away.
TEST(FdService, ParentServesOnAfterItsChildHasEnded) {
    std::string directory = testing::TempDir() + "fork_XXXXXX";
    ASSERT_NE(::mkdtemp(directory.data()), nullptr);
    Source source;
    auto service = FdService::start(source, read_host_identity(), directory);
    ASSERT_TRUE(service);
    EXPECT_EQ(test::in_child([&] {
                  service->reset();
                  return 0;
              }),
              0);
    EXPECT_TRUE(fetch_descriptor((*service)->address(), 3, 99, Deadline(kPatience)));
    service->reset();
    std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace duofi::local
