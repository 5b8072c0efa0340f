// The store over TCP inside one process: strangers, limits, deadlines, IPv4 and IPv6 (report A11).
// Units: common/bootstrap/tcp_store, common/bootstrap/tcp_store_server,
// common/bootstrap/store_clients, common/bootstrap/socket.
#include "common/bootstrap/tcp_store.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <future>
#include <random>

#include "common/bootstrap/socket.hpp"
#include "common/bootstrap/store_wire.hpp"
#include "tests/unit/bootstrap/log_capture.hpp"

namespace duofi::bootstrap::test {
namespace {

Deadline soon() {
    return Deadline(10 * kSecond);
}

std::unique_ptr<TcpStoreServer> serve(int size, Nanoseconds greeting_time = 10 * kSecond,
                                      const std::string& host = "127.0.0.1") {
    auto server = TcpStoreServer::start(host, 0, size, greeting_time);
    EXPECT_TRUE(server);
    return server ? std::move(*server) : nullptr;
}

std::unique_ptr<TcpStore> join(const TcpStoreServer& server, int rank, int size,
                               const std::string& host = "127.0.0.1") {
    auto store = TcpStore::connect(host, server.port(), rank, size, soon());
    EXPECT_TRUE(store);
    return store ? std::move(*store) : nullptr;
}

UniqueFd raw_client(const TcpStoreServer& server) {
    auto addresses = resolve("127.0.0.1", server.port());
    auto fd = connect_to(addresses->front(), soon());
    EXPECT_TRUE(fd);
    return std::move(*fd);
}

/// The server ended this connection.
bool was_closed(const UniqueFd& fd) {
    std::vector<std::byte> rest;
    while (true) {
        const Status got = receive_some(fd.get(), rest, 4096, Deadline(10 * kSecond));
        if (!got) return got.error().code == Errc::remote;
    }
}

TEST(TcpStoreTest, set_and_get) {
    auto server = serve(2);
    auto zero = join(*server, 0, 2);
    auto one = join(*server, 1, 2);
    auto waiting = std::async(std::launch::async, [&] { return one->get("key", soon()); });
    ASSERT_TRUE(zero->set("key", as_value("value"), soon()));
    auto value = waiting.get();
    ASSERT_TRUE(value);
    EXPECT_EQ(as_text(*value), "value");
    ASSERT_TRUE(one->set("key", as_value(""), soon()));
    EXPECT_TRUE(zero->get("key", soon())->empty());
}

TEST(TcpStoreTest, largest_value_and_key) {
    auto server = serve(1);
    auto store = join(*server, 0, 1);
    const std::string key(kMaxKeyBytes, 'k');
    const Bytes value(kMaxValueBytes, std::byte{7});
    ASSERT_TRUE(store->set(key, value, soon()));
    EXPECT_EQ(*store->get(key, soon()), value);
    EXPECT_EQ(store->set(key + "k", value, soon()).error().code, Errc::invalid_argument);
    EXPECT_EQ(store->set("", value, soon()).error().code, Errc::invalid_argument);
    const Bytes larger(kMaxValueBytes + 1);
    EXPECT_EQ(store->set("k", larger, soon()).error().code, Errc::invalid_argument);
    EXPECT_TRUE(store->get(key, soon())) << "a refused call leaves the connection whole";
}

TEST(TcpStoreTest, a_wait_ends_at_its_deadline_and_the_next_call_works) {
    LogCapture capture;
    auto server = serve(2);
    auto zero = join(*server, 0, 2);
    auto one = join(*server, 1, 2);
    const Nanoseconds before = now_ns();
    auto late = zero->get("never", Deadline(50 * kMillisecond));
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, Errc::timed_out);
    EXPECT_GE(now_ns() - before, 50 * kMillisecond);
    EXPECT_EQ(zero->barrier("b", Deadline(50 * kMillisecond)).error().code, Errc::timed_out);
    EXPECT_EQ(capture.count(log::Level::warn, "no rank has set it"), 1);
    EXPECT_EQ(capture.count(log::Level::warn, "not all ranks arrived"), 1);
    ASSERT_TRUE(one->set("never", as_value("now"), soon()));
    EXPECT_EQ(as_text(*zero->get("never", soon())), "now");
}

TEST(TcpStoreTest, strangers_are_dropped_and_block_nobody_A11) {
    LogCapture capture;
    auto server = serve(2, 200 * kMillisecond);
    const UniqueFd silent = raw_client(*server);
    const UniqueFd noise = raw_client(*server);
    const UniqueFd http = raw_client(*server);
    std::mt19937 random(3);
    std::vector<std::byte> bytes(256);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    bytes[0] = std::byte{0};
    ASSERT_TRUE(send_all(noise.get(), bytes, soon()));
    ASSERT_TRUE(send_all(http.get(), as_value("GET / HTTP/1.1\r\n\r\n"), soon()));
    { const UniqueFd scanner = raw_client(*server); }

    auto zero = join(*server, 0, 2);
    auto one = join(*server, 1, 2);
    auto barrier = std::async(std::launch::async, [&] { return one->barrier("b", soon()); });
    ASSERT_TRUE(zero->barrier("b", soon()));
    ASSERT_TRUE(barrier.get());

    EXPECT_TRUE(was_closed(noise));
    EXPECT_TRUE(was_closed(http));
    EXPECT_TRUE(was_closed(silent));
    EXPECT_EQ(capture.count(log::Level::info, "dropped client 127.0.0.1:"), 3) << capture.all();
    EXPECT_EQ(capture.count(log::Level::info, "not a rank of ours"), 2);
    EXPECT_EQ(capture.count(log::Level::info, ": silent"), 1);
    EXPECT_EQ(capture.count(log::Level::warn, ""), 0) << capture.all();
    EXPECT_EQ(server->dropped(), 3);
}

TEST(TcpStoreTest, half_a_greeting_is_silence) {
    auto server = serve(1, 100 * kMillisecond);
    const UniqueFd half = raw_client(*server);
    const Bytes hello = wire::encode(wire::Hello{});
    ASSERT_TRUE(send_all(half.get(), std::span(hello).first(10), soon()));
    EXPECT_TRUE(was_closed(half));
    EXPECT_EQ(server->dropped(), 1);
}

TEST(TcpStoreTest, many_strangers_do_not_keep_ranks_out) {
    auto server = serve(1);
    std::vector<UniqueFd> crowd;
    for (int i = 0; i < 100; ++i) crowd.push_back(raw_client(*server));
    auto store = join(*server, 0, 1);
    EXPECT_TRUE(store->set("k", as_value("v"), soon()));
    EXPECT_GE(server->dropped(), 36);
}

TEST(TcpStoreTest, refuses_ranks_that_do_not_fit) {
    LogCapture capture;
    auto server = serve(2);
    auto zero = join(*server, 0, 2);
    auto twice = TcpStore::connect("127.0.0.1", server->port(), 0, 2, soon());
    ASSERT_FALSE(twice);
    EXPECT_EQ(twice.error().code, Errc::remote);
    EXPECT_EQ(capture.count(log::Level::warn, "refused rank 0 of 2: rank is taken"), 1);
    EXPECT_FALSE(TcpStore::connect("127.0.0.1", server->port(), 2, 3, soon()));
    EXPECT_EQ(capture.count(log::Level::warn, "other number of ranks"), 1);
    EXPECT_TRUE(zero->set("k", as_value("v"), soon())) << "the first rank 0 is not disturbed";
}

TEST(TcpStoreTest, a_malformed_message_of_a_rank_ends_that_rank) {
    LogCapture capture;
    auto server = serve(2);
    auto zero = join(*server, 0, 2);
    const UniqueFd one = raw_client(*server);
    wire::Hello hello;
    hello.size = 2;
    hello.rank = 1;
    ASSERT_TRUE(send_all(one.get(), wire::encode(hello), soon()));
    const Bytes huge(wire::kFrameHeaderBytes, std::byte{0xff});
    ASSERT_TRUE(send_all(one.get(), huge, soon()));
    EXPECT_TRUE(was_closed(one));
    EXPECT_EQ(zero->barrier("b", soon()).error().code, Errc::remote);
    EXPECT_EQ(zero->dead_rank(), 1);
    EXPECT_EQ(capture.count(log::Level::info, "message over the limit"), 1);
}

TEST(TcpStoreTest, a_connection_that_breaks_names_the_rank) {
    LogCapture capture;
    auto server = serve(3);
    auto zero = join(*server, 0, 3);
    {
        const UniqueFd two = raw_client(*server);
        wire::Hello hello;
        hello.size = 3;
        hello.rank = 2;
        ASSERT_TRUE(send_all(two.get(), wire::encode(hello), soon()));
        Bytes welcome(wire::kFrameHeaderBytes + wire::kResponseFixedBytes);
        ASSERT_TRUE(receive_all(two.get(), welcome, soon()));
    }
    auto lost = zero->get("key of rank 2", soon());
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().code, Errc::remote);
    EXPECT_EQ(zero->dead_rank(), 2);
    EXPECT_EQ(capture.count(log::Level::warn, "rank 2 is gone"), 1) << capture.all();
    EXPECT_EQ(capture.count(log::Level::warn, "lost rank 2"), 1) << capture.all();
}

