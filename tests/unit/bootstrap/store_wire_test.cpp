// Layout and validation of the store's messages.
#include "common/bootstrap/store_wire.hpp"

#include <gtest/gtest.h>

#include <random>

namespace duofi::bootstrap::wire {
namespace {

Bytes bytes_of(std::initializer_list<int> values) {
    Bytes bytes;
    for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
    return bytes;
}

TEST(StoreWire, golden_bytes) {
    Hello hello;
    hello.size = 0x0201;
    hello.rank = 3;
    EXPECT_EQ(encode(hello), bytes_of({0xd0, 0x0f, 0x15, 'd', 'u', 'o', 'f', 'i', 1, 0, 0, 0,
                                       1,    2,    0,    0,   3,   0,   0,   0,   0, 0, 0, 0}));
    Request request;
    request.id = 0x0a0b;
    request.op = Op::set;
    request.key = "k";
    request.value = bytes_of({9, 8});
    EXPECT_EQ(encode(request), bytes_of({7, 0, 0, 0, 0x0b, 0x0a, 0, 0, 1, 0, 1, 0, 'k', 9, 8}));
    Response response;
    response.id = 1;
    response.state = State::peer_gone;
    response.rank = 2;
    response.value = bytes_of({5});
    EXPECT_EQ(encode(response), bytes_of({9, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 5}));
}

TEST(StoreWire, round_trips) {
    Request request;
    request.id = 7;
    request.op = Op::get;
    request.key = std::string(kMaxKeyBytes, 'q');
    const auto again = decode_request(encode(request));
    ASSERT_TRUE(again);
    EXPECT_EQ(again->id, 7U);
    EXPECT_EQ(again->op, Op::get);
    EXPECT_EQ(again->key, request.key);
    EXPECT_TRUE(again->value.empty());
    Hello hello;
    hello.size = 4;
    hello.rank = 2;
    const auto greeted = decode_hello(encode(hello));
    ASSERT_TRUE(greeted);
    EXPECT_EQ(greeted->size, 4U);
    EXPECT_EQ(greeted->rank, 2U);
}

TEST(StoreWire, refuses_lengths_over_the_limit) {
    std::array<std::byte, kFrameHeaderBytes> header{};
    header.fill(std::byte{0xff});
    EXPECT_FALSE(body_length(header));
    Request request;
    request.op = Op::set;
    request.key = std::string(kMaxKeyBytes + 1, 'q');
    EXPECT_FALSE(decode_request(encode(request)));
    request.key = "k";
    request.value.resize(kMaxValueBytes + 1);
    EXPECT_FALSE(decode_request(encode(request)));
}

TEST(StoreWire, refuses_malformed_requests) {
    Request request;
    request.op = Op::get;
    EXPECT_FALSE(decode_request(encode(request))) << "empty key";
    request.key = "k";
    Bytes bytes = encode(request);
    bytes[8] = std::byte{99};
    EXPECT_FALSE(decode_request(bytes)) << "unknown operation";
    bytes = encode(request);
    bytes[10] = std::byte{200};
    EXPECT_FALSE(decode_request(bytes)) << "key longer than the message";
}

TEST(StoreWire, a_prefix_of_the_greeting_may_become_one) {
    const Bytes hello = encode(Hello{});
    for (std::size_t n = 0; n < hello.size(); ++n) {
        const std::span<const std::byte> part(hello.data(), n);
        EXPECT_TRUE(may_be_hello(part));
        EXPECT_FALSE(decode_hello(part));
    }
    EXPECT_FALSE(may_be_hello(as_value("GET / HTTP/1.1\r\n")));
}

TEST(StoreWire, random_bytes_are_never_a_crash) {
    std::mt19937 random(1);
    for (int round = 0; round < 20000; ++round) {
        Bytes bytes(random() % 64);
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
        static_cast<void>(decode_hello(bytes));
        static_cast<void>(decode_response(bytes));
        if (const auto request = decode_request(bytes)) {
            EXPECT_LE(request->key.size() + request->value.size(), bytes.size());
        }
    }
}

}  // namespace
}  // namespace duofi::bootstrap::wire
