#include "common/util/byte_io.hpp"

#include <gtest/gtest.h>

#include <array>

namespace duofi {
namespace {

TEST(ByteIo, LittleEndianLayout) {
    std::array<std::byte, 16> buffer{};
    ByteWriter out(buffer);
    out.u16(0x0102);
    out.u32(0x03040506);
    out.i32(-2);
    EXPECT_TRUE(out.ok());
    EXPECT_EQ(out.position(), 10u);
    const std::array<unsigned, 10> wanted{2, 1, 6, 5, 4, 3, 0xfe, 0xff, 0xff, 0xff};
    for (std::size_t i = 0; i < wanted.size(); ++i)
        EXPECT_EQ(std::to_integer<unsigned>(buffer[i]), wanted[i]) << i;
}

TEST(ByteIo, RoundTripOfAllKinds) {
    std::array<std::byte, 64> buffer{};
    const std::array<std::byte, 3> blob{std::byte{9}, std::byte{8}, std::byte{7}};
    ByteWriter out(buffer);
    out.u8(200);
    out.u64(0x1122334455667788);
    out.i64(-5);
    out.zeros(2);
    out.bytes(blob);
    ByteReader in(out.written());
    EXPECT_EQ(in.u8(), 200);
    EXPECT_EQ(in.u64(), 0x1122334455667788u);
    EXPECT_EQ(in.i64(), -5);
    EXPECT_EQ(in.u16(), 0);
    EXPECT_TRUE(std::equal(blob.begin(), blob.end(), in.view(3).begin()));
    EXPECT_TRUE(in.ok());
    EXPECT_EQ(in.remaining(), 0u);
}

TEST(ByteIo, WriterStopsAtTheEnd) {
    std::array<std::byte, 6> buffer;
    buffer.fill(std::byte{0xaa});
    ByteWriter out(std::span<std::byte>(buffer).first(5));
    out.u32(0);
    out.u16(0);
    EXPECT_FALSE(out.ok());
    out.u8(0);  // would fit, but something before it is missing
    EXPECT_EQ(out.position(), 4u);
    EXPECT_EQ(buffer[4], std::byte{0xaa});
    EXPECT_EQ(buffer[5], std::byte{0xaa});
}

TEST(ByteIo, ReaderYieldsZerosPastTheEnd) {
    std::array<std::byte, 6> buffer;
    buffer.fill(std::byte{0xff});
    ByteReader in(std::span<const std::byte>(buffer).first(5));
    EXPECT_EQ(in.u32(), 0xffffffffu);
    EXPECT_EQ(in.u16(), 0);
    EXPECT_FALSE(in.ok());
    EXPECT_EQ(in.u8(), 0);
    std::array<std::byte, 1> out{std::byte{1}};
    in.bytes(out);
    EXPECT_EQ(out[0], std::byte{0});
    EXPECT_TRUE(in.view(1).empty());
    EXPECT_EQ(in.position(), 4u);
}

TEST(ByteIo, HugeCountsDoNotWrap) {
    const volatile std::size_t huge = ~std::size_t{0};  // volatile: the compiler must not know
    std::array<std::byte, 8> buffer{};
    ByteReader in(buffer);
    (void)in.u8();
    in.skip(huge);
    EXPECT_FALSE(in.ok());
    ByteWriter out(buffer);
    out.u8(1);
    out.zeros(huge);
    EXPECT_FALSE(out.ok());
    EXPECT_EQ(out.position(), 1u);
}

TEST(ByteIo, EmptyBuffer) {
    ByteReader in({});
    in.bytes({});
    EXPECT_TRUE(in.ok());
    EXPECT_EQ(in.u8(), 0);
    EXPECT_FALSE(in.ok());
    ByteWriter out({});
    out.bytes({});
    EXPECT_TRUE(out.ok());
}

}  // namespace
}  // namespace duofi
