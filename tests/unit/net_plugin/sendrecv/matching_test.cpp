// Units: net_plugin/comms/recv_comm, net_plugin/comms/recv_announce,
// net_plugin/comms/send_comm, net_plugin/comms/endpoint.
// Which send fills which receive (net contract 3.4), and what is left of a send that is too long
// (P5).
#include <algorithm>

#include "net_plugin/comms/wire.hpp"
#include "tests/unit/net_plugin/sendrecv/fabric.hpp"

namespace duofi::net::comm_test {
namespace {

class Matching : public OverProvider {
  protected:
    void SetUp() override {
        OverProvider::SetUp();
        if (IsSkipped()) return;
        a.emplace(GetParam());
        b.emplace(GetParam());
        link = connect(*a, *b);
    }
    void TearDown() override {
        link = Link{};
        EXPECT_TRUE(log.all().empty()) << log.dump();
    }
    std::optional<Side> a, b;
    Link link;
};

constexpr std::size_t kSizes[] = {0, 1, 7, 64, 8191, 8192, 8193, 16385, 131073, 1u << 20};

TEST_P(Matching, every_size_in_both_posting_orders) {
    unsigned seed = 0;
    for (const bool receive_first : {true, false}) {
        for (const std::size_t size : kSizes) {
            const auto out = bytes_of(size, ++seed);
            std::vector<unsigned char> in(size + 1, 0xcc);
            Request* r = receive_first ? receive(*link.recv.get(), in.data(), size, 3) : nullptr;
            if (receive_first) b->poll();
            Request* s = send(*link.send.get(), out.data(), size, 3);
            if (!receive_first) {
                a->poll();
                b->poll();
                r = receive(*link.recv.get(), in.data(), size, 3);
            }
            const auto ends = finish({s, r});
            EXPECT_EQ(ends[0].sizes, std::vector<int>{static_cast<int>(size)});
            EXPECT_EQ(ends[1].sizes, std::vector<int>{static_cast<int>(size)});
            EXPECT_TRUE(std::equal(out.begin(), out.end(), in.begin())) << size;
            EXPECT_EQ(in[size], 0xcc);
        }
    }
}

TEST_P(Matching, tags_out_of_order_with_every_mix_of_sizes) {
    const std::size_t sizes[] = {100, 20000, 0, 8192, 50000, 9000};
    for (int rotation = 0; rotation < 6; ++rotation) {
        std::vector<std::vector<unsigned char>> out, in;
        std::vector<Request*> requests;
        for (unsigned i = 0; i < 6; ++i) {
            out.push_back(bytes_of(sizes[i], 10 * i + static_cast<unsigned>(rotation)));
            in.emplace_back(60000, 0);
            requests.push_back(
                send(*link.send.get(), out[i].data(), sizes[i], static_cast<int>(i) - 3));
        }
        for (unsigned i = 0; i < 6; ++i) {
            const unsigned k = (5 * i + static_cast<unsigned>(rotation)) % 6;
            requests.push_back(
                receive(*link.recv.get(), in[k].data(), 60000, static_cast<int>(k) - 3));
        }
        const auto ends = finish(requests);
        for (unsigned i = 0; i < 6; ++i) {
            const unsigned k = (5 * i + static_cast<unsigned>(rotation)) % 6;
            EXPECT_EQ(ends[6 + i].sizes, std::vector<int>{static_cast<int>(sizes[k])});
            EXPECT_TRUE(std::equal(out[k].begin(), out[k].end(), in[k].begin())) << k;
        }
    }
}

TEST_P(Matching, equal_tags_fill_a_group_in_order) {
    const std::size_t sizes[] = {8, 0, 9000, 1, 30000, 8192, 5, 8193};
    for (const bool equal : {true, false}) {
        std::vector<std::vector<unsigned char>> out, in;
        std::vector<RecvBuffer> group;
        std::vector<Request*> requests;
        for (unsigned i = 0; i < 8; ++i) {
            out.push_back(bytes_of(sizes[i], 70 + i));
            in.emplace_back(sizes[i], 0);
        }
        for (unsigned i = 0; i < 8; ++i)
            group.push_back({in[i].data(), sizes[i], equal ? 4 : static_cast<int>(i)});
        const auto post_sends = [&] {
            for (unsigned i = 0; i < 8; ++i) {
                const unsigned k = equal ? i : 7 - i;  // other tags may come in any order
                requests.push_back(send(*link.send.get(), out[k].data(), sizes[k],
                                        equal ? 4 : static_cast<int>(k)));
            }
        };
        post_sends();
        requests.push_back(receive(*link.recv.get(), group));
        const auto ends = finish(requests);
        EXPECT_EQ(ends[8].sizes, std::vector<int>({8, 0, 9000, 1, 30000, 8192, 5, 8193}));
        for (unsigned i = 0; i < 8; ++i) EXPECT_EQ(out[i], in[i]) << i;
    }
}

TEST_P(Matching, a_send_of_another_tag_waits_for_a_later_receive) {
    auto first = bytes_of(10, 1), other = bytes_of(20, 2), second = bytes_of(30, 3);
    std::vector<unsigned char> in[3] = {std::vector<unsigned char>(64),
                                        std::vector<unsigned char>(64),
                                        std::vector<unsigned char>(64)};
    Request* group = receive(*link.recv.get(), {{in[0].data(), 64, 1}, {in[1].data(), 64, 1}});
    Request* s0 = send(*link.send.get(), first.data(), 10, 1);
    Request* s1 = send(*link.send.get(), other.data(), 20, 2);
    Request* s2 = send(*link.send.get(), second.data(), 30, 1);
    EXPECT_EQ(finish({s0, s1, s2, group})[3].sizes, (std::vector<int>{10, 30}));
    EXPECT_EQ(finish(receive(*link.recv.get(), in[2].data(), 64, 2)).sizes, std::vector<int>{20});
    EXPECT_TRUE(std::equal(other.begin(), other.end(), in[2].begin()));
}

// The sender learns the posted size through its demand: 1 ms after the send, again every 10 ms.
TEST_P(Matching, a_large_send_into_a_small_receive_is_cut_on_both_sides) {
    for (const std::size_t posted :
         {std::size_t{100}, std::size_t{8192}, std::size_t{0}, std::size_t{9000}}) {
        const auto out = bytes_of(300000, 9);
        std::vector<unsigned char> in(posted + 64, 0xcc);
        Request* r = receive(*link.recv.get(), in.data(), posted, 1);
        Request* s = send(*link.send.get(), out.data(), out.size(), 1);
        const auto ends = finish({s, r}, patience(kSecond));
        EXPECT_EQ(ends[0].sizes, std::vector<int>{static_cast<int>(posted)});
        EXPECT_EQ(ends[1].sizes, std::vector<int>{static_cast<int>(posted)});
        EXPECT_TRUE(
            std::equal(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(posted), out.begin()));
        for (std::size_t i = posted; i < in.size(); ++i)
            ASSERT_EQ(in[i], 0xcc) << "written behind the receive";
        const auto next = bytes_of(5000, 10);  // P5: the message after it is the one that gets lost
        std::vector<unsigned char> got(5000);
        (void)finish({send(*link.send.get(), next.data(), 5000, 1),
                      receive(*link.recv.get(), got.data(), 5000, 1)});
        EXPECT_EQ(got, next);
    }
}

TEST_P(Matching, a_small_send_into_a_smaller_receive_is_cut) {
    const auto out = bytes_of(100, 9);
    std::vector<unsigned char> in(100, 0xcc);
    const auto ends = finish(
        {send(*link.send.get(), out.data(), 100, 1), receive(*link.recv.get(), in.data(), 33, 1)});
    EXPECT_EQ(ends[1].sizes, std::vector<int>{33});
    EXPECT_TRUE(std::equal(in.begin(), in.begin() + 33, out.begin()));
    for (std::size_t i = 33; i < in.size(); ++i) EXPECT_EQ(in[i], 0xcc);
}

TEST_P(Matching, the_request_bounds_answer_not_now) {
    const std::size_t size = 9000;
    const auto out = bytes_of(size, 1);
    std::vector<Request*> sends;
    for (std::size_t i = 0; i < kMaxSendRequests; ++i)
        sends.push_back(send(*link.send.get(), out.data(), size, 1));
    for (int i = 0; i < 3; ++i) {
        const auto refused =
            link.send->isend(const_cast<unsigned char*>(out.data()), size, 1, nullptr);
        ASSERT_TRUE(refused.has_value()) << "a full queue is no error";
        EXPECT_EQ(*refused, nullptr);
    }
    std::vector<std::vector<unsigned char>> in(kMaxRecvRequests, std::vector<unsigned char>(size));
    for (std::size_t done = 0; done < kMaxSendRequests; done += kMaxRecvRequests) {
        std::vector<Request*> requests(
            sends.begin() + static_cast<std::ptrdiff_t>(done),
            sends.begin() + static_cast<std::ptrdiff_t>(done + kMaxRecvRequests));
        for (auto& buffer : in)
            requests.push_back(receive(*link.recv.get(), buffer.data(), size, 1));
        const auto refused =
            link.recv->irecv(std::vector<RecvBuffer>{{in[0].data(), size, 1}}.data(), 1);
        ASSERT_TRUE(refused.has_value());
        EXPECT_EQ(*refused, nullptr);
        for (const Outcome& end : finish(requests)) EXPECT_EQ(end.sizes, std::vector<int>{9000});
        for (auto& buffer : in) EXPECT_EQ(buffer, out);
    }
}

TEST_P(Matching, a_connection_to_the_own_endpoint_works) {
    Link self = connect(*a, *a);
    for (const std::size_t size : {std::size_t{5}, std::size_t{8192}, std::size_t{200000}}) {
        const auto out = bytes_of(size, 3);
        std::vector<unsigned char> in(size);
        Request* r = receive(*self.recv.get(), in.data(), size, 1);
        (void)finish({send(*self.send.get(), out.data(), size, 1), r});
        EXPECT_EQ(in, out);
    }
}

DUOFI_OVER_PROVIDERS(Matching);

}  // namespace
}  // namespace duofi::net::comm_test
