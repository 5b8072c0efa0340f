// Units: rma_plugin/data_call.
// What data calls refuse before anything is posted, and the own rank (P-5, G-2, G-3, X-3, P-3, G-9).
#include <cstring>
#include <limits>

#include "tests/unit/rma_plugin/scripted_group.hpp"

namespace duofi::rma::unit {
namespace {

constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();

class DataCalls : public ScriptedGroup {
  protected:
    void SetUp() override { join(); }

    struct Arguments {
        void* context;
        int stream = 0;
        std::uint64_t source = 0;
        void* source_window;
        std::size_t size = 8;
        std::uint64_t target = 0;
        void* target_window;
        std::uint32_t rank = kHigh;
        std::uint64_t word = 0;
        void* word_window;
        std::uint32_t op = 1;
    };
    [[nodiscard]] Arguments good() const {
        return {caller(), 0, 0, memory, 8, 0, memory, kHigh, 0, memory, 1};
    }
    enum class Call { put, signal, get };
    ncclResult_t run(Call call, const Arguments& a, void** request) {
        switch (call) {
            case Call::put:
                return iput(a.context, a.stream, a.source, a.source_window, a.size, a.target, a.target_window, a.rank, 0,
                            request);
            case Call::get:
                return iget(a.context, a.stream, a.target, a.target_window, a.size, a.source, a.source_window, a.rank, 0,
                            request);
            default:
                return iput_signal(a.context, a.stream, a.source, a.source_window, a.size, a.target, a.target_window,
                                   a.rank, a.word, a.word_window, 1, a.op, true, 0, request);
        }
    }
    /// One line, no request, nothing posted; for every call that has the argument.
    void refused(const char* line, const Arguments& arguments, std::initializer_list<Call> calls) {
        for (const Call call : calls) {
            const std::size_t lines = log.all().size();
            void* request = this;
            EXPECT_EQ(run(call, arguments, &request), ncclInvalidArgument) << line;
            EXPECT_EQ(request, nullptr) << line;
            const auto all = log.all();
            ASSERT_EQ(all.size(), lines + 1) << log.dump();
            EXPECT_NE(all.back().text.find(line), std::string::npos) << all.back().text;
            EXPECT_EQ(all.back().level, duofi::log::Level::warn);
        }
        poll();
        EXPECT_EQ(fake->transfer_attempts(), 0u) << line;
        EXPECT_TRUE(said(kHigh, MessageKind::rma_signal).empty()) << line;
        EXPECT_EQ(context->outstanding(), 0u) << line;
    }
    template <typename Change>
    [[nodiscard]] Arguments bad(Change&& change) const {
        Arguments arguments = good();
        change(arguments);
        return arguments;
    }
    static constexpr std::initializer_list<Call> kAll{Call::put, Call::signal, Call::get};
    static constexpr std::initializer_list<Call> kSignal{Call::signal};
};

TEST_F(DataCalls, are_fine_with_good_arguments) {
    for (const Call call : kAll) {
        void* request = nullptr;
        EXPECT_EQ(run(call, good(), &request), ncclSuccess);
        EXPECT_NE(request, nullptr);
    }
}

TEST_F(DataCalls, refuse_ranges_outside_of_either_side) {
    struct Range {
        std::uint64_t offset;
        std::size_t size;
    };
    for (const Range range : {Range{0, kBytes + 1}, Range{1, kBytes}, Range{kBytes, 1}, Range{kBytes - 7, 8},
                              Range{kHuge, 1}, Range{kHuge - 3, 8}, Range{8, kHuge}, Range{8, kHuge - 7},
                              Range{kHuge, kHuge}}) {
        refused("local offset", bad([&](Arguments& a) { a.source = range.offset, a.size = range.size; }), kAll);
        if (range.size > kBytes) continue;  // the local side is judged first
        refused("remote offset", bad([&](Arguments& a) { a.target = range.offset, a.size = range.size; }), kAll);
    }
}

TEST_F(DataCalls, take_the_last_bytes_of_a_window) {
    for (const Call call : kAll) {
        void* request = nullptr;
        const Arguments last = bad([](Arguments& a) { a.source = a.target = a.word = kBytes - 8; });
        EXPECT_EQ(run(call, last, &request), ncclSuccess);
        EXPECT_EQ(run(call, bad([](Arguments& a) { a.size = kBytes; }), &request), ncclSuccess);
    }
}

// The lengths of a window differ from rank to rank (M-1): each side is judged by its own.
TEST_F(DataCalls, judge_the_target_by_its_own_length) {
    answer([this](std::uint32_t rank, const SaidMessage& message) {
        if (message.header.kind != static_cast<std::uint16_t>(MessageKind::rma_window)) return std::vector<Bytes>{};
        const WindowPart part = part_of(rank, rank == kHigh ? 100 : 10000);
        return std::vector<Bytes>{packet_of(rank, MessageKind::rma_window, message.header.word, 0,
                                            std::as_bytes(std::span(&part, 1)))};
    });
    void* uneven = reg(bytes + 512, 1000);
    ASSERT_NE(uneven, nullptr);
    refused("outside the window of 100 bytes on rank 2",
            bad([&](Arguments& a) { a.target_window = uneven, a.size = 8, a.target = 93; }), kAll);
    refused("iputSignal: signal offset 96 on rank 2", bad([&](Arguments& a) { a.word_window = uneven, a.word = 96; }),
            kSignal);
    refused("outside the window of 1000 bytes on rank 1",
            bad([&](Arguments& a) { a.source_window = uneven, a.source = 993; }), kAll);
    void* request = nullptr;
    EXPECT_EQ(run(Call::put, bad([&](Arguments& a) { a.target_window = uneven, a.rank = kLow, a.target = 9992; }), &request),
              ncclSuccess);
}

TEST_F(DataCalls, refuse_windows_that_are_none_of_the_group) {
    std::vector<void*> strangers{nullptr, context->handle, group->handle, &fabric};
    void* ended = reg(bytes, 64, 3);
    ASSERT_EQ(dereg_mr_sym(group->handle, ended), ncclSuccess);
    strangers.push_back(ended);
    for (void* stranger : strangers) {
        refused("the local mhandle", bad([&](Arguments& a) { a.source_window = stranger; }), kAll);
        refused("the remote mhandle", bad([&](Arguments& a) { a.target_window = stranger; }), kAll);
        refused("signalMhandle", bad([&](Arguments& a) { a.word_window = stranger; }), kSignal);
    }
}

TEST_F(DataCalls, refuse_windows_of_another_group) {
    ListenComm second(instance, endpoint);
    std::vector<ofi::ListenHandle> one(1);
    ASSERT_TRUE(second.open(one[0]).has_value());
    auto alone = Group::connect(second, one, 0);
    ASSERT_TRUE(alone.has_value());
    const auto foreign = (*alone)->windows().add(bytes, 64, NCCL_PTR_HOST, 0);
    ASSERT_TRUE(foreign.has_value());
    refused("the local mhandle", bad([&](Arguments& a) { a.source_window = *foreign; }), kAll);
    refused("the remote mhandle", bad([&](Arguments& a) { a.target_window = *foreign; }), kAll);
    refused("signalMhandle", bad([&](Arguments& a) { a.word_window = *foreign; }), kSignal);
}

TEST_F(DataCalls, refuse_streams_ranks_and_contexts_that_do_not_exist) {
    for (const int stream : {-1, 1, std::numeric_limits<int>::max()})
        refused("context", bad([&](Arguments& a) { a.stream = stream; }), kAll);
    for (const std::uint32_t rank : {kRanks, 0xffffffffu})
        refused("accepted: 0..2", bad([&](Arguments& a) { a.rank = rank; }), kAll);
    for (void* stranger : {static_cast<void*>(nullptr), memory, static_cast<void*>(group->handle)})
        refused("rmaCtx", bad([&](Arguments& a) { a.context = stranger; }), kAll);
}

TEST_F(DataCalls, refuse_signals_that_are_none) {
    for (const std::uint32_t op : {0u, 3u, 0x99u, 0xffffffffu})
        refused("signalOp", bad([&](Arguments& a) { a.op = op; }), kSignal);
    for (const std::uint64_t word : {std::uint64_t{1}, std::uint64_t{4}, std::uint64_t{kBytes - 4},
                                     std::uint64_t{kBytes}, kHuge - 7, kHuge})
        refused("signal offset", bad([&](Arguments& a) { a.word = word; }), kSignal);
}

TEST_F(DataCalls, refuse_words_that_would_not_be_aligned_at_the_target) {
    void* odd = reg(bytes + 1, 64);
    ASSERT_NE(odd, nullptr);
    refused("signal offset", bad([&](Arguments& a) { a.word_window = odd, a.rank = kOwn; }), kSignal);
    void* request = nullptr;
    EXPECT_EQ(run(Call::signal, bad([&](Arguments& a) { a.word_window = odd; }), &request), ncclSuccess)
        << "its base at the other rank is aligned";
}

TEST_F(DataCalls, refuse_a_place_for_the_request_that_is_NULL) {
    for (const Call call : kAll) EXPECT_EQ(run(call, good(), nullptr), ncclInvalidArgument);
    EXPECT_EQ(log.with("argument request is NULL").size(), 3u) << log.dump();
}

TEST_F(DataCalls, without_bytes_look_at_no_window) {
    const Arguments nothing = bad([](Arguments& a) {
        a.size = 0, a.source = a.target = kHuge;
        a.source_window = a.target_window = nullptr;
    });
    for (const Call call : kAll) {
        void* request = nullptr;
        ASSERT_EQ(run(call, nothing, &request), ncclSuccess);
        ASSERT_NE(request, nullptr);
        EXPECT_EQ(ask(static_cast<Request*>(request)), call == Call::signal ? kNotYet : kDone) << "P-1";
    }
    EXPECT_EQ(fake->transfer_attempts(), 0u);
    EXPECT_EQ(said(kHigh, MessageKind::rma_signal).size(), 1u);
}

TEST_F(DataCalls, to_the_own_rank_happen_at_once) {
    for (std::size_t i = 0; i < 100; ++i) bytes[i] = static_cast<std::byte>(i + 1);
    Request* moved = put(kOwn, 100, 50);  // ranges overlap (P-3)
    for (std::size_t i = 0; i < 100; ++i) ASSERT_EQ(bytes[50 + i], static_cast<std::byte>(i + 1)) << i;
    EXPECT_EQ(ask(moved), kDone);
    Request* same = put(kOwn, 100, 0);
    EXPECT_EQ(ask(same), kDone);
    EXPECT_EQ(bytes[10], std::byte{11});
    Request* back = get(kOwn, 50, 100);
    EXPECT_EQ(bytes[0], std::byte{51});
    EXPECT_EQ(ask(back), kDone);
    EXPECT_EQ(fake->transfer_attempts(), 0u);
}

TEST_F(DataCalls, to_the_own_rank_put_first_and_then_add) {
    const std::uint64_t start = 40, inside = 64;  // put_signal writes from byte 64 on
    std::memcpy(bytes, &start, sizeof(start));
    Request* request = put_signal(kOwn, 8, inside, 2);
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + inside, sizeof(word));
    EXPECT_EQ(word, 42u) << "G-9";
    EXPECT_EQ(ask(request), kDone);
    EXPECT_TRUE(said(kOwn, MessageKind::rma_signal).empty());
}

}  // namespace
}  // namespace duofi::rma::unit
