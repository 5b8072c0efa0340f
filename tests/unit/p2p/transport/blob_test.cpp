// The 128 bytes of an end and what a receiver refuses: V-5, V-8, C-8, T-6.
// Units: p2p/transport/blob.
#include "p2p/transport/blob.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "common/local/crc32c.hpp"
#include "tests/unit/util/log_lines.hpp"

namespace duofi::p2p::test {
namespace {

struct BlobTest : testing::Test {
    ncclComm comm;
    const BlobFacts facts{
        .channel = 3, .own_rank = 1, .peer_rank = 0, .direction = Direction::recv};
    p2pConnectInfo info{};
    ncclConnect blob{};
    duofi::test::LogLines lines;

    void SetUp() override {
        comm.rank = 0;
        comm.n_ranks = 2;
        comm.epochs = {1, 1};
        comm.buff_sizes = {{1024, 2048, 4096}};
        info.rank = 1;
        info.read = 1;
        info.directPtr = &info;
        for (int i = 0; i < 64; ++i) info.devIpc.bytes[i] = static_cast<unsigned char>(i + 1);
        pack_blob(comm, facts, info, blob);
    }

    p2pBlobTrailer trailer() const {
        p2pBlobTrailer found;
        std::memcpy(&found, blob.data + 80, sizeof(found));
        return found;
    }
    /// Changes the trailer and makes its checksum right again.
    void forge(const std::function<void(p2pBlobTrailer&)>& change) {
        p2pBlobTrailer changed = trailer();
        change(changed);
        std::memcpy(blob.data + 80, &changed, sizeof(changed));
        changed.crc = local::crc32c(std::as_bytes(std::span(blob.data)).first(120));
        std::memcpy(blob.data + 80, &changed, sizeof(changed));
    }
    void refused(Errc code, std::string_view text) {
        const auto taken = unpack_blob(comm, facts, blob);
        ASSERT_FALSE(taken);
        EXPECT_EQ(taken.error().code, code);
        EXPECT_FALSE(lines.with(text).empty()) << lines.dump();
    }
};

TEST_F(BlobTest, begins_with_a_verbatim_image_of_the_struct) {  // V-5, C-8
    EXPECT_EQ(sizeof(info), 80U);
    EXPECT_EQ(std::memcmp(blob.data, &info, 80), 0);
    std::int32_t word;
    std::memcpy(&word, blob.data, 4);
    EXPECT_EQ(word, 1);
    std::memcpy(&word, blob.data + 4, 4);
    EXPECT_EQ(word, 1);
    void* pointer;
    std::memcpy(&pointer, blob.data + 8, 8);
    EXPECT_EQ(pointer, &info);
    EXPECT_EQ(blob.data[16], 1);
    EXPECT_EQ(blob.data[79], 64);
    static_assert(sizeof(ncclConnect[2]) == 256, "stride 128");
}

TEST_F(BlobTest, trailer_says_what_both_ends_must_agree_about) {
    const p2pBlobTrailer found = trailer();
    EXPECT_EQ(found.magic, P2P_TRAILER_MAGIC);
    EXPECT_EQ(found.version, 1);
    EXPECT_EQ(found.transport, TRANSPORT_P2P);
    EXPECT_EQ(found.channel, 3U);
    EXPECT_EQ(found.ownRank, 1U);
    EXPECT_EQ(found.peerRank, 0U);
    EXPECT_EQ(found.direction, 1U);
    EXPECT_EQ(found.buffDigest, digest_of(comm.buff_sizes));
    EXPECT_EQ(found.epoch, 1U);
    const auto taken = unpack_blob(comm, facts, blob);
    ASSERT_TRUE(taken);
    EXPECT_EQ(std::memcmp(&*taken, &info, sizeof(info)), 0);
    EXPECT_TRUE(looks_like_p2p(blob));
}

TEST_F(BlobTest, without_trailer_the_rest_is_zero) {
    comm.options.trailer = false;
    pack_blob(comm, facts, info, blob);
    for (std::size_t i = 80; i < 128; ++i) EXPECT_EQ(blob.data[i], 0) << i;
    EXPECT_TRUE(unpack_blob(comm, facts, blob));
    EXPECT_FALSE(looks_like_p2p(blob));
    comm.options.trailer = true;
    refused(Errc::invalid_usage, "is not one of P2P");
}

TEST_F(BlobTest, every_flipped_bit_is_seen) {  // V-8
    for (std::size_t bit = 0; bit < 8 * sizeof(blob.data); ++bit) {
        blob.data[bit / 8] ^= static_cast<unsigned char>(1U << bit % 8);
        EXPECT_FALSE(unpack_blob(comm, facts, blob)) << bit;
        blob.data[bit / 8] ^= static_cast<unsigned char>(1U << bit % 8);
    }
    EXPECT_TRUE(unpack_blob(comm, facts, blob));
}

TEST_F(BlobTest, a_handle_of_another_transport_is_no_blob) {  // V-8, T-6
    for (unsigned char& byte : blob.data) byte = 0xab;
    refused(Errc::invalid_usage, "has the other side selected another transport?");
    EXPECT_FALSE(looks_like_p2p(blob));
}

TEST_F(BlobTest, a_trailer_of_another_transport) {
    forge([](p2pBlobTrailer& t) { t.transport = TRANSPORT_NET; });
    refused(Errc::invalid_usage,
            "rank 1 selected transport 1 for channel 3, this rank selected P2P");
}

TEST_F(BlobTest, other_buffer_sizes) {
    comm.buff_sizes.bytes[NCCL_PROTO_SIMPLE] += 1024;
    refused(Errc::invalid_usage, "rank 1 uses other buffer sizes");
}

TEST_F(BlobTest, another_edge) {
    const struct {
        const char* text;
        std::function<void(p2pBlobTrailer&)> change;
    } cases[] = {
        {"meant for rank: 1 here, 5 there", [](p2pBlobTrailer& t) { t.ownRank = 5; }},
        {"meant for peer: 0 here, 6 there", [](p2pBlobTrailer& t) { t.peerRank = 6; }},
        {"meant for channel: 3 here, 4 there", [](p2pBlobTrailer& t) { t.channel = 4; }},
        {"meant for direction: 1 here, 0 there", [](p2pBlobTrailer& t) { t.direction = 0; }},
        {"meant for set-up: 1 here, 9 there", [](p2pBlobTrailer& t) { t.epoch = 9; }},
    };
    for (const auto& one : cases) {
        pack_blob(comm, facts, info, blob);
        forge(one.change);
        refused(Errc::remote, one.text);
    }
}

}  // namespace
}  // namespace duofi::p2p::test
