// The client over a real mock network: polling, NULL requests, deadlines, ownership (net
// contract 3.2 to 3.7).
#include "common/loader/net_client.hpp"

#include <gtest/gtest.h>

#include <climits>
#include <cstring>
#include <vector>

#include "tests/unit/loader/plugin_directory.hpp"

namespace duofi::loader::test {
namespace {

class Client : public ::testing::Test {
  protected:
    void SetUp() override {
        auto opened = open_net(
            net_request(Host::rccl, kNewestRelease, PluginDirectory::module_path("mock_six")));
        ASSERT_TRUE(opened);
        plugin_.emplace(std::move(*opened));
        client_.emplace(plugin_->v6());
    }

    NetClient::Pair connect() {
        NetHandle handle;
        auto listener = client_->listen(0, handle);
        EXPECT_TRUE(listener);
        auto pair = client_->connect_and_accept(0, handle, *listener, Deadline(5 * kSecond));
        EXPECT_TRUE(pair) << to_string(pair.error());
        return std::move(*pair);
    }

    const MockState& state() const { return mock_state(*plugin_); }

    std::optional<NetPlugin> plugin_;
    std::optional<NetClient> client_;
};

std::vector<std::byte> bytes_of(const char* text) {
    const auto* first = reinterpret_cast<const std::byte*>(text);
    return {first, first + std::strlen(text)};
}

TEST_F(Client, sends_and_receives) {
    NetClient::Pair pair = connect();
    std::vector<std::byte> out = bytes_of("twelve bytes");
    std::vector<std::byte> in(64);
    auto out_memory = client_->register_memory(pair.send, out);
    auto in_memory = client_->register_memory(pair.recv, in);
    ASSERT_TRUE(out_memory && in_memory);
    const Deadline deadline(5 * kSecond);
    auto receiving = client_->recv(pair.recv, in, 0, *in_memory, deadline);
    auto sending = client_->send(pair.send, out, 0, *out_memory, deadline);
    ASSERT_TRUE(receiving && sending);
    EXPECT_EQ(client_->wait(*sending, deadline), out.size());
    EXPECT_EQ(client_->wait(*receiving, deadline), out.size());
    EXPECT_EQ(std::memcmp(in.data(), out.data(), out.size()), 0);
    EXPECT_EQ(sending->request, nullptr);
}

TEST_F(Client, owns_comms_and_registrations) {
    {
        NetClient::Pair pair = connect();
        std::vector<std::byte> memory(16);
        auto first = client_->register_memory(pair.send, memory);
        ASSERT_TRUE(first);
        Registration second = std::move(*first);
        EXPECT_EQ(first->get(), nullptr);
        EXPECT_EQ(state().open_registrations, 1);
        EXPECT_EQ(second.reset(), ncclSuccess);
        EXPECT_EQ(second.reset(), ncclSuccess);
        EXPECT_EQ(state().open_registrations, 0);
        NetComm moved = std::move(pair.send);
        EXPECT_FALSE(pair.send);
        EXPECT_EQ(state().open_comms, 2);
    }
    EXPECT_EQ(state().open_comms, 0);
}

TEST_F(Client, keeps_the_plugin_result_code) {
    NetHandle handle;
    auto listener = client_->listen(99, handle);
    ASSERT_FALSE(listener);
    EXPECT_EQ(listener.error().result, ncclInternalError);
    EXPECT_FALSE(listener.error().timed_out);
    EXPECT_EQ(to_string(listener.error()), "listen returned ncclInternalError (3)");
    NetHandle zeros{};
    auto refused = client_->connect(0, zeros, Deadline(kSecond));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().result, ncclRemoteError);
}

TEST_F(Client, accept_alone_ends_at_its_deadline) {
    NetHandle handle;
    auto listener = client_->listen(0, handle);
    ASSERT_TRUE(listener);
    const Nanoseconds before = now_ns();
    auto nobody = client_->accept(*listener, Deadline(20 * kMillisecond));
    ASSERT_FALSE(nobody);
    EXPECT_TRUE(nobody.error().timed_out);
    EXPECT_EQ(nobody.error().result, ncclSuccess);
    EXPECT_EQ(to_string(nobody.error()), "accept did not finish before the deadline");
    EXPECT_GE(now_ns() - before, 20 * kMillisecond);
}

TEST_F(Client, a_send_that_is_never_posted_ends_at_its_deadline) {
    NetClient::Pair pair = connect();
    std::vector<std::byte> out = bytes_of("x");
    const Registration none;
    auto first = client_->send(pair.send, out, 0, none, Deadline(kSecond));
    ASSERT_TRUE(first);
    ASSERT_TRUE(client_->wait(*first, Deadline(kSecond)));
    // The mock's wire holds one message; without a receive the next stays unposted.
    auto second = client_->send(pair.send, out, 0, none, Deadline(20 * kMillisecond));
    ASSERT_FALSE(second);
    EXPECT_TRUE(second.error().timed_out);
    EXPECT_STREQ(second.error().call, "isend");
}

TEST_F(Client, a_wait_that_timed_out_can_be_continued) {
    NetClient::Pair pair = connect();
    std::vector<std::byte> in(8);
    const Registration none;
    auto receiving = client_->recv(pair.recv, in, 0, none, Deadline(kSecond));
    ASSERT_TRUE(receiving);
    auto late = client_->wait(*receiving, Deadline(10 * kMillisecond));
    ASSERT_FALSE(late);
    EXPECT_TRUE(late.error().timed_out);
    EXPECT_NE(receiving->request, nullptr);
    auto sending = client_->send(pair.send, bytes_of("abc"), 0, none, Deadline(kSecond));
    ASSERT_TRUE(sending);
    EXPECT_EQ(client_->wait(*receiving, Deadline(kSecond)), 3U);
    EXPECT_EQ(client_->wait(*sending, Deadline(kSecond)), 3U);
}

TEST_F(Client, a_failed_test_gives_the_request_up) {
    NetClient::Pair pair = connect();
    std::vector<std::byte> in(2);
    const Registration none;
    auto receiving = client_->recv(pair.recv, in, 0, none, Deadline(kSecond));
    auto sending = client_->send(pair.send, bytes_of("too long"), 0, none, Deadline(kSecond));
    ASSERT_TRUE(receiving && sending);
    auto failed = client_->wait(*receiving, Deadline(kSecond));
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().result, ncclRemoteError);
    EXPECT_EQ(receiving->request, nullptr);
    EXPECT_TRUE(client_->wait(*sending, Deadline(kSecond)));
}

TEST_F(Client, refuses_what_an_int_cannot_say) {
    NetClient::Pair pair = connect();
    std::byte one{};
    const std::span<std::byte> huge(&one, static_cast<std::size_t>(INT_MAX) + 1);
    EXPECT_EQ(client_->register_memory(pair.send, huge).error().result, ncclInvalidArgument);
    const Registration none;
    EXPECT_EQ(client_->send(pair.send, huge, 0, none, Deadline(0)).error().result,
              ncclInvalidArgument);
}

}  // namespace
}  // namespace duofi::loader::test
