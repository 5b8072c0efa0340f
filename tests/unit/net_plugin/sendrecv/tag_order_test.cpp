// TagOrder and SendQueue against plain models.
#include "net_plugin/comms/tag_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <list>
#include <map>
#include <random>
#include <vector>

#include "net_plugin/comms/send_request.hpp"
#include "net_plugin/comms/wire.hpp"

namespace duofi::net {
namespace {

TEST(TagOrder, counts_each_tag_like_a_map) {
    std::mt19937 random(7);
    for (const int spread : {1, 3, 50, 3000}) {
        TagOrder order;
        std::map<int, std::uint32_t> model;
        for (int step = 0; step < 20000; ++step) {
            int tag = static_cast<int>(random() % static_cast<unsigned>(spread));
            if (spread == 3000)
                tag = static_cast<int>(static_cast<unsigned>(tag) * 2654435761u);  // both signs
            std::uint32_t index = 12345;
            ASSERT_TRUE(order.peek(tag, index));
            ASSERT_EQ(index, model[tag]) << "tag " << tag << " at step " << step;
            const std::uint32_t asked = static_cast<std::uint32_t>(random() % 8);
            ASSERT_EQ(order.given(tag, asked), asked < model[tag]);
            if (random() % 4 == 0) continue;  // peek takes nothing
            order.advance(tag);
            ++model[tag];
        }
    }
}

TEST(TagOrder, extreme_tags_are_tags_like_others) {
    TagOrder order;
    const int tags[] = {0, -1, 1, INT_MAX, INT_MIN, INT_MAX - 1, INT_MIN + 1};
    for (int round = 0; round < 3; ++round) {
        for (const int tag : tags) {
            std::uint32_t index = 0;
            ASSERT_TRUE(order.peek(tag, index));
            EXPECT_EQ(index, static_cast<std::uint32_t>(round)) << tag;
            order.advance(tag);
        }
    }
}

TEST(TagOrder, knows_65536_tags_and_no_more) {
    TagOrder order;
    std::uint32_t index = 0;
    for (std::size_t i = 0; i < TagOrder::kMaxTags; ++i) {
        const int tag = static_cast<int>(i * 65537u);  // all different, clustered when hashed badly
        ASSERT_TRUE(order.peek(tag, index)) << i;
        order.advance(tag);
    }
    EXPECT_FALSE(order.peek(-5, index));
    EXPECT_FALSE(order.given(-5, 0)) << "a tag that has no room was never given out";
    for (std::size_t i = 0; i < TagOrder::kMaxTags; ++i) {
        ASSERT_TRUE(order.peek(static_cast<int>(i * 65537u), index)) << "known tags go on";
        ASSERT_EQ(index, 1u);
    }
}

TEST(TagOrder, numbers_wrap) {
    TagOrder order;
    for (int i = 0; i < 70000; ++i) {
        std::uint32_t index = 0;
        ASSERT_TRUE(order.peek(9, index));
        ASSERT_EQ(index, static_cast<std::uint32_t>(i));
        order.advance(9);
    }
    EXPECT_TRUE(order.given(9, 69999));
    EXPECT_FALSE(order.given(9, 70000));
    EXPECT_TRUE(order.given(9, 0xfffffff0u)) << "behind, counted around the end";
}

TEST(SendQueue, behaves_like_a_list) {
    std::mt19937 random(11);
    std::vector<SendRequest> pool(64);
    std::vector<SendRequest*> unused;
    for (std::size_t i = 0; i < pool.size(); ++i) {
        pool[i].tag = static_cast<int>(i % 4);
        unused.push_back(&pool[i]);
    }
    SendQueue queue;
    std::list<SendRequest*> model;
    for (int step = 0; step < 50000; ++step) {
        const unsigned what = random() % 4;
        if (what < 2 && !unused.empty()) {
            SendRequest* request = unused.back();
            unused.pop_back();
            request->index = random() % 6;
            queue.push(request);
            model.push_back(request);
        } else if (what == 2 && !model.empty()) {
            ASSERT_EQ(queue.pop(), model.front());
            unused.push_back(model.front());
            model.pop_front();
        } else if (what == 3) {
            const int tag = static_cast<int>(random() % 4);
            const std::uint32_t index = random() % 6;
            const auto found = std::find_if(model.begin(), model.end(), [&](SendRequest* r) {
                return r->tag == tag && r->index == index;
            });
            ASSERT_EQ(queue.take(tag, index), found != model.end() ? *found : nullptr);
            if (found != model.end()) {
                unused.push_back(*found);
                model.erase(found);
            }
        }
        ASSERT_EQ(queue.empty(), model.empty());
        ASSERT_EQ(queue.head(), model.empty() ? nullptr : model.front());
        std::vector<SendRequest*> seen;
        queue.for_each([&](SendRequest& r) { seen.push_back(&r); });
        ASSERT_EQ(seen, std::vector<SendRequest*>(model.begin(), model.end()));
    }
}

TEST(Wire, golden_bytes_of_an_announcement) {
    static constexpr unsigned char kGolden[24] = {
        0xfe, 0xff, 0xff, 0xff, 3, 0, 0, 0, 0, 0x20, 0, 0, 1, 0, 0, 0, 7, 1, 0, 0, 0, 0, 0, 0};
    const Announcement announcement{-2, 3, 0x100002000, 0x107, 0};
    EXPECT_EQ(announcement.bytes(), sizeof(kGolden));
    EXPECT_EQ(std::memcmp(&announcement, kGolden, sizeof(kGolden)), 0);
}

TEST(Wire, golden_bytes_of_an_announcement_for_writes) {
    static constexpr unsigned char kGolden[40] = {0xfe, 0xff, 0xff, 0xff, 3, 0, 0, 0, 0, 0x20, 0, 0, 1,    0,    0,    0,    7,   1,   0,   0,
                                                  1,    0,    0,    0,    8, 7, 6, 5, 4, 3,    2, 1, 0xa8, 0xa7, 0xa6, 0xa5, 0xa4, 0xa3, 0xa2, 0xa1};
    const Announcement announcement{-2, 3, 0x100002000, 0x107, 1, {{{0x0102030405060708, 0xa1a2a3a4a5a6a7a8}}}};
    EXPECT_EQ(announcement.bytes(), sizeof(kGolden));
    EXPECT_EQ(std::memcmp(&announcement, kGolden, sizeof(kGolden)), 0);
}

TEST(Wire, data_tags_of_different_ports_and_sequences_differ) {
    EXPECT_EQ(data_tag(0x00010002, 5), (std::uint64_t{0x010002} << 24) | 5u);
    EXPECT_EQ(data_tag(1, 0x01000000), data_tag(1, 0)) << "24 bits of sequence, then around";
    EXPECT_LT(data_tag(~0u, ~0u), std::uint64_t{1} << 48);
    EXPECT_NE(data_tag(1, 0), data_tag(0, 1u << 23));
}

}  // namespace
}  // namespace duofi::net
