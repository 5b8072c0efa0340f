// Units: common/local/ipc_handle
#include "common/local/ipc_handle.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string_view>

#include "common/local/crc32c.hpp"
#include "common/util/messages/local.hpp"

namespace duofi::local {
namespace {

IpcHandle example() {
    IpcHandle handle;
    handle.kind = HandleKind::memfd_service;
    handle.flags = kHandleSealed;
    handle.pid = 0x01020304;
    handle.fd = 17;
    handle.start_time = 0x1112131415161718;
    handle.pid_namespace = 0x21222324;
    handle.generation = 0x31323334;
    handle.bytes = 4 * kSegmentUnit;
    handle.offset = 4096;
    handle.nonce = 0x4142434445464748;
    handle.inode = 0x51525354;
    return handle;
}

void seal(HandleBytes& bytes) {
    const std::uint32_t sum = crc32c(std::span<const std::byte>(bytes).first(60));
    for (int i = 0; i < 4; ++i) bytes[static_cast<std::size_t>(60 + i)] = static_cast<std::byte>(sum >> (8 * i) & 0xff);
}

const char* reason(std::span<const std::byte> bytes) {
    const auto decoded = decode(bytes);
    if (decoded) return "accepted";
    EXPECT_EQ(decoded.error().code, Errc::invalid_argument);
    return decoded.error().place;
}

TEST(Crc32c, KnownValues) {
    EXPECT_EQ(crc32c({}), 0u);
    EXPECT_EQ(crc32c(std::as_bytes(std::span("123456789", 9))), 0xe3069283u);
}

TEST(IpcHandle, ComesBackAsItWas) {
    const HandleBytes bytes = encode(example());
    const auto decoded = decode(bytes);
    ASSERT_TRUE(decoded);
    EXPECT_EQ(*decoded, example());
    EXPECT_EQ(encode(*decoded), bytes);
}

// The layout of p2p contract 2.4, byte for byte.
TEST(IpcHandle, HasTheBytesOfTheContract) {
    const HandleBytes bytes = encode(example());
    constexpr std::array<unsigned char, 60> kGolden{
        0x64, 0x6f, 0x66, 0x49, 1,    2,    2,    0,    0x04, 0x03, 0x02, 0x01, 17,   0,    0,
        0,    0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, 0x24, 0x23, 0x22, 0x21, 0x34, 0x33,
        0x32, 0x31, 0,    0,    0x80, 0,    0,    0,    0,    0,    0,    0x10, 0,    0,    0,
        0,    0,    0,    0x48, 0x47, 0x46, 0x45, 0x44, 0x43, 0x42, 0x41, 0x54, 0x53, 0x52, 0x51};
    for (std::size_t i = 0; i < kGolden.size(); ++i) EXPECT_EQ(bytes[i], static_cast<std::byte>(kGolden[i])) << i;
}

// V-27: no single flipped bit passes.
TEST(IpcHandle, RefusesEveryFlippedBit) {
    const HandleBytes good = encode(example());
    for (std::size_t bit = 0; bit < 8 * kHandleBytes; ++bit) {
        HandleBytes bytes = good;
        bytes[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
        EXPECT_STREQ(reason(bytes), messages::kHandleChecksum) << bit;
    }
}

// V-27
TEST(IpcHandle, RefusesEveryOtherLength) {
    const HandleBytes good = encode(example());
    std::array<std::byte, 2 * kHandleBytes> longer{};
    std::memcpy(longer.data(), good.data(), good.size());
    for (std::size_t length = 0; length <= longer.size(); ++length) {
        const char* wanted = length == kHandleBytes ? "accepted" : messages::kHandleSize;
        EXPECT_STREQ(reason(std::span<const std::byte>(longer).first(length)), wanted) << length;
    }
}

struct Forgery {
    const char* what;
    std::function<void(IpcHandle&)> change;
    const char* reason;
};

// V-27: right checksum, wrong content.
TEST(IpcHandle, RefusesImpossibleFields) {
    const Forgery forgeries[] = {
        {"kind 0", [](IpcHandle& h) { h.kind = HandleKind{0}; }, messages::kHandleKind},
        {"kind 4", [](IpcHandle& h) { h.kind = HandleKind{4}; }, messages::kHandleKind},
        {"unsealed", [](IpcHandle& h) { h.flags = 0; }, messages::kHandleKind},
        {"read-only", [](IpcHandle& h) { h.flags |= kHandleReadOnly; }, messages::kHandleKind},
        {"unknown flag", [](IpcHandle& h) { h.flags |= 0x8000; }, messages::kHandleKind},
        {"size 0", [](IpcHandle& h) { h.bytes = 0; }, messages::kHandleBounds},
        {"odd size", [](IpcHandle& h) { h.bytes += 4096; }, messages::kHandleBounds},
        {"giant size", [](IpcHandle& h) { h.bytes = ~(kSegmentUnit - 1); }, messages::kHandleBounds},
        {"offset at the end", [](IpcHandle& h) { h.offset = h.bytes; }, messages::kHandleBounds},
        {"offset far away", [](IpcHandle& h) { h.offset = ~std::uint64_t{0}; }, messages::kHandleBounds},
        {"pid that no process has", [](IpcHandle& h) { h.pid = 0x80000000; }, messages::kHandleBounds},
        {"pid 0", [](IpcHandle& h) { h.pid = 0; }, messages::kHandleBounds},
        {"no descriptor", [](IpcHandle& h) { h.fd = -1; }, messages::kHandleBounds},
    };
    for (const Forgery& forgery : forgeries) {
        IpcHandle handle = example();
        forgery.change(handle);
        EXPECT_STREQ(reason(encode(handle)), forgery.reason) << forgery.what;
    }
}

TEST(IpcHandle, RefusesOtherMagicAndVersion) {
    HandleBytes bytes = encode(example());
    bytes[0] = std::byte{0};
    seal(bytes);
    EXPECT_STREQ(reason(bytes), messages::kHandleMagic);
    bytes = encode(example());
    bytes[4] = std::byte{2};
    seal(bytes);
    EXPECT_STREQ(reason(bytes), messages::kHandleVersion);
    EXPECT_STREQ(reason(HandleBytes{}), messages::kHandleChecksum);
}

TEST(IpcHandle, RawPointersNeedOnlyTheFrame) {
    IpcHandle handle;
    handle.kind = HandleKind::raw_pointer;
    handle.offset = 0x7f0000001000;
    const auto decoded = decode(encode(handle));
    ASSERT_TRUE(decoded);
    EXPECT_EQ(decoded->offset, handle.offset);
}

}  // namespace
}  // namespace duofi::local