TEST(TcpStoreTest, the_end_of_the_server_is_the_end_of_rank_0) {
    auto server = serve(2);
    auto one = join(*server, 1, 2);
    auto waiting = std::async(std::launch::async, [&] { return one->get("k", soon()); });
    server.reset();
    auto value = waiting.get();
    ASSERT_FALSE(value);
    EXPECT_EQ(value.error().code, Errc::remote);
    EXPECT_EQ(one->dead_rank(), 0);
    EXPECT_EQ(one->get("k", soon()).error().code, Errc::remote);
}

TEST(TcpStoreTest, connect_without_server_ends_at_its_deadline) {
    const std::uint16_t port = [] { return serve(1)->port(); }();
    LogCapture capture;
    auto store = TcpStore::connect("127.0.0.1", port, 1, 2, Deadline(100 * kMillisecond));
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, Errc::timed_out);
    EXPECT_EQ(capture.count(log::Level::warn, "is rank 0 running there?"), 1);
}

TEST(TcpStoreTest, a_client_may_come_before_the_server) {
    const std::uint16_t port = [] { return serve(1)->port(); }();
    auto early = std::async(std::launch::async,
                            [&] { return TcpStore::connect("127.0.0.1", port, 0, 1, soon()); });
    auto server = TcpStoreServer::start("127.0.0.1", port, 1);
    ASSERT_TRUE(server);
    auto store = early.get();
    ASSERT_TRUE(store);
    EXPECT_TRUE((*store)->set("k", as_value("v"), soon()));
}

TEST(TcpStoreTest, ipv6_and_every_address) {
    if (auto listener = resolve("::1", 0); !listener || !listen_on(listener->front()))
        GTEST_SKIP() << "no IPv6 loopback here";
    auto six = serve(1, 10 * kSecond, "::1");
    EXPECT_TRUE(join(*six, 0, 1, "::1")->set("k", as_value("v"), soon()));
    auto every = serve(2, 10 * kSecond, "");
    EXPECT_TRUE(join(*every, 0, 2, "127.0.0.1")->set("k", as_value("v"), soon()));
    EXPECT_TRUE(join(*every, 1, 2, "::1")->set("k", as_value("v"), soon()));
}

TEST(TcpStoreTest, a_taken_port_is_one_warning) {
    auto server = serve(1);
    LogCapture capture;
    auto second = TcpStoreServer::start("127.0.0.1", server->port(), 1);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Errc::system);
    EXPECT_EQ(second.error().provider_errno, EADDRINUSE);
    EXPECT_EQ(capture.count(log::Level::warn, "op=listen"), 1);
}

}  // namespace
}  // namespace duofi::bootstrap::test
