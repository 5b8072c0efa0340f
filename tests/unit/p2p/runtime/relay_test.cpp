// Units: p2p/runtime/relay_service p2p/runtime/relay_client
#include "p2p/runtime/relay_service.hpp"

#include <cstring>
#include <thread>
#include <vector>

#include "common/local/unix_socket.hpp"
#include "common/util/messages/p2p_runtime.hpp"
#include "p2p/runtime/relay_wire.hpp"
#include "tests/unit/p2p/runtime/runtime_fixture.hpp"

namespace duofi::p2p {
namespace {

using test::Child;
constexpr std::size_t kMiB = std::size_t{1} << 20;

// A rank whose only work is to lend memory.
int relay(const Child::Line& line) {
    const auto use = runtime::acquire(test::runtime_settings_of("host"));
    if (!use) return 1;
    {
        const auto service = RelayService::start(use->table());
        if (!service || !line.send((*service)->address())) return 2;
        char order = 0;
        while (line.receive(order) && order != 'q') line.send((*service)->leases());
    }
    return test::mapped_segments() == 0 ? 0 : 3;
}

int leases(const Child& child) {
    int count = -1;
    child.line().ring();
    return child.line().receive(count) ? count : -1;
}

bool leases_become(const Child& child, int wanted) {
    const Deadline deadline(5 * kSecond);
    while (leases(child) != wanted)
        if (deadline.passed()) return false;
    return true;
}

class RelayTest : public testing::Test {
  protected:
    RelayTest() : child_(relay) {
        if (!child_.line().receive(address_)) return;
        auto used = runtime::acquire(test::runtime_settings_of("host"));
        if (used) use_ = std::move(*used);
    }
    void SetUp() override { ASSERT_TRUE(use_); }
    int quit() {
        child_.line().send('q');
        return child_.wait();
    }
    test::LogLines log_;
    Child child_;
    RelayAddress address_;
    runtime::Use use_;
};

// V-23: the memory belongs to the relay's process.
TEST_F(RelayTest, LendsMemoryOfItsProcess) {
    const auto lease = runtime::remote_allocate(address_, 3 * kMiB);
    ASSERT_TRUE(lease) << log_.dump();
    EXPECT_EQ(lease->pid, static_cast<std::uint32_t>(child_.pid()));
    EXPECT_GE(lease->id, 0);
    EXPECT_NE(lease->pointer, nullptr);
    void* memory = nullptr;
    ASSERT_TRUE(runtime::ipc_open(&memory, lease->handle));
    EXPECT_EQ(runtime::pointer_info(memory)->bytes, 4 * kMiB);
    EXPECT_TRUE(runtime::pointer_info(memory)->imported);
    static_cast<char*>(memory)[3 * kMiB - 1] = 1;
    EXPECT_EQ(leases(child_), 1);
    EXPECT_TRUE(runtime::remote_free(lease->id));
    EXPECT_TRUE(leases_become(child_, 0));
    static_cast<char*>(memory)[0] = 1;  // ours until we close it
    EXPECT_TRUE(runtime::ipc_close(memory));
    EXPECT_FALSE(runtime::remote_free(lease->id)) << "twice";
    EXPECT_EQ(quit(), 0);
}

TEST_F(RelayTest, LeasesEndWithTheirRank) {
    Child borrower([&](const Child::Line& line) {
        const auto lease = relay_allocate(address_, kMiB);
        if (!lease) return 1;
        line.ring();
        return line.heard() ? 0 : 2;
    });
    ASSERT_TRUE(borrower.line().heard());
    EXPECT_EQ(leases(child_), 1);
    borrower.kill();
    EXPECT_TRUE(leases_become(child_, 0));
    EXPECT_EQ(quit(), 0);
}

// V-35: whoever frees a lease has freed it, though a child has a copy of its connection.
TEST_F(RelayTest, LeasesEndThoughAChildLives) {
    const auto lease = relay_allocate(address_, kMiB);
    ASSERT_TRUE(lease);
    Child worker([](const Child::Line& line) { return line.heard() ? 0 : 1; });
    EXPECT_EQ(leases(child_), 1);
    EXPECT_TRUE(relay_free(lease->id));
    EXPECT_TRUE(leases_become(child_, 0));
    worker.line().ring();
    EXPECT_EQ(worker.wait(), 0);
    EXPECT_EQ(quit(), 0);
}

// V-29: the relay dies; whoever mapped its memory keeps it.
TEST_F(RelayTest, MemoryOutlivesTheRelay) {
    const auto lease = runtime::remote_allocate(address_, kMiB);
    ASSERT_TRUE(lease);
    void* memory = nullptr;
    ASSERT_TRUE(runtime::ipc_open(&memory, lease->handle));
    child_.kill();
    std::memset(memory, 1, kMiB);
    EXPECT_TRUE(runtime::ipc_close(memory));
    EXPECT_TRUE(runtime::remote_free(lease->id));
    const auto late = runtime::remote_allocate(address_, kMiB);
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, Errc::system);
    EXPECT_STREQ(late.error().place, messages::kRelayConnect);
}

TEST_F(RelayTest, LendsAtMostSoMany) {
    std::vector<RelayLease> held;
    for (int i = 0; i < kMaxLeases; ++i) {
        const auto lease = relay_allocate(address_, 1);
        ASSERT_TRUE(lease) << i << " " << lease.error().place;
        held.push_back(*lease);
    }
    const auto refused = relay_allocate(address_, 1);
    ASSERT_FALSE(refused);
    EXPECT_STREQ(refused.error().place, messages::kRelayOutOfLeases);
    EXPECT_TRUE(relay_free(held.back().id));
    held.pop_back();
    ASSERT_TRUE(leases_become(child_, kMaxLeases - 1));
    const auto again = relay_allocate(address_, 1);
    ASSERT_TRUE(again);
    held.push_back(*again);
    for (const RelayLease& lease : held) EXPECT_TRUE(relay_free(lease.id));
    EXPECT_EQ(quit(), 0);
}

TEST_F(RelayTest, RefusesWhatCannotBe) {
    EXPECT_STREQ(relay_allocate(RelayAddress{}, 1).error().place, messages::kRelayAddress);
    RelayAddress broken = address_;
    broken.length = 255;
    EXPECT_EQ(relay_allocate(broken, 1).error().code, Errc::invalid_argument);
    EXPECT_EQ(relay_allocate(address_, 0).error().code, Errc::invalid_argument);
    EXPECT_EQ(relay_allocate(address_, std::size_t{1} << 50).error().code, Errc::invalid_argument);
    EXPECT_EQ(relay_free(-1).error().code, Errc::invalid_argument);
    EXPECT_EQ(leases(child_), 0);
    EXPECT_EQ(quit(), 0);
}

TEST_F(RelayTest, SurvivesClientsThatTalkNonsense) {
    const std::string address(address_.name, address_.length);
    const std::vector<std::byte> nonsense(64, std::byte{0x77});
    for (const std::size_t length : {1, 15, 16, 17, 64}) {
        const auto socket = local::connect_unix(address);
        ASSERT_TRUE(socket && local::send_packet(socket->get(), std::span(nonsense).first(length)));
        ASSERT_TRUE(local::wait_readable(socket->get(), Deadline(5 * kSecond)));
        std::byte answer{};
        EXPECT_EQ(local::receive_packet(socket->get(), {&answer, 1}), local::Received::ended);
    }
    // A second request on one lease ends it.
    const auto socket = local::connect_unix(address);
    const RelayRequest request{kRelayMagic, kRelayVersion, 1};
    RelayAnswer answer{};
    ASSERT_TRUE(socket && local::send_packet(socket->get(), std::as_bytes(std::span(&request, 1))));
    ASSERT_TRUE(local::wait_readable(socket->get(), Deadline(5 * kSecond)));
    ASSERT_EQ(local::receive_packet(socket->get(), std::as_writable_bytes(std::span(&answer, 1))),
              local::Received::packet);
    EXPECT_EQ(answer.status, RelayStatus::granted);
    ASSERT_TRUE(local::send_packet(socket->get(), std::as_bytes(std::span(&request, 1))));
    EXPECT_TRUE(leases_become(child_, 0));
    EXPECT_TRUE(relay_allocate(address_, 1)) << "others are served on";
    EXPECT_EQ(quit(), 0) << "takes back what is lent when it goes";
}

// Two ranks that are threads of one process.
TEST(RelayInProcess, LendsRawPointersOnTheUnifiedRuntime) {
    const auto use = runtime::acquire(test::runtime_settings_of("unified"));
    ASSERT_TRUE(use);
    const auto service = RelayService::start(use->table());
    ASSERT_TRUE(service);
    const auto lease = runtime::remote_allocate((*service)->address(), kMiB);
    ASSERT_TRUE(lease);
    EXPECT_EQ(lease->pid, static_cast<std::uint32_t>(::getpid()));
    static_cast<char*>(lease->pointer)[0] = 1;
    EXPECT_EQ((*service)->leases(), 1);
    EXPECT_TRUE(runtime::remote_free(lease->id));
    const Deadline deadline(5 * kSecond);
    while ((*service)->leases() != 0 && !deadline.passed()) std::this_thread::yield();
    EXPECT_EQ((*service)->leases(), 0);
}

TEST(RelayInProcess, NeedsARuntimeThatCanLend) {
    Settings settings = test::runtime_settings_of("host");
    settings.p2p_compat = true;
    const auto use = runtime::acquire(settings);
    const auto service = RelayService::start(use->table());
    ASSERT_FALSE(service);
    EXPECT_EQ(service.error().code, Errc::unsupported);
}

}  // namespace
}  // namespace duofi::p2p
