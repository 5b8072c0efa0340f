// Sizes that both ends compute by themselves (C-40; p2p contract 1.1, 4.2).
// Units: p2p/kernels/protocol, p2p/kernels/shared_memory_access
#include "p2p/kernels/protocol.hpp"

#include <gtest/gtest.h>

namespace duofi::test {
namespace {

using p2p::Protocol;

constexpr p2p::BufferSizes kDefaults{
    {NCCL_DEFAULT_LL_BUFFSIZE, NCCL_DEFAULT_LL128_BUFFSIZE, NCCL_DEFAULT_SIMPLE_BUFFSIZE}};

TEST(Protocol, SlotGeometryOfTheDefaults) {
    EXPECT_EQ(kDefaults.slot(Protocol::ll), 65536U);
    EXPECT_EQ(kDefaults.payload(Protocol::ll), 32768U);
    EXPECT_EQ(kDefaults.slot(Protocol::ll128), 614400U);
    EXPECT_EQ(kDefaults.payload(Protocol::ll128), 576000U);
    EXPECT_EQ(kDefaults.payload(Protocol::simple), 524288U);
    EXPECT_EQ(p2p::transfer_chunk(8 << 20, kDefaults, Protocol::simple), 131072U);
    EXPECT_EQ(p2p::transfer_chunk(65536, kDefaults, Protocol::simple), 8192U);
    EXPECT_EQ(p2p::transfer_chunk(8, kDefaults, Protocol::simple), 4096U);
    EXPECT_EQ(p2p::transfer_chunk(8 << 20, kDefaults, Protocol::ll), 32768U);
}

TEST(Protocol, SlicesOfAChunk) {
    const std::size_t slot = 524288 / 4;
    EXPECT_EQ(p2p::slice_elements(4 * slot, slot, p2p::kReductionShape), 2 * slot);
    EXPECT_EQ(p2p::slice_elements(1, slot, p2p::kReductionShape), slot * 2 / 32);
    EXPECT_EQ(p2p::slice_elements(slot, slot, p2p::kSingleStep), slot);
    // Two slices always cover the chunk, and none is larger than its slots.
    for (std::size_t count = 0; count <= 4 * slot; count += 977) {
        const std::size_t slice = p2p::slice_elements(count, slot, p2p::kReductionShape);
        EXPECT_GE(2 * slice, count);
        EXPECT_LE(std::min(slice, count), 2 * slot);
    }
}

TEST(Protocol, DataStayInsideTheirRoom) {
    constexpr std::size_t kRoom = 131072;
    for (const std::size_t bytes :
         {0UL, 8UL, 4095UL, 4096UL, 5000UL, 32768UL, 65535UL, 65536UL, 65537UL, 131072UL}) {
        std::size_t highest = 0;
        for (std::uint64_t step = 0; step < 4000; ++step) {
            const std::size_t place = p2p::place_in_room(step, bytes, kRoom);
            ASSERT_LE(place + bytes, kRoom) << bytes << " at step " << step;
            ASSERT_EQ(place % 128, 0U);
            highest = std::max(highest, place);
        }
        const bool moves = bytes >= 4096 && 2 * bytes <= kRoom;
        EXPECT_EQ(highest > 0, moves) << bytes;
        if (bytes == 32768) {
            EXPECT_EQ(highest, 3 * 32768U) << "all of the room is used in turn";
        }
    }
}

TEST(Protocol, ChoiceBySizeAndByPermission) {
    EXPECT_EQ(p2p::choose_protocol(8), Protocol::ll);
    EXPECT_EQ(p2p::choose_protocol(200), Protocol::ll128);
    EXPECT_EQ(p2p::choose_protocol(1 << 20), Protocol::simple);
    EXPECT_EQ(p2p::choose_protocol(8, p2p::bit(Protocol::simple)), Protocol::simple);
    EXPECT_EQ(p2p::choose_protocol(1 << 20, p2p::bit(Protocol::ll)), Protocol::ll);
    EXPECT_EQ(p2p::choose_protocol(8, p2p::bit(Protocol::ll128) | p2p::bit(Protocol::simple)),
              Protocol::ll128);
    EXPECT_EQ(p2p::choose_protocol(1 << 20, p2p::bit(Protocol::ll) | p2p::bit(Protocol::ll128)),
              Protocol::ll128);
}

}  // namespace
}  // namespace duofi::test
