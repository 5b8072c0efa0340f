// Units: common/local/process_watch
#include "common/local/process_watch.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "common/local/fd_service.hpp"
#include "common/util/messages/local.hpp"
#include "tests/unit/local/child.hpp"
#include "tests/unit/local/forbidden_call.hpp"

namespace duofi::local {
namespace {

using test::Child;

// What a rank keeps about its peers' lives.
struct Notes {
    std::int32_t dead = -1;
    std::uint32_t abort = 0;
    DeathNote of(int rank) { return {rank, &dead, &abort}; }
    std::int32_t dead_rank() { return std::atomic_ref<std::int32_t>(dead).load(std::memory_order_acquire); }
    bool aborted() { return std::atomic_ref<std::uint32_t>(abort).load(std::memory_order_acquire) != 0; }
    /// V-29: one second at most.
    bool abort_within(Nanoseconds patience) {
        const Deadline deadline(patience);
        while (!aborted() && !deadline.passed()) std::this_thread::yield();
        return aborted();
    }
};

// Lives until told, and says who it is.
struct Peer {
    Peer()
        : child([](const Child::Line& line) {
              line.send(read_host_identity());
              return line.heard() ? 0 : 1;
          }) {
        EXPECT_TRUE(child.line().receive(who));
    }
    Child child;
    HostIdentity who;
};

// V-29: killed, ended by itself, and dead before anybody watches.
TEST(ProcessWatch, NotesDeathsWithinASecond) {
    ProcessWatch watch;
    Notes notes;
    Peer killed, ended;
    ASSERT_TRUE(watch.add(killed.who, notes.of(3)));
    ASSERT_TRUE(watch.add(ended.who, notes.of(5)));
    EXPECT_EQ(watch.size(), 2u);
    EXPECT_FALSE(notes.aborted());
    ::kill(killed.child.pid(), SIGKILL);
    EXPECT_TRUE(notes.abort_within(kSecond));
    EXPECT_EQ(notes.dead_rank(), 3);
    ended.child.line().ring();
    const Deadline deadline(kSecond);
    while (watch.size() != 0 && !deadline.passed()) std::this_thread::yield();
    EXPECT_EQ(watch.size(), 0u);
    EXPECT_EQ(notes.dead_rank(), 3) << "the first one stays";

    Notes late;
    killed.child.kill();
    ASSERT_TRUE(watch.add(killed.who, late.of(1)));
    EXPECT_TRUE(late.abort_within(kSecond));
    EXPECT_EQ(late.dead_rank(), 1);
}

TEST(ProcessWatch, StoppedIsNotDead) {
    ProcessWatch watch;
    Notes notes;
    Peer peer;
    ASSERT_TRUE(watch.add(peer.who, notes.of(0)));
    ::kill(peer.child.pid(), SIGSTOP);
    EXPECT_FALSE(notes.abort_within(100 * kMillisecond));
    ::kill(peer.child.pid(), SIGCONT);
    ::kill(peer.child.pid(), SIGKILL);
    EXPECT_TRUE(notes.abort_within(kSecond));
}

TEST(ProcessWatch, RemovedNotesAreNotTouched) {
    ProcessWatch watch;
    Peer peer;
    auto gone = std::make_unique<Notes>();
    Notes kept;
    const auto id = watch.add(peer.who, gone->of(0));
    ASSERT_TRUE(id);
    ASSERT_TRUE(watch.add(peer.who, kept.of(0)));
    watch.remove(*id);
    watch.remove(*id);
    watch.remove(12345);
    EXPECT_EQ(watch.size(), 1u);
    gone->abort = 77;
    ::kill(peer.child.pid(), SIGKILL);
    EXPECT_TRUE(kept.abort_within(kSecond));
    EXPECT_EQ(gone->abort, 77u);
}

TEST(ProcessWatch, SmallNotesAreEnough) {
    ProcessWatch watch;
    Peer peer;
    Notes notes;
    ASSERT_TRUE(watch.add(peer.who, DeathNote{0, nullptr, nullptr}));
    ASSERT_TRUE(watch.add(peer.who, DeathNote{0, nullptr, &notes.abort}));
    peer.child.kill();
    EXPECT_TRUE(notes.abort_within(kSecond));
    EXPECT_EQ(notes.dead, -1);
}

TEST(ProcessWatch, RefusesDescriptorsThatAreNone) {
    ProcessWatch watch;
    Notes notes;
    const auto added = watch.add(UniqueFd(), notes.of(0));
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().code, Errc::invalid_argument);
    EXPECT_EQ(watch.size(), 0u);
}

TEST(ProcessWatch, RefusesOtherNamespaces) {
    ProcessWatch watch;
    Notes notes;
    HostIdentity elsewhere = read_host_identity();
    ++elsewhere.pid_namespace;
    const auto added = watch.add(elsewhere, notes.of(0));
    ASSERT_FALSE(added);
    EXPECT_STREQ(added.error().place, messages::kWatchForeign);
}

TEST(ProcessWatch, ReusedPidCountsAsDead) {
    ProcessWatch watch;
    Notes notes;
    Peer peer;
    --peer.who.start_time;
    ASSERT_TRUE(watch.add(peer.who, notes.of(9)));
    EXPECT_TRUE(notes.abort_within(kSecond));
    const auto opened = open_process(peer.who, read_host_identity());
    ASSERT_FALSE(opened);
    EXPECT_STREQ(opened.error().place, messages::kExporterReplaced);
}

// A process that serves descriptors and has a child, which has copies of all of its own.
struct Server {
    Server()
        : child([](const Child::Line& line) {
              struct Nothing final : DescriptorSource {
                  UniqueFd descriptor_of(std::uint32_t, std::uint64_t) override { return UniqueFd(); }
              } source;
              const HostIdentity self = read_host_identity();
              const auto service = FdService::start(source, self, "");
              if (!service || !line.send(self) || !line.heard()) return 1;
              const pid_t forked = ::fork();
              if (forked == 0) {
                  ::alarm(Child::kAlarmSeconds);
                  ::pause();
              }
              line.send(forked);
              return line.heard() ? 0 : 2;
          }) {
        EXPECT_TRUE(child.line().receive(who));
    }
    ~Server() {
        if (copy > 0) ::kill(copy, SIGKILL);
    }
    Result<UniqueFd> hold() const {
        return hold_connection(
            fd_service_address(who.pid, who.start_time, static_cast<std::uint32_t>(who.pid_namespace), ""),
            Deadline(10 * kSecond));
    }
    bool fork_now() { return child.line().ring() && child.line().receive(copy); }
    Child child;
    HostIdentity who;
    pid_t copy = -1;
};

int watch_death_of(Server& server, bool with_child) {
    auto held = server.hold();
    if (!held || (with_child && !server.fork_now())) return 1;
    ProcessWatch watch;
    Notes notes;
    if (!watch.add(std::move(*held), notes.of(4)) || notes.abort_within(50 * kMillisecond)) return 2;
    ::kill(server.child.pid(), SIGKILL);
    return notes.abort_within(kSecond) && notes.dead_rank() == 4 ? 0 : 3;
}

constexpr int kPeerPidfd = 77;  // SO_PEERPIDFD

// V-29, V-35: where a pid means nothing, a connection tells which process it is, whoever else lives.
TEST(ProcessWatch, ConnectionsTellOfTheirProcess) {
    Server server;
    int ends[2], process = -1;
    socklen_t length = sizeof(process);
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    const UniqueFd first(ends[0]), second(ends[1]);
    const bool known = ::getsockopt(ends[0], SOL_SOCKET, kPeerPidfd, &process, &length) == 0;
    const UniqueFd opened(process);
    EXPECT_EQ(watch_death_of(server, known), 0);
}

// On kernels that do not know the process of a connection, the connection itself tells.
TEST(ProcessWatch, ConnectionsTellOfTheirEnd) {
    Server server;
    EXPECT_EQ(test::in_child([&] {
                  if (!test::forbid_call(SYS_getsockopt, 2, kPeerPidfd)) return 77;
                  return watch_death_of(server, false);
              }),
              0);
}

// V-34: containers whose filter forbids the call.
TEST(ProcessWatch, LooksByTheClockWherePidfdIsForbidden) {
    Peer peer;
    EXPECT_EQ(test::in_child([&] {
                  if (!test::forbid_pidfd_open()) return 77;
                  const auto opened = open_process(peer.who, read_host_identity());
                  if (opened || opened.error().provider_errno != EPERM) return 1;
                  ProcessWatch watch;
                  Notes notes;
                  if (!watch.add(peer.who, notes.of(2))) return 2;
                  if (notes.abort_within(250 * kMillisecond)) return 3;
                  ::kill(peer.child.pid(), SIGKILL);
                  return notes.abort_within(5 * kSecond) && notes.dead_rank() == 2 ? 0 : 4;
              }),
              0);
}

// V-35
TEST(ProcessWatch, ChildrenOfAWatcherEndFreely) {
    auto watch = std::make_unique<ProcessWatch>();
    Notes notes;
    Peer peer;
    ASSERT_TRUE(watch->add(peer.who, notes.of(0)));
    EXPECT_EQ(test::in_child([&] {
                  const auto added = watch->add(peer.who, notes.of(0));  // its thread is not here
                  if (added || std::strcmp(added.error().place, messages::kForkedChild) != 0) return 1;
                  watch.reset();
                  return 0;
              }),
              0);
    ::kill(peer.child.pid(), SIGKILL);
    EXPECT_TRUE(notes.abort_within(kSecond));
}

}  // namespace
}  // namespace duofi::local
