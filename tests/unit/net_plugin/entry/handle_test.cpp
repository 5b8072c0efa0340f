// The 128 bytes of a handle (docs/net-protocol.md).
#include "net_plugin/handle.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace duofi::net {
namespace {

Handle example() {
    Handle handle;
    handle.provider = ofi::provider_mark("net");
    handle.port = 0x00010203;
    for (std::size_t i = 0; i < handle.nonce.size(); ++i)
        handle.nonce[i] = static_cast<std::byte>(0xa0 + i);
    handle.name.length = 16;
    for (std::size_t i = 0; i < 16; ++i) handle.name.bytes[i] = static_cast<std::byte>(i + 1);
    return handle;
}

HandleBytes written(const Handle& handle) {
    HandleBytes bytes;
    std::memset(&bytes, 0x5a, sizeof(bytes));
    write_handle(bytes, handle);
    return bytes;
}

Errc code_of(const HandleBytes& bytes) {
    const auto read = read_handle(bytes, ofi::provider_mark("net"));
    return read ? Errc{} : read.error().code;
}

TEST(Handle, golden_bytes) {
    // magic, version 2, name length, reserved; FNV-1a of "net"; port; nonce; name; nothing behind
    static constexpr unsigned char kGolden[ofi::kListenHandleBytes] = {
        0x44, 0x55, 0x4f, 0x46, 0x02, 0x10, 0x00, 0x00, 0x58, 0x91, 0x99, 0x25,
        0x03, 0x02, 0x01, 0x00, 0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7,
        0xa8, 0xa9, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf, 0x01, 0x02, 0x03, 0x04,
        0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10};
    static constexpr unsigned char kZeros[kHandleBytes - ofi::kListenHandleBytes] = {};
    const HandleBytes bytes = written(example());
    EXPECT_EQ(std::memcmp(bytes.bytes, kGolden, sizeof(kGolden)), 0);
    EXPECT_EQ(std::memcmp(bytes.bytes + ofi::kListenHandleBytes, kZeros, sizeof(kZeros)), 0)
        << "the scratch part arrives zero (net contract 3.2)";
}

TEST(Handle, fits_the_64_bytes_of_old_tables_with_the_longest_name) {
    Handle handle = example();
    handle.name.length = ofi::EndpointName::kMaxBytes;
    handle.name.bytes.fill(std::byte{0xee});
    HandleBytes bytes = written(handle);
    std::memset(bytes.bytes + ofi::kListenHandleBytes, 0,
                kHandleBytes - ofi::kListenHandleBytes);  // v4 copies 64
    const auto read = read_handle(bytes, ofi::provider_mark("net"));
    ASSERT_TRUE(read.has_value());
    EXPECT_TRUE(read->name == handle.name);
    EXPECT_EQ(read->nonce, handle.nonce);
    EXPECT_EQ(read->port, handle.port);
}

TEST(Handle, zeros_and_ones_are_no_handle) {
    HandleBytes bytes;
    std::memset(&bytes, 0, sizeof(bytes));
    EXPECT_EQ(code_of(bytes), Errc::invalid_argument);
    std::memset(&bytes, 0xff, sizeof(bytes));
    EXPECT_EQ(code_of(bytes), Errc::invalid_argument);
}

// What each byte of the travelling part is, and what its damage does.
TEST(Handle, each_single_byte_garbled) {
    const HandleBytes good = written(example());
    for (std::size_t at = 0; at < kHandleBytes; ++at) {
        for (int bit = 0; bit < 8; ++bit) {
            HandleBytes bad = good;
            bad.bytes[at] ^= static_cast<std::byte>(1 << bit);
            const Errc code = code_of(bad);
            const std::string where = "byte " + std::to_string(at) + " bit " + std::to_string(bit);
            Errc expected{};  // port, nonce and name are the listening side's to judge
            if (at < 4 || at == 6 || at == 7) expected = Errc::invalid_argument;
            if (at == 4 || (at >= 8 && at < 12)) expected = Errc::invalid_usage;
            // A shorter name leaves bytes behind it; a longer one than 32 does not exist.
            if (at == 5 && bit >= 4) expected = Errc::invalid_argument;
            if (at >= 48 && at < 64) expected = Errc::invalid_argument;  // behind the name
            EXPECT_EQ(code, expected) << where;
        }
    }
}

TEST(Handle, port_zero_and_bad_name_lengths) {
    Handle handle = example();
    handle.port = 0;
    EXPECT_EQ(code_of(written(handle)), Errc::invalid_argument);
    handle = example();
    for (const int length : {0, 33, 64, 255}) {
        HandleBytes bytes = written(handle);
        bytes.bytes[5] = static_cast<std::byte>(length);
        EXPECT_EQ(code_of(bytes), Errc::invalid_argument) << length;
    }
}

TEST(Handle, cut_short_anywhere_is_no_handle) {
    for (std::size_t kept = 0; kept < 48; ++kept) {
        HandleBytes bytes = written(example());
        std::memset(bytes.bytes + kept, 0, sizeof(bytes) - kept);
        const Errc code = code_of(bytes);
        // A name that lost only its end cannot be told from another name; the provider judges it.
        if (kept > 32) continue;
        EXPECT_TRUE(code == Errc::invalid_argument || (kept == 4 && code == Errc::invalid_usage))
            << kept;
    }
}

TEST(Handle, other_version_and_other_provider) {
    HandleBytes bytes = written(example());
    for (const int version : {0, 1, 3, 255}) {
        bytes.bytes[4] = static_cast<std::byte>(version);
        EXPECT_EQ(code_of(bytes), Errc::invalid_usage);
    }
    const auto read = read_handle(written(example()), ofi::provider_mark("shm"));
    ASSERT_FALSE(read.has_value());
    EXPECT_EQ(read.error().code, Errc::invalid_usage);
}

TEST(Handle, provider_marks_differ) {
    EXPECT_EQ(ofi::provider_mark(""), 2166136261u);
    EXPECT_EQ(ofi::provider_mark("a"), 0xe40c292cu);  // published FNV-1a value
    const char* names[] = {"",    "net",     "tcp", "tcp;ofi_rxm",
                           "shm", "sockets", "efa", "verbs;ofi_rxm"};
    for (const char* a : names)
        for (const char* b : names)
            EXPECT_EQ(ofi::provider_mark(a) == ofi::provider_mark(b), std::strcmp(a, b) == 0);
}

TEST(Handle, random_bytes_never_pass_the_checks_by_accident) {
    std::mt19937_64 random(12345);
    for (int i = 0; i < 20000; ++i) {
        HandleBytes bytes;
        for (std::byte& b : bytes.bytes) b = static_cast<std::byte>(random());
        if (i % 2 == 0)
            std::memcpy(bytes.bytes, written(example()).bytes, 5);  // right magic and version
        const auto read = read_handle(bytes, ofi::provider_mark("net"));
        EXPECT_FALSE(read.has_value());
        EXPECT_FALSE(read_connect_state(bytes).has_value());
    }
}

TEST(ConnectState, round_trip_leaves_the_travelling_part_alone) {
    HandleBytes bytes = written(example());
    EXPECT_FALSE(read_connect_state(bytes).has_value());
    int object = 0;
    write_connect_state(bytes, {&object, 42});
    const auto state = read_connect_state(bytes);
    ASSERT_TRUE(state.has_value());
    EXPECT_EQ(state->attempt, &object);
    EXPECT_EQ(state->generation, 42u);
    EXPECT_EQ(code_of(bytes), Errc{});
    EXPECT_EQ(std::memcmp(bytes.bytes, written(example()).bytes, ofi::kListenHandleBytes), 0);
    clear_connect_state(bytes);
    EXPECT_FALSE(read_connect_state(bytes).has_value());
    EXPECT_EQ(std::memcmp(&bytes, written(example()).bytes, sizeof(bytes)), 0);
}

TEST(ConnectState, a_null_attempt_is_none) {
    HandleBytes bytes = written(example());
    write_connect_state(bytes, {nullptr, 42});
    EXPECT_FALSE(read_connect_state(bytes).has_value());
}

}  // namespace
}  // namespace duofi::net
