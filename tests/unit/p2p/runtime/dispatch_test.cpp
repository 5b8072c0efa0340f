// Units: p2p/runtime/runtime p2p/runtime/runtime_call p2p/runtime/slot_error
#include <atomic>
#include <cstring>
#include <thread>

#include "common/util/clock.hpp"
#include "common/util/messages/p2p_runtime.hpp"
#include "p2p/runtime/host.hpp"
#include "p2p/runtime/slot_error.hpp"
#include "p2p/runtime/unified.hpp"
#include "tests/unit/p2p/runtime/runtime_fixture.hpp"

namespace duofi::p2p {
namespace {

using test::LogLines;

int inits = 0, finalizes = 0, answer = 0, peer_answer = 0;

// A table of a stranger: counts its life, answers what it is told.
RuntimeTable stranger() {
    inits = finalizes = answer = peer_answer = 0;
    RuntimeTable table = unified_runtime;
    table.name = "stranger";
    table.init = [] { return ++inits, answer; };
    table.finalize = [] { return ++finalizes, 0; };
    table.malloc = [](void** memory, std::size_t) {
        *memory = &answer;
        return answer;
    };
    table.device_enable_peer_access = [](int, unsigned) { return peer_answer; };
    table.retain = nullptr;
    table.remote_alloc = nullptr;
    table.error_string = [](int code) -> const char* { return code == 35 ? "thirty-five" : "other"; };
    return table;
}

TEST(RuntimeDispatch, EveryCallNeedsARuntime) {
    const LogLines log;
    const auto told = [](const auto& result) {
        return !result && result.error().code == Errc::invalid_usage &&
               std::strcmp(result.error().place, messages::kNoRuntime) == 0;
    };
    EXPECT_EQ(runtime::installed(), nullptr);
    EXPECT_EQ(runtime::capabilities(), 0u);
    EXPECT_EQ(runtime::process_watch(), nullptr);
    p2pIpcHandle handle{};
    void* memory = nullptr;
    EXPECT_TRUE(told(runtime::device_count()));
    EXPECT_TRUE(told(runtime::can_access_peer(0, 0)));
    EXPECT_TRUE(told(runtime::enable_peer_access(0)));
    EXPECT_TRUE(told(runtime::allocate(1)));
    EXPECT_TRUE(told(runtime::free(nullptr))) << "free of NULL is how one asks whether the runtime lives (C-27)";
    EXPECT_TRUE(told(runtime::ipc_get(&handle, &handle)));
    EXPECT_TRUE(told(runtime::ipc_open(&memory, handle)));
    EXPECT_TRUE(told(runtime::copy(&handle, &handle, 1, CopyKind::automatic)));
    EXPECT_TRUE(told(runtime::retain(&handle)));
    EXPECT_EQ(log.warnings(), 9u) << "one line each\n" << log.dump();
}

TEST(RuntimeDispatch, FirstUseInitialisesAndLastOneFinalizes) {
    const RuntimeTable table = stranger();
    {
        auto first = runtime::acquire(table, Settings{});
        ASSERT_TRUE(first);
        EXPECT_EQ(runtime::installed(), &table);
        EXPECT_NE(runtime::process_watch(), nullptr);
        auto second = runtime::acquire(table, Settings{});
        ASSERT_TRUE(second);
        EXPECT_EQ(inits, 1);
        runtime::Use moved = std::move(*first);
        EXPECT_TRUE(moved);
        EXPECT_FALSE(*first);
        moved = runtime::Use();
        EXPECT_EQ(finalizes, 0);
    }
    EXPECT_EQ(finalizes, 1);
    EXPECT_EQ(runtime::installed(), nullptr);
}

TEST(RuntimeDispatch, OneRuntimePerProcess) {
    const LogLines log;
    const RuntimeTable table = stranger();
    const auto use = runtime::acquire(table, Settings{});
    const auto other = runtime::acquire(test::runtime_settings_of("unified"));
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code, Errc::invalid_usage);
    EXPECT_TRUE(log.warn("P2P runtime unified cannot be used: this process uses stranger already")) << log.dump();
}

TEST(RuntimeDispatch, UnknownRuntimesAreNamed) {
    const LogLines log;
    const auto used = runtime::acquire(test::runtime_settings_of("tpu"));
    ASSERT_FALSE(used);
    EXPECT_EQ(used.error().code, Errc::unsupported);
    EXPECT_EQ(log.with("P2P runtime \"tpu\" is not in this build").size(), 1u) << log.dump();
    EXPECT_EQ(runtime::find_table("host"), &host_runtime);
    EXPECT_EQ(runtime::find_table("sim"), runtime::find_table("sim"));
    EXPECT_EQ(runtime::find_table("nonsense"), nullptr);
}

TEST(RuntimeDispatch, FailedInitLeavesNothingInstalled) {
    const LogLines log;
    const RuntimeTable table = stranger();
    answer = 35;
    const auto used = runtime::acquire(table, Settings{});
    ASSERT_FALSE(used);
    EXPECT_STREQ(used.error().place, "thirty-five");
    EXPECT_EQ(runtime::installed(), nullptr);
    EXPECT_EQ(finalizes, 0);
    EXPECT_TRUE(log.warn("P2P runtime stranger: op=init code=35 err_text=\"thirty-five\"")) << log.dump();
    answer = 0;
    EXPECT_TRUE(runtime::acquire(table, Settings{})) << "the next attempt is a new one";
}

TEST(RuntimeDispatch, CodesBecomeErrorsAndOneLine) {
    const LogLines log;
    const RuntimeTable table = stranger();
    const auto use = runtime::acquire(table, Settings{});
    for (const auto& [code, wanted] :
         {std::pair{35, Errc::system}, std::pair{static_cast<int>(Errc::no_memory), Errc::no_memory},
          std::pair{static_cast<int>(Errc::timed_out), Errc::timed_out}}) {
        answer = code;
        const std::size_t before = log.warnings();
        const auto made = runtime::allocate(64);
        ASSERT_FALSE(made);
        EXPECT_EQ(made.error().code, wanted);
        EXPECT_EQ(log.warnings(), before + 1);
    }
    answer = 0;
    EXPECT_TRUE(runtime::allocate(64));
}

// 704 is not an error (p2p contract 1.1).
TEST(RuntimeDispatch, PeerAccessAlreadyEnabledIsSuccess) {
    const LogLines log;
    const RuntimeTable table = stranger();
    const auto use = runtime::acquire(table, Settings{});
    EXPECT_TRUE(runtime::enable_peer_access(0));
    peer_answer = 704;
    EXPECT_TRUE(runtime::enable_peer_access(0));
    EXPECT_EQ(log.warnings(), 0u) << log.dump();
    peer_answer = 101;
    EXPECT_FALSE(runtime::enable_peer_access(0));
}

TEST(RuntimeDispatch, MissingSlotsAreErrorsButForOurAdditions) {
    const RuntimeTable table = stranger();
    const auto use = runtime::acquire(table, Settings{});
    int here = 0;
    EXPECT_TRUE(runtime::retain(&here));
    const auto lease = runtime::remote_allocate(RelayAddress{}, 1);
    ASSERT_FALSE(lease);
    EXPECT_EQ(lease.error().code, Errc::unsupported);
}

// V-35
TEST(RuntimeDispatch, ForkedChildrenAreTurnedAway) {
    const LogLines log;
    auto use = runtime::acquire(test::runtime_settings_of("host"));
    ASSERT_TRUE(use);
    EXPECT_EQ(test::in_child([&] {
                  const auto again = runtime::acquire(test::runtime_settings_of("host"));
                  if (again || std::strcmp(again.error().place, messages::kRuntimeChild) != 0) return 1;
                  *use = runtime::Use();  // what an object of the parent does when it is destroyed here
                  return runtime::allocate(1) ? 2 : 0;
              }),
              0);
    const auto memory = runtime::allocate(1);
    ASSERT_TRUE(memory);
    EXPECT_TRUE(runtime::free(*memory));
}

// V-35: each call says so, on a runtime that would have worked with its copy of the memory as well.
TEST(RuntimeDispatch, EveryCallOfAForkedChildIsRefused) {
    const LogLines log;
    auto use = runtime::acquire(test::runtime_settings_of("unified"));
    const auto memory = runtime::allocate(1);
    ASSERT_TRUE(memory);
    EXPECT_EQ(test::in_child([&] {
                  const auto told = [](const auto& result) {
                      return !result && result.error().code == Errc::invalid_usage &&
                             std::strcmp(result.error().place, messages::kRuntimeChild) == 0;
                  };
                  if (!told(runtime::free(nullptr)) || !told(runtime::free(*memory))) return 1;
                  if (!told(runtime::allocate(1)) || !told(runtime::retain(*memory))) return 2;
                  if (!told(runtime::pointer_info(*memory)) || !told(runtime::enable_peer_access(0))) return 3;
                  return runtime::installed() == nullptr && runtime::process_watch() == nullptr ? 0 : 4;
              }),
              0);
    EXPECT_TRUE(runtime::free(*memory));
}

// V-35: a fork while another thread is inside leaves the child a lock that opens.
TEST(RuntimeDispatch, ForksWhileAnotherThreadAcquires) {
    static std::atomic<bool> inside{false};
    RuntimeTable slow = stranger();
    slow.init = [] {
        inside = true;
        ::usleep(200000);
        return 0;
    };
    std::thread starter([&] { EXPECT_TRUE(runtime::acquire(slow, Settings{})); });
    const Deadline deadline(5 * kSecond);
    while (!inside && !deadline.passed()) std::this_thread::yield();
    EXPECT_EQ(test::in_child([] {
                  ::alarm(5);
                  return runtime::acquire(test::runtime_settings_of("tpu")) ? 1 : 0;
              }),
              0);
    EXPECT_EQ(test::in_child([&] {
                  ::alarm(5);
                  const auto own = runtime::acquire(slow, Settings{});
                  return own || std::strcmp(own.error().place, messages::kRuntimeChild) == 0 ? 0 : 1;
              }),
              0);
    starter.join();
}

TEST(SlotErrors, TextFollowsTheLastFailureOfTheThread) {
    EXPECT_STREQ(slot_error_text(0), messages::kNoError);
    EXPECT_STREQ(slot_error_text(704), messages::kPeerAccessAlready);
    EXPECT_EQ(slot_code(Status{}), 0);
    const int code = slot_code(fail(Errc::no_memory, "nothing left"));
    EXPECT_EQ(code, static_cast<int>(Errc::no_memory));
    EXPECT_STREQ(slot_error_text(code), "nothing left");
    EXPECT_STREQ(slot_error_text(static_cast<int>(Errc::timed_out)), "timed_out");
    EXPECT_STREQ(slot_error_text(12345), messages::kUnknownError);
    EXPECT_EQ(slot_errc(12345), Errc::system);
    EXPECT_EQ(slot_errc(code), Errc::no_memory);
}

}  // namespace
}  // namespace duofi::p2p
