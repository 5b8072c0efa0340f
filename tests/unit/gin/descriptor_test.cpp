// The 128-byte descriptor (rma contract 4.2).
#include "common/gin/descriptor.hpp"

#include <gtest/gtest.h>

#include <random>

namespace duofi::gin {
namespace {

constexpr std::uint64_t kOnes63 = ~std::uint64_t{0} >> 1;

Descriptor round_trip(const Descriptor& descriptor) {
    return unpack(pack(descriptor));
}

TEST(Descriptor, every_word_carries_the_flag) {
    for (const std::uint64_t word : pack({}).words) EXPECT_EQ(word & kWordFlag, 1U);
    const PackedDescriptor packed = pack({});
    for (std::size_t i = 8; i < kDescriptorWords; ++i) EXPECT_EQ(packed.words[i], kWordFlag);
}

TEST(Descriptor, words_have_their_fields_at_their_bits) {
    Descriptor d;
    d.op = op_put | op_counter | op_signal_add;
    d.bytes = 0x123456789ABCDE;
    d.src_offset = 0x1111;
    d.src_handle = 0x7FFF12345678;
    d.dst_offset = kOnes63;
    d.dst_handle = 0x2222;
    d.counter = 0x7FFFFF;
    d.signal = 0xABCDEF;
    d.signal_value = 0x1122334455667788;
    d.strong = true;
    const auto w = pack(d).words;
    EXPECT_EQ(w[0], (d.bytes << 7) | (2U << 1) | 1U);
    EXPECT_EQ(w[1], (0x1111ULL << 1) | 1U);
    EXPECT_EQ(w[2], (0x7FFF12345678ULL << 1) | 1U);
    EXPECT_EQ(w[3], ~std::uint64_t{0});
    EXPECT_EQ(w[4], (0x2222ULL << 1) | 1U);
    EXPECT_EQ(w[5], (0x7788ULL << 48) | (0xABCDEFULL << 24) | (0x7FFFFFULL << 1) | 1U);
    EXPECT_EQ(w[6], (0x11223344ULL << 24) | (0x5566ULL << 8) | 2U | 1U);
    EXPECT_EQ(w[7], (static_cast<std::uint64_t>(d.op) << 8) | 1U);
}

TEST(Descriptor, inline_value_lies_in_words_one_and_two) {
    Descriptor d;
    d.op = op_put | op_inline;
    d.inline_value = 0x1122334455667788;
    const auto w = pack(d).words;
    EXPECT_EQ(w[1], (0x3344ULL << 40) | (0x55667788ULL << 8) | 1U);
    EXPECT_EQ(w[2], (0x1122ULL << 8) | 1U);
    EXPECT_EQ(round_trip(d), d);
}

TEST(Descriptor, each_field_survives_alone_at_its_full_width) {
    const auto check = [](auto change) {
        Descriptor d;
        d.op = op_put;
        change(d);
        EXPECT_EQ(round_trip(d), d);
    };
    check([](Descriptor& d) { d.version = 15; });
    check([](Descriptor& d) { d.bytes = (std::uint64_t{1} << 57) - 1; });
    check([](Descriptor& d) { d.op = 0xFF00 | op_put; });
    check([](Descriptor& d) { d.src_offset = kOnes63; });
    check([](Descriptor& d) { d.src_handle = kOnes63; });
    check([](Descriptor& d) { d.dst_offset = kOnes63; });
    check([](Descriptor& d) { d.dst_handle = kOnes63; });
    check([](Descriptor& d) { d.counter = 0x7FFFFF; });
    check([](Descriptor& d) { d.signal = 0xFFFFFF; });
    check([](Descriptor& d) { d.signal_value = ~std::uint64_t{0}; });
    check([](Descriptor& d) { d.strong = true; });
}

TEST(Descriptor, random_fields_survive_together) {
    std::mt19937_64 random(4711);
    for (int i = 0; i < 1000; ++i) {
        Descriptor d;
        d.bytes = random() >> 7;
        d.op = static_cast<std::uint16_t>(random());
        if (d.has(op_inline)) {
            d.inline_value = random();
        } else {
            d.src_offset = random() >> 1;
            d.src_handle = random() >> 1;
        }
        d.dst_offset = random() >> 1;
        d.dst_handle = random() >> 1;
        d.counter = static_cast<std::uint32_t>(random()) & 0x7FFFFF;
        d.signal = static_cast<std::uint32_t>(random()) & 0xFFFFFF;
        d.signal_value = random();
        d.strong = (random() & 1) != 0;
        ASSERT_EQ(round_trip(d), d) << "round " << i;
    }
}

TEST(Descriptor, bits_beyond_a_field_stay_out_of_its_neighbours) {
    Descriptor wide, narrow;
    wide.op = narrow.op = op_put;
    wide.counter = 0xFFFFFFFF;
    narrow.counter = 0x7FFFFF;
    wide.signal = 0xFF000001;
    narrow.signal = 1;
    EXPECT_EQ(pack(wide), pack(narrow));
}

TEST(Descriptor, signals_of_older_versions_are_strong) {
    Descriptor d;
    d.op = op_put | op_signal_inc;
    d.version = 1;
    EXPECT_TRUE(round_trip(d).strong);
    d.version = kDescriptorVersion;
    EXPECT_FALSE(round_trip(d).strong);
}

TEST(Descriptor, a_handle_is_a_pointer_and_back) {
    int object = 0;
    EXPECT_EQ(handle_of(handle_bits(&object)), &object);
}

}  // namespace
}  // namespace duofi::gin
