// Bytes of hello and welcome, fixed for this wire version, and what becomes of damaged ones.
#include "common/ofi/handshake.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

namespace duofi::ofi {
namespace {

using Bytes = std::vector<std::byte>;

Nonce nonce_from(unsigned first) {
    Nonce nonce;
    for (std::size_t i = 0; i < nonce.size(); ++i) nonce[i] = static_cast<std::byte>(first + i);
    return nonce;
}

HostIdentity some_identity() {
    HostIdentity identity;
    identity.boot_hash = 0x1122334455667788U;
    identity.pid_namespace = 0x99aabbccddeeff00U;
    identity.start_time = 0x0102030405060708U;
    identity.pid = 0x0a0b0c0d;
    return identity;
}

Hello some_hello(std::size_t name_length = 5) {
    Hello hello;
    hello.port = 0x00010002;
    hello.eager_limit = 8192;
    hello.packet_bytes = 8216;
    hello.nonce = nonce_from(0x40);
    hello.identity = some_identity();
    hello.name.length = static_cast<std::uint8_t>(name_length);
    for (std::size_t i = 0; i < name_length; ++i) hello.name.bytes[i] = static_cast<std::byte>('a' + i);
    return hello;
}

Welcome some_welcome() {
    Welcome welcome;
    welcome.port = 0x00030004;
    welcome.eager_limit = 4096;
    welcome.packet_bytes = 4120;
    welcome.credits = 64;
    welcome.nonce = nonce_from(0x80);
    welcome.identity = some_identity();
    return welcome;
}

Bytes written(const Hello& hello) {
    Bytes out(kMaxHandshakeBytes);
    out.resize(write_hello(out, hello));
    return out;
}
Bytes written(const Welcome& welcome) {
    Bytes out(kMaxHandshakeBytes);
    out.resize(write_welcome(out, welcome));
    return out;
}

std::string hex(const Bytes& bytes) {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    for (const std::byte byte : bytes) {
        text += kDigits[std::to_integer<unsigned>(byte) >> 4];
        text += kDigits[std::to_integer<unsigned>(byte) & 15];
    }
    return text;
}

constexpr char kIdentityHex[] =
    "8877665544332211"
    "00ffeeddccbbaa99"
    "0807060504030201"
    "0d0c0b0a";

TEST(Handshake, HelloHasItsBytes) {
    EXPECT_EQ(hex(written(some_hello())),
              std::string("44484c4f"     // DHLO
                          "02000000"     // version, path
                          "02000100"     // port
                          "00200000"     // eager limit
                          "18200000"     // bytes of its packets
                          "404142434445464748494a4b4c4d4e4f") +
                  kIdentityHex + "056162636465" + "00");  // name, no other rails
}

TEST(Handshake, WelcomeHasItsBytes) {
    EXPECT_EQ(hex(written(some_welcome())),
              std::string("4457454c"     // DWEL
                          "02000000"     // version
                          "04000300"     // port
                          "00100000"     // eager limit
                          "18100000"     // bytes of its packets
                          "40000000"     // credits
                          "808182838485868788898a8b8c8d8e8f") +
                  kIdentityHex + "00");  // no other rails
}

RailNames three_rails() {
    RailNames rails;
    rails.count = 3;
    for (std::size_t i = 0; i < 3; ++i) {
        rails.names[i].length = static_cast<std::uint8_t>(i + 30);
        rails.names[i].bytes.fill(static_cast<std::byte>('x' + i));
    }
    return rails;
}

TEST(Handshake, RailsAreReadBack) {
    Hello hello = some_hello(EndpointName::kMaxBytes);
    hello.path = DataPath::written;
    hello.rails = three_rails();
    Bytes bytes = written(hello);
    ASSERT_FALSE(bytes.empty()) << "the longest names fit";
    const auto read = parse_hello(bytes);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->path, DataPath::written);
    ASSERT_EQ(read->rails.count, 3);
    EXPECT_EQ(read->rails.names[2].length, 32);
    EXPECT_EQ(read->rails.names[2].bytes[31], static_cast<std::byte>('z'));
    for (std::size_t kept = 0; kept < bytes.size(); ++kept)
        EXPECT_FALSE(parse_hello(std::span(bytes).first(kept))) << kept;
    Welcome welcome = some_welcome();
    welcome.rails = hello.rails;
    Bytes answer = written(welcome);
    EXPECT_EQ(parse_welcome(answer)->rails.count, 3);
    answer[written(some_welcome()).size() - 1] = std::byte{4};
    EXPECT_FALSE(parse_welcome(answer)) << "more rails than there can be";
}

TEST(Handshake, BothAreReadBack) {
    for (std::size_t length = 1; length <= EndpointName::kMaxBytes; ++length) {
        const Hello hello = some_hello(length);
        const Bytes bytes = written(hello);
        ASSERT_FALSE(bytes.empty());
        const auto read = parse_hello(bytes);
        ASSERT_TRUE(read) << length;
        EXPECT_EQ(read->version, kWireVersion);
        EXPECT_EQ(read->port, hello.port);
        EXPECT_EQ(read->eager_limit, hello.eager_limit);
        EXPECT_EQ(read->packet_bytes, hello.packet_bytes);
        EXPECT_EQ(read->nonce, hello.nonce);
        EXPECT_EQ(read->identity, hello.identity);
        EXPECT_TRUE(read->name == hello.name);
    }
    const auto read = parse_welcome(written(some_welcome()));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->port, 0x00030004U);
    EXPECT_EQ(read->eager_limit, 4096U);
    EXPECT_EQ(read->packet_bytes, 4120U);
    EXPECT_EQ(read->credits, 64U);
    EXPECT_EQ(read->nonce, nonce_from(0x80));
    EXPECT_EQ(read->identity, some_identity());
}

