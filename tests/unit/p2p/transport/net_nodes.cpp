#include "tests/unit/p2p/transport/net_nodes.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace duofi::p2p::test {
namespace {

using Word = std::int32_t;

Word word(int rank, std::size_t i) {
    return static_cast<Word>(i * 31 + static_cast<std::size_t>(rank) * 7 + 1);
}
std::vector<Word> words(int rank, std::size_t count) {
    std::vector<Word> made(count);
    for (std::size_t i = 0; i < count; ++i) made[i] = word(rank, i);
    return made;
}
unsigned char byte_of(int from, int to, std::size_t i) {
    return static_cast<unsigned char>(i * 13 + static_cast<std::size_t>(from) * 5 +
                                      static_cast<std::size_t>(to) * 3);
}
int as_int(std::size_t n) {
    return static_cast<int>(n);
}

}  // namespace

Team::Change on_nodes(int per_node, int channels) {
    return [=](int rank, CommunicatorOptions& options) {
        options.settings.nccl_hostid = "node" + std::to_string(rank / per_node);
        options.channels = channels;
        options.buffer_bytes = {4096, 16384, 32768};
    };
}

bool MixedRank::ran(const Status& status, const char* what) const {
    EXPECT_TRUE(status) << "rank " << rank() << ": " << what << ": " << status.error().place;
    return status.has_value();
}

RingOperation MixedRank::ring(RingCollective kind, const void* in, void* out,
                              std::size_t count) const {
    RingOperation operation;
    operation.kind = kind;
    operation.type = DataType::int32;
    operation.input = in;
    operation.output = out;
    operation.count = count;
    return operation;
}

bool MixedRank::all_reduce(std::size_t count) {
    const std::vector<Word> in = words(rank(), count);
    std::vector<Word> out(count), expected(count);
    for (std::size_t r = 0; r < ranks(); ++r)
        for (std::size_t i = 0; i < count; ++i) expected[i] += word(as_int(r), i);
    const RingOperation op = ring(RingCollective::all_reduce, in.data(), out.data(), count);
    if (!ran(operations_.ring(op), "all-reduce")) return false;
    EXPECT_TRUE(out == expected) << "all-reduce of " << count;
    return out == expected;
}

bool MixedRank::all_gather(std::size_t count) {
    const std::vector<Word> in = words(rank(), count);
    std::vector<Word> out(count * ranks()), expected;
    for (std::size_t r = 0; r < ranks(); ++r) {
        const auto part = words(as_int(r), count);
        expected.insert(expected.end(), part.begin(), part.end());
    }
    const RingOperation op = ring(RingCollective::all_gather, in.data(), out.data(), count);
    if (!ran(operations_.ring(op), "all-gather")) return false;
    EXPECT_TRUE(out == expected) << "all-gather of " << count;
    return out == expected;
}

bool MixedRank::reduce_scatter(std::size_t count) {
    const std::vector<Word> in = words(rank(), count * ranks());
    std::vector<Word> out(count), expected(count);
    for (std::size_t r = 0; r < ranks(); ++r)
        for (std::size_t i = 0; i < count; ++i)
            expected[i] += word(as_int(r), static_cast<std::size_t>(rank()) * count + i);
    const RingOperation op = ring(RingCollective::reduce_scatter, in.data(), out.data(), count);
    if (!ran(operations_.ring(op), "reduce-scatter")) return false;
    EXPECT_TRUE(out == expected) << "reduce-scatter of " << count;
    return out == expected;
}

bool MixedRank::broadcast(std::size_t count, int root) {
    const std::vector<Word> expected = words(root, count);
    std::vector<Word> data(count);
    if (rank() == root) data = expected;
    RingOperation op = ring(RingCollective::broadcast, data.data(), data.data(), count);
    op.root = root;
    if (!ran(operations_.ring(op), "broadcast")) return false;
    EXPECT_TRUE(data == expected) << "broadcast of " << count << " from " << root;
    return data == expected;
}

bool MixedRank::all_to_all(std::size_t bytes) {
    std::vector<unsigned char> in(bytes * ranks()), out(bytes * ranks()), expected(bytes * ranks());
    for (std::size_t peer = 0; peer < ranks(); ++peer)
        for (std::size_t i = 0; i < bytes; ++i) {
            in[peer * bytes + i] = byte_of(rank(), as_int(peer), i);
            expected[peer * bytes + i] = byte_of(as_int(peer), rank(), i);
        }
    if (!ran(operations_.all_to_all(in.data(), out.data(), bytes), "all-to-all")) return false;
    EXPECT_TRUE(out == expected) << "all-to-all of " << bytes;
    return out == expected;
}

bool MixedRank::shift(std::size_t bytes) {
    const int n = as_int(ranks()), to = (rank() + 1) % n, from = (rank() + n - 1) % n;
    std::vector<unsigned char> in(bytes), out(bytes), expected(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
        in[i] = byte_of(rank(), to, i);
        expected[i] = byte_of(from, rank(), i);
    }
    const Status moved =
        operations_.transfer({in.data(), bytes, to}, {out.data(), bytes, from});
    if (!ran(moved, "transfer")) return false;
    EXPECT_TRUE(out == expected) << "transfer of " << bytes;
    return out == expected;
}

bool MixedRank::everything(std::size_t most) {
    bool good = true;
    const auto small = [most](std::size_t bytes) { return bytes <= most; };
    // Nothing, one, a line and its neighbours, a slot and its neighbours, several rounds.
    for (const std::size_t count : {0, 1, 2, 30, 31, 1023, 1025, 9001})
        if (small(count * sizeof(Word)))
            good = good && all_reduce(count) && all_gather(count) && reduce_scatter(count) &&
               broadcast(count, as_int(count % ranks()));
    for (const std::size_t bytes : {0, 1, 8, 9, 120, 121, 4095, 4097, 35001})
        if (small(bytes)) good = good && all_to_all(bytes) && shift(bytes);
    return good;
}

}  // namespace duofi::p2p::test
