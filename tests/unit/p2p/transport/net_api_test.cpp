// Tables of all versions behind one face.
// Units: p2p/transport/net_api.
#include "p2p/transport/net_api.hpp"

#include <gtest/gtest.h>

#include <array>
#include <climits>
#include <cstring>

#include "tests/unit/p2p/transport/net_fake.hpp"

namespace duofi::p2p::test {
namespace {

class EachTable : public testing::TestWithParam<int> {
  protected:
    void SetUp() override {
        use_fake_net(GetParam(), {.attempts = 2});
        opened_ = open_fake_net();
        api_ = make_net_api(opened_.table, opened_.version, opened_.context);
        ASSERT_NE(api_, nullptr);
    }
    void TearDown() override {
        opened_.close();
        EXPECT_TRUE(fake_net_is_closed());
        stop_fake_net();
    }
    int wait(void* request) {
        int done = 0, bytes = -1;
        for (int i = 0; i < 10 && done == 0; ++i)
            EXPECT_EQ(api_->test(request, &done, &bytes), ncclSuccess);
        EXPECT_EQ(done, 1);
        return bytes;
    }
    OpenedNet opened_;
    std::unique_ptr<NetApi> api_;
};

TEST_P(EachTable, CarriesAMessage) {
    EXPECT_EQ(api_->pci_path(0), "/sys/devices/pci0000:00/0000:00:01.0");
    EXPECT_EQ(api_->pci_path(99), "");
    std::array<char, 128> handle{};
    void *listener = nullptr, *send_comm = nullptr, *recv_comm = nullptr;
    ASSERT_EQ(api_->listen(0, handle.data(), &listener), ncclSuccess);
    ASSERT_EQ(api_->connect(0, handle.data(), &send_comm), ncclSuccess);
    EXPECT_EQ(send_comm, nullptr) << "the first attempt is not enough";
    ASSERT_EQ(api_->connect(0, handle.data(), &send_comm), ncclSuccess);
    for (int i = 0; i < 2; ++i) ASSERT_EQ(api_->accept(listener, &recv_comm), ncclSuccess);
    ASSERT_TRUE(send_comm != nullptr && recv_comm != nullptr);
    char from[100], to[200] = {};
    std::memset(from, 'm', sizeof(from));
    void *known_from = nullptr, *known_to = nullptr, *sent = nullptr, *received = nullptr;
    ASSERT_EQ(api_->register_memory(send_comm, from, sizeof(from), &known_from), ncclSuccess);
    ASSERT_EQ(api_->register_memory(recv_comm, to, sizeof(to), &known_to), ncclSuccess);
    ASSERT_EQ(api_->receive(recv_comm, to, sizeof(to), 5, known_to, &received), ncclSuccess);
    ASSERT_EQ(api_->send(send_comm, from, sizeof(from), 5, known_from, &sent), ncclSuccess);
    EXPECT_EQ(wait(received), 100);
    wait(sent);
    EXPECT_EQ(std::memcmp(from, to, sizeof(from)), 0);
    EXPECT_EQ(api_->deregister(send_comm, known_from), ncclSuccess);
    EXPECT_EQ(api_->deregister(recv_comm, known_to), ncclSuccess);
    EXPECT_EQ(api_->close_send(send_comm), ncclSuccess);
    EXPECT_EQ(api_->close_receive(recv_comm), ncclSuccess);
    EXPECT_EQ(api_->close_listen(listener), ncclSuccess);
}

TEST_P(EachTable, SizesBeyondTheTableAreRefused) {
    void* out = nullptr;
    char byte = 0;
    const auto large = static_cast<std::size_t>(INT_MAX) + 1;
    if (GetParam() < 8) {
        EXPECT_EQ(api_->register_memory(&byte, &byte, large, &out), ncclInvalidArgument);
    }
    if (GetParam() < 9) {
        EXPECT_EQ(api_->send(&byte, &byte, large, 0, &byte, &out), ncclInvalidArgument);
        EXPECT_EQ(api_->receive(&byte, &byte, large, 0, &byte, &out), ncclInvalidArgument);
    }
    EXPECT_EQ(out, nullptr);
}

INSTANTIATE_TEST_SUITE_P(Versions, EachTable, testing::Range(6, 13));

TEST(NetApi, OtherVersionsHaveNoFace) {
    for (const int version : {0, 4, 5, 13}) EXPECT_EQ(make_net_api(&version, version, nullptr), nullptr);
}

}  // namespace
}  // namespace duofi::p2p::test
