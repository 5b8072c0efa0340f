// Units: common/local/copy
#include "common/local/copy.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace duofi::local {
namespace {

constexpr std::byte kGuard{0xa5};

std::vector<std::byte> pattern(std::size_t bytes) {
    std::vector<std::byte> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>((i * 131 + i / 251 + 7) & 0xff);
    return data;
}

using Copy = void (*)(void*, const void*, std::size_t) noexcept;

// Every byte arrives and no other byte changes.
void check(Copy copy, std::size_t bytes, std::size_t to_shift, std::size_t from_shift) {
    constexpr std::size_t kRoom = 128;
    const std::vector<std::byte> source = pattern(bytes + from_shift);
    std::vector<std::byte> target(bytes + to_shift + 2 * kRoom, kGuard);
    copy(target.data() + kRoom + to_shift, source.data() + from_shift, bytes);
    for (std::size_t i = 0; i < target.size(); ++i) {
        const bool inside = i >= kRoom + to_shift && i < kRoom + to_shift + bytes;
        const std::byte wanted = inside ? source[from_shift + i - kRoom - to_shift] : kGuard;
        ASSERT_EQ(target[i], wanted) << "size " << bytes << " shifts " << to_shift << " " << from_shift << " at " << i;
    }
}

class CopyRoutines : public testing::TestWithParam<Copy> {};

TEST_P(CopyRoutines, MovesEveryByteAndNoOther) {
    for (const std::size_t bytes : {0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64})
        for (const std::size_t shift : {0, 1, 7, 13}) check(GetParam(), bytes, shift, 3 * shift % 16);
}

INSTANTIATE_TEST_SUITE_P(All, CopyRoutines, testing::Values(&copy_small, &copy_cached, &copy_handed_over, &copy_streaming));

class LargeCopies : public testing::TestWithParam<Copy> {};

TEST_P(LargeCopies, MovesEveryByteAndNoOther) {
    for (const std::size_t bytes : {65, 127, 128, 129, 191, 192, 193, 1000, 4095, 4096, 4097, 65536 + 77})
        for (const std::size_t shift : {0, 1, 8, 15}) check(GetParam(), bytes, shift, (shift + 5) % 16);
}

INSTANTIATE_TEST_SUITE_P(All, LargeCopies, testing::Values(&copy_cached, &copy_handed_over, &copy_streaming));

TEST(Copy, SmallOnesMayOverlap) {
    for (std::size_t bytes = 0; bytes <= kSmallCopy; ++bytes) {
        std::vector<std::byte> memory = pattern(2 * kSmallCopy);
        const std::vector<std::byte> before = memory;
        copy_small(memory.data() + 3, memory.data(), bytes);
        for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(memory[3 + i], before[i]) << bytes;
    }
}

TEST(Copy, EveryClassOfMessagesArrives) {
    for (const std::size_t message : {std::size_t{64}, std::size_t{4096}, std::size_t{1} << 20}) {
        const std::vector<std::byte> source = pattern(message);
        std::vector<std::byte> target(message);
        copy(target.data(), source.data(), message, message, 4096);
        EXPECT_EQ(target, source);
    }
}

class CacheTree : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = testing::TempDir() + "cpu_XXXXXX";
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        root_ = name;
    }
    void TearDown() override { std::filesystem::remove_all(root_); }
    void put(int index, const char* level, const char* type, const char* size, const char* cpus) {
        const auto folder = root_ / "cpu0/cache" / ("index" + std::to_string(index));
        std::filesystem::create_directories(folder);
        std::ofstream(folder / "level") << level << '\n';
        std::ofstream(folder / "type") << type << '\n';
        std::ofstream(folder / "size") << size << '\n';
        std::ofstream(folder / "shared_cpu_list") << cpus << '\n';
    }
    std::filesystem::path root_;
};

TEST_F(CacheTree, ThresholdIsHalfOfTheShareOfTheLastLevel) {
    put(0, "1", "Data", "32K", "0");
    put(1, "1", "Instruction", "32K", "0");
    put(2, "2", "Unified", "512K", "0,64");
    put(3, "3", "Unified", "32M", "0-7,64-71");
    EXPECT_EQ(find_streaming_threshold(root_.c_str()), (std::size_t{32} << 20) / 16 / 2);
}

TEST_F(CacheTree, WithoutUsableFilesItIsAFixedSize) {
    EXPECT_EQ(find_streaming_threshold(root_.c_str()), std::size_t{1} << 20);
    put(0, "3", "Unified", "huge", "0-1");
    put(1, "3", "Unified", "32M", "5-2");
    EXPECT_EQ(find_streaming_threshold(root_.c_str()), std::size_t{1} << 20);
}

TEST(Copy, ThisMachineHasAThreshold) { EXPECT_GE(streaming_threshold(), std::size_t{16} << 10); }

}  // namespace
}  // namespace duofi::local
