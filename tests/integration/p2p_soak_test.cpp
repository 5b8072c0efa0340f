// Operations of random kinds, sizes and types for a long time (V-42): every element checked, memory
// and descriptors of every process flat.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/util/clock.hpp"
#include "tests/integration/integration.hpp"
#include "tests/integration/p2p_ranks.hpp"
#include "tests/support/process_facts.hpp"

namespace duofi::test {
namespace {

/// Rank 0's clock decides for all.
bool another_round(P2pMember& member, const Deadline& deadline) {
    std::uint8_t more = deadline.passed() ? 0 : 1;
    member.require_success(duofiP2pBroadcast(&more, &more, 1, duofiP2pUint8, 0, member.comm()),
                           "broadcast");
    return more != 0;
}

/// Gives every buffer of every edge its pages: all protocols, rings and all pairs.
void touch_everything(P2pMember& member) {
    const auto size = static_cast<std::size_t>(member.size());
    for (const std::size_t count : {1U, 200U, 4000U, 2'000'000U}) {
        std::vector<std::uint8_t> in(count * size), out(in.size());
        const auto done = [&](ncclResult_t result) { member.require_success(result, "warm-up"); };
        done(duofiP2pAllToAll(in.data(), out.data(), count, duofiP2pUint8, member.comm()));
        done(duofiP2pAllReduce(in.data(), out.data(), count, duofiP2pUint8, duofiP2pMax,
                               member.comm()));
    }
}

struct Held {
    long rss_kib;
    std::size_t descriptors;
    int mappings;
};

Held held() {
    const ProcessFacts facts = ProcessFacts::now();
    return {facts.rss_kib, facts.descriptors.size(), facts.mappings};
}

DUOFI_RANK_BODY(p2p_soak) {
    const Nanoseconds whole = rank.number("milliseconds", 1000) * kMillisecond;
    const auto seed = static_cast<std::uint64_t>(rank.number("seed", 1));
    run_members(rank, [&](P2pMember& member) {
        std::uint64_t round = seed << 32;
        const auto soak = [&](Nanoseconds time) {
            const Deadline deadline(time);
            while (another_round(member, deadline)) run_seeded_operations(member, ++round, 20);
        };
        touch_everything(member);
        soak(whole / 5);
        const Held before = held();
        soak(whole - whole / 5);
        const Held after = held();
        // Buffers of tests come and go, so some noise is no leak: of a long run it would be far
        // above. A sanitizer keeps what is freed.
        require(kSanitized || after.rss_kib - before.rss_kib < 16 * 1024,
                "resident memory grew from {} to {} KiB", before.rss_kib, after.rss_kib);
        require(after.descriptors <= before.descriptors + 2, "descriptors grew from {} to {}",
                before.descriptors, after.descriptors);
        require(kSanitized || after.mappings <= before.mappings + 16, "mappings grew from {} to {}",
                before.mappings, after.mappings);
    });
}

TEST(P2pSoak, NothingGrowsAndNothingIsWrong_V42) {
    struct Case {
        Mix mix;
        std::map<std::string, std::string> env;
    };
    const Case cases[] = {{{2, 1}, {}},
                          {{2, 2}, {{"DUOFI_P2P_CHANNELS", "2"}}},
                          {{1, 3}, {{"NCCL_PROTO", "LL,Simple"}}},
                          {{3, 1}, {{"NCCL_P2P_READ_ENABLE", "1"}, {"NCCL_PROTO", "^LL"}}}};
    const int milliseconds = full_tier() ? 15 * 60 * 1000 : 400;  // an hour together
    int seed = 1;
    for (const Case& one : cases) {
        SCOPED_TRACE(std::to_string(one.mix.processes) + " processes of " +
                     std::to_string(one.mix.threads));
        GroupOptions options = p2p_options(one.mix, one.env);
        options.timeout = (milliseconds + 120'000) * kMillisecond;
        options.args["milliseconds"] = std::to_string(milliseconds);
        options.args["seed"] = std::to_string(seed++);
        run_group("p2p_soak", options);
    }
}

}  // namespace
}  // namespace duofi::test
