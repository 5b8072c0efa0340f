// What a listening side hands to the others (C-1): each field is checked, and judged as argument or as usage.
#include "common/ofi/listen_handle.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>

namespace duofi::ofi {
namespace {

constexpr std::uint32_t kMagic = 0x31415926;
using Raw = std::array<std::byte, kListenHandleBytes>;

ListenHandle example() {
    ListenHandle handle;
    handle.provider = provider_mark("net");
    handle.port = 0x00010203;
    for (std::size_t i = 0; i < handle.nonce.size(); ++i) handle.nonce[i] = static_cast<std::byte>(0xa0 + i);
    handle.name.length = 16;
    for (std::size_t i = 0; i < 16; ++i) handle.name.bytes[i] = static_cast<std::byte>(i + 1);
    return handle;
}

Raw written(const ListenHandle& handle) {
    Raw raw;
    raw.fill(std::byte{0x5a});
    write_listen_handle(raw, kMagic, handle);
    return raw;
}

/// 0 = read.
Errc code_of(std::span<const std::byte> raw, std::uint32_t magic = kMagic, const char* provider = "net") {
    const auto read = read_listen_handle(raw, magic, provider_mark(provider));
    return read ? Errc{} : read.error().code;
}

TEST(ListenHandle, round_trip) {
    ListenHandle handle = example();
    for (const std::size_t length : {std::size_t{1}, std::size_t{16}, EndpointName::kMaxBytes}) {
        handle.name = {};
        handle.name.length = static_cast<std::uint8_t>(length);
        for (std::size_t i = 0; i < length; ++i) handle.name.bytes[i] = std::byte{0xee};
        const Raw raw = written(handle);
        const auto read = read_listen_handle(raw, kMagic, handle.provider);
        ASSERT_TRUE(read.has_value()) << length;
        EXPECT_EQ(read->provider, handle.provider);
        EXPECT_EQ(read->port, handle.port);
        EXPECT_EQ(read->nonce, handle.nonce);
        EXPECT_TRUE(read->name == handle.name);
    }
}

TEST(ListenHandle, fills_its_bytes_and_leaves_those_behind_alone) {
    std::byte larger[kListenHandleBytes + 8];
    std::memset(larger, 0x5a, sizeof(larger));
    write_listen_handle(larger, kMagic, example());
    EXPECT_EQ(larger[kListenHandleBytes - 1], std::byte{0});
    for (std::size_t i = kListenHandleBytes; i < sizeof(larger); ++i) EXPECT_EQ(larger[i], std::byte{0x5a}) << i;
}

TEST(ListenHandle, every_spoiled_field_is_judged) {
    struct Row {
        const char* what;
        std::function<void(ListenHandle&)> spoil;
        Errc expected;
    };
    const Row rows[] = {
        {"provider", [](ListenHandle& h) { ++h.provider; }, Errc::invalid_usage},
        {"no port", [](ListenHandle& h) { h.port = 0; }, Errc::invalid_argument},
        {"no nonce", [](ListenHandle& h) { h.nonce = {}; }, Errc::invalid_argument},
        {"empty name", [](ListenHandle& h) { h.name.length = 0; }, Errc::invalid_argument},
        {"name too long", [](ListenHandle& h) { h.name.length = 33; }, Errc::invalid_argument},
        {"name of zeros", [](ListenHandle& h) { h.name.bytes = {}; }, Errc::invalid_argument},
        {"bytes behind the name", [](ListenHandle& h) { h.name.length = 10; }, Errc::invalid_argument},
        {"another port", [](ListenHandle& h) { ++h.port; }, Errc{}},
    };
    for (const Row& row : rows) {
        ListenHandle handle = example();
        row.spoil(handle);
        EXPECT_EQ(code_of(written(handle)), row.expected) << row.what;
    }
    EXPECT_EQ(code_of(written(example()), kMagic + 1), Errc::invalid_argument) << "another kind of handle";
    EXPECT_EQ(code_of(written(example()), kMagic, "shm"), Errc::invalid_usage);
}

TEST(ListenHandle, every_single_bit_is_judged) {
    const Raw good = written(example());
    for (std::size_t at = 0; at < good.size(); ++at)
        for (int bit = 0; bit < 8; ++bit) {
            Raw bad = good;
            bad[at] ^= static_cast<std::byte>(1 << bit);
            Errc expected{};  // port, nonce and name are the listening side's to judge
            if (at < 4 || at == 6 || at == 7 || (at == 5 && bit >= 4) || at >= 48) expected = Errc::invalid_argument;
            if (at == 4 || (at >= 8 && at < 12)) expected = Errc::invalid_usage;
            EXPECT_EQ(code_of(bad), expected) << "byte " << at << " bit " << bit;
        }
}

TEST(ListenHandle, of_another_version_is_a_wrong_use) {
    for (const int version : {0, 1, 3, 255}) {
        Raw raw = written(example());
        raw[4] = static_cast<std::byte>(version);
        EXPECT_EQ(code_of(raw), Errc::invalid_usage) << version;
    }
}

TEST(ListenHandle, shorter_than_its_fields_is_none) {
    const Raw raw = written(example());
    for (std::size_t length = 0; length < raw.size(); ++length)
        EXPECT_NE(code_of(std::span(raw).first(length)), Errc{}) << length;
}

TEST(ListenHandle, random_bytes_are_none) {
    std::mt19937_64 random(12345);
    for (int i = 0; i < 20000; ++i) {
        Raw raw;
        for (std::byte& b : raw) b = static_cast<std::byte>(random());
        if (i % 2 == 0) std::memcpy(raw.data(), written(example()).data(), 5);  // right magic and version
        EXPECT_NE(code_of(raw), Errc{}) << i;
    }
}

TEST(ListenHandle, provider_marks_differ) {
    EXPECT_EQ(provider_mark(""), 2166136261u);
    EXPECT_EQ(provider_mark("a"), 0xe40c292cu);  // published FNV-1a value
    EXPECT_NE(provider_mark("tcp"), provider_mark("tcp;ofi_rxm"));
}

}  // namespace
}  // namespace duofi::ofi