TEST(Handshake, AnotherVersionIsReadAndLeftToTheCaller) {
    Hello hello = some_hello();
    hello.version = 9;
    ASSERT_TRUE(parse_hello(written(hello)));
    EXPECT_EQ(parse_hello(written(hello))->version, 9);
}

/// Copies sit in a block of exactly their size, so that a read behind the end is seen by the sanitizer.
TEST(Handshake, NoShorterInputIsTaken) {
    for (std::size_t name = 1; name <= EndpointName::kMaxBytes; name += 31) {
        const Bytes whole = written(some_hello(name));
        for (std::size_t length = 0; length < whole.size(); ++length) {
            const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
            EXPECT_FALSE(parse_hello(cut)) << length;
            EXPECT_FALSE(parse_welcome(cut)) << length;
        }
    }
    const Bytes whole = written(some_welcome());
    for (std::size_t length = 0; length < whole.size(); ++length) {
        const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
        EXPECT_FALSE(parse_welcome(cut)) << length;
        EXPECT_FALSE(parse_hello(cut)) << length;
    }
}

TEST(Handshake, OneIsNotTakenForTheOther) {
    EXPECT_FALSE(parse_welcome(written(some_hello(32))));
    EXPECT_FALSE(parse_hello(written(some_welcome())));
}

TEST(Handshake, EveryLengthOfANameIsChecked) {
    for (unsigned length = 0; length < 256; ++length) {
        Bytes bytes = written(some_hello(32));
        constexpr std::size_t kPlace = 64;  // behind the identity
        ASSERT_EQ(bytes[kPlace], std::byte{32});
        bytes.resize(kPlace);
        bytes.push_back(static_cast<std::byte>(length));
        bytes.resize(400);  // zeros: no other rails
        const auto read = parse_hello(bytes);
        EXPECT_EQ(read.has_value(), length >= 1 && length <= EndpointName::kMaxBytes) << length;
        if (read) {
            EXPECT_EQ(read->name.length, length);
        }
    }
}

TEST(Handshake, GarbageIsNeverTaken) {
    std::mt19937 random(3);
    for (int round = 0; round < 20000; ++round) {
        Bytes bytes(random() % 200);
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 0xff);
        EXPECT_FALSE(parse_hello(bytes));
        EXPECT_FALSE(parse_welcome(bytes));
    }
    for (int round = 0; round < 20000; ++round) {  // one damaged byte: never read behind the end
        Bytes bytes = written(some_hello(random() % 32 + 1));
        bytes[random() % bytes.size()] = static_cast<std::byte>(random() & 0xff);
        const auto read = parse_hello(bytes);
        EXPECT_TRUE(!read || read->name.length <= EndpointName::kMaxBytes);
    }
}

TEST(Handshake, ABufferThatIsTooSmallIsNotOverrun) {
    const std::size_t needed = written(some_hello(32)).size();
    ASSERT_LE(needed, kMaxHandshakeBytes);
    for (std::size_t room = 0; room < needed; ++room) {
        Bytes out(room);
        EXPECT_EQ(write_hello(out, some_hello(32)), 0U) << room;
    }
    for (std::size_t room = 0; room < written(some_welcome()).size(); ++room) {
        Bytes out(room);
        EXPECT_EQ(write_welcome(out, some_welcome()), 0U) << room;
    }
}

TEST(Handshake, NoncesDiffer) {
    std::set<Nonce> seen;
    for (int i = 0; i < 1000; ++i) EXPECT_TRUE(seen.insert(make_nonce()).second);
}

TEST(Handshake, EveryReasonHasItsOwnText) {
    std::set<std::string> texts;
    for (std::uint32_t reason = 1; reason <= 7; ++reason)
        EXPECT_TRUE(texts.insert(to_string(static_cast<RefuseReason>(reason))).second);
    for (const std::uint32_t reason : {0U, 8U, 0xffffffffU})
        EXPECT_STREQ(to_string(static_cast<RefuseReason>(reason)), "unknown reason");
}

}  // namespace
}  // namespace duofi::ofi
