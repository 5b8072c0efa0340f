// Lines of LL and LL128: flags, odd ends, the wrap of flags (V-22, C-42).
#include "p2p/kernels/ll.hpp"

#include <gtest/gtest.h>

#include <random>

#include "p2p/kernels/ll128.hpp"
#include "p2p/kernels/transfer.hpp"
#include "tests/unit/p2p/kernels/wired.hpp"

namespace duofi::test {
namespace {

using Memory = p2p::HardwareMemory;
using p2p::KernelResult;
using p2p::Protocol;

/// The wrap comes after 256 steps instead of 2^32.
constexpr p2p::LlRule kShortRule{0xff, 0x078};

TEST(Ll, DataAndFlagShareEachWord) {
    std::uint64_t lines[4] = {};
    const std::uint8_t data[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    p2p::ll_write<Memory>(lines, data, sizeof data, 0x11223344);
    EXPECT_EQ(lines[0], 0x1122334404030201U);
    EXPECT_EQ(lines[1], 0x1122334408070605U);
    EXPECT_EQ(lines[2], 0x1122334400000009U);
    EXPECT_EQ(lines[3], 0x1122334400000000U);
}

TEST(Ll, ReadsExactlyTheBytesAskedFor) {
    for (std::size_t bytes = 0; bytes < 40; ++bytes) {
        std::uint64_t lines[12] = {};
        GuardedBuffer out(bytes, 3), in(bytes, 5);
        out.fill(bytes);
        p2p::ll_write<Memory>(lines, out.data(), bytes, 7);
        std::uint32_t abort = 0;
        const p2p::KernelContext context = patient_context(&abort);
        p2p::Waiter waiter(context);
        EXPECT_TRUE(p2p::ll_arrived<Memory>(lines, 7));
        EXPECT_FALSE(p2p::ll_arrived<Memory>(lines, 8));
        EXPECT_EQ(p2p::ll_read<Memory>(lines, in.data(), bytes, 7, waiter), KernelResult::ok);
        EXPECT_TRUE(in.holds(bytes) && in.guards_intact()) << bytes;
        for (std::size_t word = 2 * p2p::ll_lines(bytes); word < 12; ++word)
            EXPECT_EQ(lines[word], 0U);
    }
}

TEST(Ll128, ReadsExactlyTheBytesAskedFor) {
    for (const std::size_t bytes : {0UL, 1UL, 8UL, 119UL, 120UL, 121UL, 240UL, 250UL}) {
        alignas(128) std::uint64_t lines[64] = {};
        GuardedBuffer out(bytes, 3), in(bytes, 5);
        out.fill(bytes);
        p2p::ll128_write<Memory>(lines, out.data(), bytes, 7);
        std::uint32_t abort = 0;
        const p2p::KernelContext context = patient_context(&abort);
        p2p::Waiter waiter(context);
        EXPECT_TRUE(p2p::ll128_arrived<Memory>(lines, 7));
        EXPECT_EQ(p2p::ll128_read<Memory>(lines, in.data(), bytes, 7, waiter), KernelResult::ok);
        EXPECT_TRUE(in.holds(bytes) && in.guards_intact()) << bytes;
        for (std::size_t word = p2p::ll128_lines(bytes) * 16; word < 64; ++word)
            EXPECT_EQ(lines[word], 0U);
    }
}

TEST(LlRule, CleansEverySlotOncePerPeriod_C42) {
    const p2p::LlRule rule;
    EXPECT_EQ(rule.next_clean(0), 0x7ffffff8U);
    EXPECT_EQ(rule.next_clean(0x7ffffffb), 0x7ffffffbU);
    EXPECT_EQ(rule.next_clean(0x80000000), 0xfffffff8U);
    EXPECT_EQ(rule.next_clean(std::uint64_t{5} << 32), (std::uint64_t{5} << 32) + 0x7ffffff8);
    for (std::uint64_t step = 0; step < 1000; ++step)
        EXPECT_EQ(kShortRule.cleans(step), kShortRule.next_clean(step) == step) << step;
}

/// The cleaned slot: data, then lines without data that carry the same flag.
TEST(Ll, SlotIsFilledWhenTheRuleSaysSo_C42) {
    EdgeSettings settings;
    settings.options.ll = kShortRule;
    settings.start = 0x78;
    Edge edge(settings);
    p2p::SendLink sender = edge.sender();
    std::uint32_t abort = 0;
    const p2p::KernelContext context = patient_context(&abort);
    std::uint64_t data = 0x0807060504030201;
    p2p::SendTransfer send(sender, &data, sizeof data, Protocol::ll);
    ASSERT_EQ(p2p::run_transfers({&send, 1}, {}, context), KernelResult::ok);
    const auto* words = reinterpret_cast<const std::uint64_t*>(edge.send.buffs[0]);
    const std::size_t slot_words = settings.sizes.slot(Protocol::ll) / 8;
    EXPECT_EQ(words[0], 0x0000007904030201U);
    for (std::size_t i = 2; i < slot_words; ++i) ASSERT_EQ(words[i], 0x0000007900000000U) << i;
    EXPECT_EQ(words[slot_words], 0U) << "the next slot is another step's";
}

/// Long and short messages of all protocols take turns over many wraps. Without the cleaning a
/// reader takes an old line for a new one.
TEST(Ll, FlagsWrapManyTimes_V22_C42) {
    EdgeSettings settings;
    settings.options.ll = kShortRule;
    Mesh mesh(2, 1, settings);
    constexpr std::uint64_t kMessages = 6000;
    std::uint64_t wrong = 0;
    const auto results = mesh.run([&](int rank, int) {
        std::mt19937_64 random(22);  // the same at both ends
        for (std::uint64_t i = 0; i < kMessages; ++i) {
            const bool other = random() % 8 == 0;
            const Protocol protocol = other ? Protocol::simple : Protocol::ll;
            const std::size_t bytes = random() % 16 == 0 ? 500 : random() % 9;
            GuardedBuffer buffer(bytes);
            KernelResult result;
            if (rank == 0) {
                buffer.fill(i);
                p2p::SendTransfer send(mesh.send(0, 0, 1), buffer.data(), bytes, protocol);
                result = p2p::run_transfers({&send, 1}, {}, mesh.context);
            } else {
                p2p::RecvTransfer receive(mesh.receive(0, 0, 1), buffer.data(), bytes, protocol);
                result = p2p::run_transfers({}, {&receive, 1}, mesh.context);
                if (!buffer.holds(i)) ++wrong;
            }
            if (result != KernelResult::ok) return result;
        }
        return KernelResult::ok;
    });
    EXPECT_EQ(results, std::vector<KernelResult>(2, KernelResult::ok));
    EXPECT_EQ(wrong, 0U);
}

/// Long messages leave lines behind that short ones do not overwrite: none may carry the flag of a
/// step to come when that step begins.
TEST(Ll, NoOldLineLooksNew_V22_C42) {
    EdgeSettings settings;
    settings.options.ll = kShortRule;
    Edge edge(settings);
    p2p::SendLink sender = edge.sender();
    p2p::RecvLink receiver = edge.receiver();
    std::uint32_t abort = 0;
    const p2p::KernelContext context = patient_context(&abort);
    GuardedBuffer out(500), in(500);
    for (std::uint64_t step = 0; step < 1500; ++step) {
        const std::uint64_t* words = sender.lines(Protocol::ll, 0);
        for (std::size_t i = 0; i < settings.sizes.slot(Protocol::ll) / 8; ++i)
            ASSERT_NE(words[i] >> 32, kShortRule.flag(step)) << "step " << step << " word " << i;
        const std::size_t bytes = step % 37 == 0 ? 500 : 8;
        p2p::SendTransfer send(sender, out.data(), bytes, Protocol::ll);
        p2p::RecvTransfer receive(receiver, in.data(), bytes, Protocol::ll);
        ASSERT_EQ(p2p::run_transfers({&send, 1}, {&receive, 1}, context), KernelResult::ok);
    }
}

/// Every line of every slot carries, after each window, a flag of this window: also where the steps
/// of the window belonged to SIMPLE or were skipped by a rounding.
TEST(Ll, StepsOfOtherProtocolsCleanTheirSlotsToo_C42) {
    EdgeSettings settings;
    settings.options.ll = kShortRule;
    Edge edge(settings);
    p2p::SendLink sender = edge.sender();
    p2p::RecvLink receiver = edge.receiver();
    for (std::uint64_t step = 0; step < 0x84;) {
        sender.begin(step % 5 == 0 ? 4 : 1);
        receiver.begin(step % 5 == 0 ? 4 : 1);
        ASSERT_TRUE(sender.has_credit(1));
        sender.publish(1, 0);
        ASSERT_TRUE(receiver.has_data(1));
        receiver.release(1);
        step = sender.step();
    }
    for (std::uint64_t slot = 0; slot < 8; ++slot) {
        const std::size_t slot_bytes = settings.sizes.slot(Protocol::ll);
        const auto* words =
            reinterpret_cast<const std::uint64_t*>(edge.send.buffs[0] + slot * slot_bytes);
        for (std::size_t i = 0; i < slot_bytes / 8; ++i)
            ASSERT_EQ(words[i] >> 32, 0x79 + slot) << slot;
    }
}

}  // namespace
}  // namespace duofi::test
