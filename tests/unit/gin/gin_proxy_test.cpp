// Connections, rail groups, threads, life of windows and device communicators (rma contract 3.2,
// 4.1).
// Units: common/gin/gin_proxy, common/gin/connection.
#include "common/gin/gin_proxy.hpp"

#include <algorithm>

#include "common/gin/connection.hpp"
#include "tests/unit/gin/crew.hpp"
#include "tests/unit/gin/solo.hpp"

namespace duofi::gin::test {
namespace {

TEST(MembersTest, a_rail_group_has_its_own_numbers) {
    const Members rail(5, 8, 2);
    EXPECT_EQ(rail.size(), 4);
    EXPECT_EQ(rail.own(), 2);
    EXPECT_EQ(rail.rank_of(3), 7);
    EXPECT_EQ(rail.member_of(3), 1);
    EXPECT_EQ(rail.member_of(4), -1);
    EXPECT_EQ(rail.member_of(9), -1);
    EXPECT_EQ(rail.member_of(-1), -1);
    const Members all(1, 3, 0);
    EXPECT_EQ(all.size(), 3);
    EXPECT_EQ(all.member_of(2), 2);
}

TEST(GinProxyTest, refuses_numbers_out_of_range) {
    FakeRma fake;
    const auto code = [&](GinOptions options) {
        const auto opened = GinProxy::open(fake.table(), nullptr, alone(), options);
        return opened ? Errc{} : opened.error().code;
    };
    GinOptions options;
    options.connections = 5;
    EXPECT_EQ(code(options), Errc::invalid_argument);
    options.connections = 1;
    options.threads = 0;
    EXPECT_EQ(code(options), Errc::invalid_argument);
    options.threads = 5;
    EXPECT_EQ(code(options), Errc::invalid_argument);
    const auto none = GinProxy::open(loader::RmaTable(), nullptr, alone(), {});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Errc::invalid_argument);
}

TEST(GinProxyTest, a_single_rank_talks_to_itself) {
    FakeRma fake;
    Rank own(fake, alone(), crew_shape(), {}, 64);
    ASSERT_TRUE(own.good());
    own.byte(0) = 42;
    Device kernel = own.comm->device(0);
    ASSERT_EQ(kernel.put(0, {own.window, 32}, {own.window, 0}, 1, Signal::inc(0)), GinStatus::done);
    ASSERT_EQ(kernel.wait_signal(0, 1), GinStatus::done);
    EXPECT_EQ(own.byte(32), 42);
    EXPECT_EQ(kernel.barrier(), GinStatus::done);
}

TEST(GinProxyTest, a_rank_that_cannot_listen_makes_all_fail) {
    FakeRma fake;
    fake.faults.listen = ncclSystemError;
    run_ranks(3, [&](const Exchange& exchange) {
        const auto opened = GinProxy::open(fake.table(), fake.new_instance(), exchange, {});
        ASSERT_FALSE(opened);
        EXPECT_EQ(opened.error().code, Errc::system);
        EXPECT_EQ(opened.error().provider_errno, -ncclSystemError);
    });
}

TEST(GinProxyTest, contexts_are_spread_over_connections_and_threads) {
    FakeRma fake;
    GinOptions options;
    options.connections = 3;
    options.threads = 2;
    run_ranks(2, [&](const Exchange& exchange) {
        Rank own(fake, exchange, crew_shape(5), options, 64);
        ASSERT_TRUE(own.good());
        EXPECT_EQ(own.comm->connections(), 3);
        EXPECT_NE(own.window.handles[0], own.window.handles[2]);
        for (int context = 0; context < 5; ++context) {
            Device kernel = own.comm->device(context);
            const auto id = static_cast<std::uint32_t>(context);
            ASSERT_EQ(kernel.signal(1 - exchange.rank, Signal::plus(id, 10 + id)), GinStatus::done);
            ASSERT_EQ(kernel.wait_signal(id, 10 + id), GinStatus::done);
            for (std::uint32_t other = 0; other < 5; ++other)
                EXPECT_EQ(kernel.read_signal(other), other == id ? 10 + id : 0U);
            ASSERT_EQ(kernel.barrier(), GinStatus::done);
        }
        own.close();
    });
    const auto all = fake.set_up();
    EXPECT_EQ(std::ranges::count(all, "listen 0"), 4) << "connections 0 and 2, devices in turn";
    EXPECT_EQ(std::ranges::count(all, "listen 1"), 2);
    EXPECT_EQ(std::ranges::count(all, "createContext 2"), 6) << "5 over 3, rounded up";
    EXPECT_EQ(std::ranges::count(all, "closeColl"), 6);
}

TEST(GinProxyTest, rail_groups_reach_only_their_members) {
    FakeRma fake;
    GinOptions options;
    options.rail_stride = 2;
    run_ranks(4, [&](const Exchange& exchange) {
        Rank own(fake, exchange, crew_shape(), options, 64);
        ASSERT_TRUE(own.good());
        Device kernel = own.comm->device(0);
        EXPECT_EQ(kernel.rank(), exchange.rank);
        const int peer = (exchange.rank + 2) % 4;
        ASSERT_EQ(kernel.signal((exchange.rank + 1) % 4, Signal::inc(0)), GinStatus::bad_argument);
        ASSERT_EQ(kernel.put_value(peer, {own.window, 8}, exchange.rank, Signal::inc(0)),
                  GinStatus::done);
        ASSERT_EQ(kernel.wait_signal(0, 1), GinStatus::done);
        EXPECT_EQ(own.byte(8), peer);
        ASSERT_EQ(kernel.barrier(), GinStatus::done);
        EXPECT_EQ(kernel.read_signal(0), 1U);
        own.close();
    });
    const auto all = fake.set_up();
    EXPECT_EQ(std::ranges::count(all, "connect 2"), 4);
}

TEST(GinProxyTest, communicators_come_and_go_while_others_work) {
    FakeRma fake;
    run_ranks(2, [&](const Exchange& exchange) {
        Rank own(fake, exchange, crew_shape(), {}, 64);
        ASSERT_TRUE(own.good());
        std::atomic<bool> stop{false};
        std::thread traffic([&] {
            Device kernel = own.comm->device(0);
            for (std::uint64_t n = 1; n <= 400 && !stop; ++n) {
                ASSERT_EQ(kernel.signal(1 - exchange.rank, Signal::inc(3)), GinStatus::done);
                ASSERT_EQ(kernel.wait_signal(3, n), GinStatus::done);
            }
        });
        for (int round = 0; round < 10; ++round) {
            auto second = own.proxy->create(crew_shape(2));
            ASSERT_TRUE(second);
            Device kernel = (*second)->device(1);
            ASSERT_EQ(kernel.barrier(), GinStatus::done);
            auto window = own.proxy->register_window(own.memory);
            ASSERT_TRUE(window);
            EXPECT_TRUE(own.proxy->deregister_window(*window));
            EXPECT_TRUE(own.proxy->destroy(**second));
        }
        traffic.join();
        own.close();
    });
}

TEST(GinProxyTest, what_is_not_there_cannot_be_given_back) {
    FakeRma fake;
    Rank own(fake, alone(), crew_shape(), {}, 64);
    ASSERT_TRUE(own.good());
    EXPECT_FALSE(own.proxy->deregister_window(Window()));
    DeviceComm stranger(crew_shape());
    EXPECT_FALSE(own.proxy->destroy(stranger));
    DeviceCommShape none = crew_shape(0);
    EXPECT_FALSE(own.proxy->create(none));
    EXPECT_TRUE(own.proxy->close());
    EXPECT_TRUE(own.proxy->close()) << "twice is once";
}

using Abandoned = Solo;

/// A device communicator that is freed while operations are in flight.
TEST_F(Abandoned, the_next_communicator_works) {
    open(shape());
    fake_.hold = true;
    proxy_->start();
    post_puts(1, 3);
    const Deadline deadline(5 * kSecond);
    while (fake_.calls().size() < 3 && !deadline.passed()) std::this_thread::yield();
    ASSERT_TRUE(proxy_->destroy(*comm_));
    const auto after = fake_.set_up();
    EXPECT_EQ(after[after.size() - 3], "destroyContext") << "before its registrations go (X-4)";
    const std::size_t tests = fake_.tested().size();
    fake_.hold = false;
    auto next = proxy_->create(shape());
    ASSERT_TRUE(next);
    comm_ = *next;
    EXPECT_EQ(fake_.tested().size(), tests) << "abandoned requests are never tested again";
    post_put(2);
    EXPECT_EQ(device().flush(2), GinStatus::done);
}

}  // namespace
}  // namespace duofi::gin::test
