// The table of sizes and its limits: V-4, C-10, T-9.
// Units: p2p/transport/sizes.
#include "p2p/transport/sizes.hpp"

#include <gtest/gtest.h>

#include "tests/unit/util/log_lines.hpp"

namespace duofi::p2p::test {
namespace {

constexpr std::size_t kMiB = 1 << 20;

BufferSizes sizes(std::size_t ll, std::size_t ll128, std::size_t simple) {
    return {{ll, ll128, simple}};
}

TEST(Sizes, defaults_give_the_table) {
    const BufferSizes gpu = sizes(NCCL_DEFAULT_LL_BUFFSIZE, NCCL_DEFAULT_LL128_BUFFSIZE, 4 * kMiB);
    EXPECT_EQ(send_mem_bytes(gpu, false), 0x200000U);
    EXPECT_EQ(send_mem_bytes(gpu, true), 0x600000U);
    EXPECT_EQ(recv_mem_bytes(gpu, false), 0xA00000U);
    EXPECT_EQ(recv_mem_bytes(gpu, true), 0x600000U);
    const BufferSizes cpu = sizes(NCCL_DEFAULT_LL_BUFFSIZE, NCCL_DEFAULT_LL128_BUFFSIZE, kMiB);
    EXPECT_EQ(send_mem_bytes(cpu, false), 0x200000U);
    EXPECT_EQ(send_mem_bytes(cpu, true), 0x200000U);
    EXPECT_EQ(recv_mem_bytes(cpu, false), 0x800000U);
    EXPECT_EQ(recv_mem_bytes(cpu, true), 0x600000U);
}

TEST(Sizes, rounding_at_its_boundaries) {
    EXPECT_EQ(round_to_ipc_unit(1), 0x200000U);
    EXPECT_EQ(round_to_ipc_unit(0x1fffff), 0x200000U);
    EXPECT_EQ(round_to_ipc_unit(0x200000), 0x200000U);
    EXPECT_EQ(round_to_ipc_unit(0x200001), 0x400000U);
    // A receiver whose header and buffers fill exactly 4 MiB, one unit less, one unit more.
    const std::size_t exact = 4 * kMiB - 4096 - 1024 - 1024;
    EXPECT_EQ(recv_mem_bytes(sizes(1024, 1024, exact - 1024), false), 4 * kMiB);
    EXPECT_EQ(recv_mem_bytes(sizes(1024, 1024, exact), false), 4 * kMiB);
    EXPECT_EQ(recv_mem_bytes(sizes(1024, 1024, exact + 1024), false), 6 * kMiB);
    // A sender counts the 4104 bytes of its struct.
    EXPECT_EQ(send_mem_bytes(sizes(1024, 1024, 2 * kMiB - 5120), true), 2 * kMiB);
    EXPECT_EQ(send_mem_bytes(sizes(1024, 1024, 2 * kMiB - 4096), true), 4 * kMiB);
}

TEST(Sizes, bad_sizes_are_refused) {
    duofi::test::LogLines lines;
    const std::size_t most = kMaxBufferSum - sizeof(ncclRecvMem);
    const std::size_t unit_below = most / 1024 * 1024;
    EXPECT_TRUE(check_buffer_sizes(sizes(1024, 1024, 1024)));
    EXPECT_TRUE(check_buffer_sizes(sizes(1024, 1024, unit_below - 2048)));
    EXPECT_EQ(lines.warnings(), 0U);
    const BufferSizes bad[] = {
        sizes(0, 1024, 1024),
        sizes(1024, 0, 1024),
        sizes(1024, 1024, 0),
        sizes(1025, 1024, 1024),
        sizes(1024, 1000, 1024),
        sizes(1024, 1024, unit_below - 1024),
        sizes(kMaxBufferSum, 1024, 1024),
        sizes(1024, std::size_t{1} << 32, 1024),
        sizes(std::size_t{1} << 63, std::size_t{1} << 63, 1024),
    };
    for (const BufferSizes& one : bad) {
        const Status checked = check_buffer_sizes(one);
        ASSERT_FALSE(checked) << one.bytes[0] << " " << one.bytes[1] << " " << one.bytes[2];
        EXPECT_EQ(checked.error().code, Errc::invalid_argument);
    }
    EXPECT_EQ(lines.warnings(), std::size(bad));
}

TEST(Sizes, nothing_wraps_near_two_gigabytes) {  // T-9
    const std::size_t most = (kMaxBufferSum - sizeof(ncclRecvMem)) / 1024 * 1024;
    const BufferSizes largest = sizes(1024, 1024, most - 2048);
    ASSERT_TRUE(check_buffer_sizes(largest));
    EXPECT_EQ(recv_mem_bytes(largest, false), 0x7fe00000U);
    EXPECT_GE(send_mem_bytes(largest, true), most - 2048);
}

TEST(Sizes, digests_tell_sizes_apart) {
    EXPECT_EQ(digest_of(sizes(1024, 2048, 4096)), digest_of(sizes(1024, 2048, 4096)));
    EXPECT_NE(digest_of(sizes(1024, 2048, 4096)), digest_of(sizes(2048, 1024, 4096)));
    EXPECT_NE(digest_of(sizes(1024, 2048, 4096)), digest_of(sizes(1024, 2048, 5120)));
}

}  // namespace
}  // namespace duofi::p2p::test
