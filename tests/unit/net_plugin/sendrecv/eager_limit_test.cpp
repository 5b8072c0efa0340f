// Sides with different OFI_NCCL_EAGER_MAX_SIZE agree on the smaller one (net contract 9.2 T30).
#include "tests/unit/net_plugin/sendrecv/wire_node.hpp"

namespace duofi::net::comm_test {
namespace {

struct Limits {
    int from, to;
};

class EagerLimits : public OverProvider {
  protected:
    static Adjust limit(int bytes) {
        return [bytes](Settings& settings) { settings.eager_max_size = bytes; };
    }
};

constexpr Limits kPairs[] = {{8192, 8192}, {65536, 512}, {512, 65536}, {-1, 8192},
                             {8192, -1},   {-1, -1},     {0, 100}};

TEST_P(EagerLimits, every_pair_transfers_every_size) {
    for (const Limits pair : kPairs) {
        SCOPED_TRACE(std::to_string(pair.from) + " to " + std::to_string(pair.to));
        Side a(GetParam(), limit(pair.from)), b(GetParam(), limit(pair.to));
        Link link = connect(a, b);
        unsigned seed = 0;
        for (const std::size_t size :
             {0u, 1u, 99u, 101u, 511u, 512u, 513u, 1025u, 8192u, 8193u, 65536u, 65537u}) {
            const auto out = bytes_of(size, ++seed);
            std::vector<unsigned char> in(size);
            const auto ends = finish({send(*link.send.get(), out.data(), size, 1),
                                      receive(*link.recv.get(), in.data(), size, 1)});
            ASSERT_EQ(ends[1].sizes, std::vector<int>{static_cast<int>(size)});
            ASSERT_EQ(in, out) << size;
        }
        EXPECT_TRUE(log.all().empty()) << log.dump();
    }
}

// Many small messages share a packet while one is in flight. It must not be longer than what the
// peer has posted.
TEST_P(EagerLimits, bursts_fit_the_peers_buffers) {
    for (const Limits pair : kPairs) {
        SCOPED_TRACE(std::to_string(pair.from) + " to " + std::to_string(pair.to));
        Side a(GetParam(), limit(pair.from)), b(GetParam(), limit(pair.to));
        Link link = connect(a, b);
        const auto out = bytes_of(400, 1);
        std::vector<std::vector<unsigned char>> in(60, std::vector<unsigned char>(400));
        for (int round = 0; round < 5; ++round) {
            std::vector<Request*> requests;
            for (auto& buffer : in)
                requests.push_back(receive(*link.recv.get(), buffer.data(), 400, 1));
            for (std::size_t i = 0; i < in.size(); ++i)
                requests.push_back(send(*link.send.get(), out.data(), out.size(), 1));
            for (const Outcome& end : finish(requests, patience(5 * kSecond)))
                ASSERT_EQ(end.sizes, std::vector<int>{400});
            for (auto& buffer : in) ASSERT_EQ(buffer, out);
        }
        EXPECT_TRUE(log.all().empty()) << log.dump();
    }
}

// The same on the way back: one packet of announcements for many large receives.
TEST_P(EagerLimits, announcements_fit_the_peers_buffers) {
    for (const Limits pair : kPairs) {
        SCOPED_TRACE(std::to_string(pair.from) + " to " + std::to_string(pair.to));
        Side a(GetParam(), limit(pair.from)), b(GetParam(), limit(pair.to));
        Link link = connect(a, b);
        constexpr std::size_t kSize = 70000;
        std::vector<unsigned char> in(kSize);
        const auto out = bytes_of(kSize, 2);
        std::vector<Request*> requests;
        for (int i = 0; i < 16; ++i)
            requests.push_back(
                receive(*link.recv.get(), std::vector<RecvBuffer>(8, {in.data(), kSize, 1})));
        for (int i = 0; i < 128; ++i)
            requests.push_back(send(*link.send.get(), out.data(), kSize, 1));
        for (std::size_t i = 0; const Outcome& end : finish(requests, patience(10 * kSecond)))
            ASSERT_EQ(end.sizes, std::vector<int>(i++ < 16 ? 8 : 1, static_cast<int>(kSize)));
        ASSERT_EQ(in, out);
        EXPECT_TRUE(log.all().empty()) << log.dump();
    }
}

TEST_P(EagerLimits, the_smaller_side_decides) {
    for (const std::uint32_t theirs : {0u, 100u, 4096u, 100000u}) {
        Side side(GetParam(), limit(4096));
        WireNode node(GetParam(), limit(100000));
        WireSender asking = wire_sender(node, side, theirs);
        const auto welcome =
            ofi::parse_welcome(asking.link->wait_for(MessageKind::welcome)[0].payload);
        ASSERT_TRUE(welcome.has_value());
        EXPECT_EQ(welcome->eager_limit, std::min(theirs, 4096u));
        EXPECT_EQ(welcome->credits, kEagerCredits);
    }
}

TEST_P(EagerLimits, the_sender_keeps_to_the_agreed_one) {
    Side side(GetParam(), limit(-1));
    WireNode node(GetParam());
    WireReceiver off = wire_receiver(node, side, GetParam());
    const auto out = bytes_of(64, 1);
    Request* empty =
        send(*off.send.get(), out.data(), 0, 1);  // a message without bytes needs no buffer
    Request* one = send(*off.send.get(), out.data(), 1, 1);
    EXPECT_EQ(off.link->wait_for(MessageKind::net_eager).size(), 1u);
    until("a demand", [&] {
        int done = 0;
        EXPECT_EQ(test_request(one, &done, nullptr), ncclSuccess);
        return !off.link->all(MessageKind::net_want).empty();
    });
    EXPECT_EQ(off.link->all(MessageKind::net_eager).size(), 1u);
    (void)finish(empty);
}

DUOFI_OVER_PROVIDERS(EagerLimits);

}  // namespace
}  // namespace duofi::net::comm_test
