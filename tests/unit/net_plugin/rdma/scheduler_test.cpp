// Stripes and the word beside a write (net contract 5.4, 5.5).
// Units: net_plugin/rdma/scheduler, net_plugin/rdma/immediate.
#include "net_plugin/rdma/scheduler.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "net_plugin/rdma/immediate.hpp"

namespace duofi::net {
namespace {

constexpr std::size_t kStripe = 131072;

TEST(Scheduler, counts_stripes_by_size_and_rails) {
    struct Case {
        std::size_t size, rails, count, bytes;
    };
    for (const Case& c : {Case{1, 1, 1, 128}, Case{100, 4, 1, 128}, Case{kStripe, 4, 1, kStripe},
                          Case{kStripe + 1, 4, 2, 65664}, Case{2 * kStripe, 4, 2, kStripe},
                          Case{2 * kStripe + 1, 4, 2, 131200}, Case{3 * kStripe + 1, 4, 4, 98432},
                          Case{1 << 20, 4, 4, 1 << 18}, Case{1 << 20, 2, 2, 1 << 19}, Case{1 << 20, 3, 3, 349568},
                          Case{2 * kStripe, 3, 1, 2 * kStripe}}) {
        Scheduler scheduler(kStripe, 0);
        const Stripes stripes = scheduler.plan(c.size, c.rails);
        EXPECT_EQ(stripes.count, c.count) << c.size << " bytes on " << c.rails;
        EXPECT_EQ(stripes.bytes, c.bytes) << c.size << " bytes on " << c.rails;
    }
}

TEST(Scheduler, covers_every_byte_once_in_lines_of_128) {
    for (const std::size_t smallest : {std::size_t{1}, std::size_t{128}, std::size_t{1000}})
        for (std::size_t rails = 1; rails <= 4; ++rails) {
            Scheduler scheduler(smallest, 0);
            for (std::size_t size = 1; size < 3000; ++size) {
                const Stripes s = scheduler.plan(size, rails);
                ASSERT_GE(s.count, 1u);
                ASSERT_LE(s.count, rails);
                ASSERT_EQ(s.bytes % 128, 0u);
                ASSERT_LT((s.count - 1) * s.bytes, size) << "an empty part";
                ASSERT_GE(s.count * s.bytes, size) << "bytes left over";
            }
        }
}

TEST(Scheduler, goes_around_the_rails_and_small_ones_on_their_own) {
    Scheduler scheduler(kStripe, 64);
    std::vector<std::size_t> firsts;
    for (const std::size_t size : {std::size_t{1000}, std::size_t{10}, 2 * kStripe, std::size_t{1000}, std::size_t{10},
                                   std::size_t{63}, std::size_t{64}})
        firsts.push_back(scheduler.plan(size, 4).first_rail);
    EXPECT_EQ(firsts, (std::vector<std::size_t>{0, 0, 1, 3, 1, 2, 0}));
}

TEST(Immediate, is_read_back_and_leaves_out_the_generation) {
    for (const std::uint32_t port : {0x00010000u, 0x1234ffffu, 0xffff0001u})
        for (const std::uint32_t sequence : {0u, 1u, 16383u})
            for (std::uint32_t parts = 1; parts <= 4; ++parts) {
                const Immediate read = Immediate::from(Immediate{port, sequence, parts}.word());
                EXPECT_EQ(read.port, port & 0xffff);
                EXPECT_EQ(read.sequence, sequence);
                EXPECT_EQ(read.parts, parts);
            }
    EXPECT_EQ((Immediate{1, 16384, 1}.word()), (Immediate{1, 0, 1}.word())) << "the sequence goes around";
}

}  // namespace
}  // namespace duofi::net
