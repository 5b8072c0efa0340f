// The proxies over the real plugin, ranks as threads of one process: all kinds of descriptors,
// sizes of rings and batches, connections and threads, storms of barriers, abandoned contexts, a
// replay.
#include "tests/unit/gin/plugin_crew.hpp"

#include <dlfcn.h>

#include <cstring>

#include "common/gin/replay.hpp"

namespace duofi::gin::test {
namespace {

struct Mix {
    int contexts, poll_batch;
    std::int64_t queue_size;
    int connections, threads;
};

class OverThePlugin : public ::testing::TestWithParam<Mix> {};

constexpr int kRanks = 3;
constexpr std::size_t kSlot = 5000;
/// Bytes; with pieces of 1 KiB the larger ones are cut.
constexpr std::size_t kSizes[] = {0, 1, 7, 8, 63, 1024, 1025, 4097, kSlot};

std::uint8_t byte_of(int from, int to, std::size_t size, std::size_t at) {
    return static_cast<std::uint8_t>(from * 7 + to * 31 + static_cast<int>(size % 97 + at % 241));
}

/// All to all of one size in one context; the counter counts the completions.
void exchange_size(PluginRank& own, Device kernel, std::size_t size, std::uint64_t round) {
    const auto slot = [&](int peer) { return static_cast<std::size_t>(peer) * kSlot; };
    for (int to = 0; to < kRanks; ++to)
        for (std::size_t i = 0; i < size; ++i)
            own.byte(slot(to) + i) = byte_of(own.rank, to, size, i);
    ASSERT_EQ(kernel.barrier(), GinStatus::done);
    for (int to = 0; to < kRanks; ++to)
        ASSERT_EQ(kernel.put(to, {own.window, slot(kRanks + own.rank)}, {own.window, slot(to)},
                             size, Signal::plus(0, 2), 1),
                  GinStatus::done);
    ASSERT_EQ(kernel.wait_signal(0, 2 * kRanks * round), GinStatus::done);
    for (int from = 0; from < kRanks; ++from)
        for (std::size_t i = 0; i < size; ++i)
            ASSERT_EQ(own.byte(slot(kRanks + from) + i), byte_of(from, own.rank, size, i))
                << "size " << size << " from " << from << " byte " << i;
    ASSERT_EQ(kernel.flush(), GinStatus::done);
    EXPECT_EQ(kernel.read_counter(1), kRanks * round) << "exact";
}

TEST_P(OverThePlugin, every_size_arrives_and_counters_are_exact) {
    const Mix mix = GetParam();
    run_plugin_ranks(kRanks, [&](const Exchange& exchange, const loader::AssignedRma& rma) {
        DeviceCommShape shape = crew_shape(mix.contexts);
        shape.shape.poll_batch = mix.poll_batch;
        shape.shape.queue_size = mix.queue_size;
        shape.device.chunk_bytes = 1024;
        GinOptions options;
        options.connections = mix.connections;
        options.threads = mix.threads;
        PluginRank own(rma, exchange, shape, options, 2 * kRanks * kSlot);
        ASSERT_TRUE(own.good()) << own.error;
        for (int context = 0; context < mix.contexts; ++context) {
            std::uint64_t round = 0;
            for (const std::size_t size : kSizes)
                exchange_size(own, own.comm->device(context), size, ++round);
        }
        own.close();
    });
}

INSTANTIATE_TEST_SUITE_P(Mixes, OverThePlugin,
                         ::testing::Values(Mix{1, 32, -1, 1, 1}, Mix{1, 1, 1, 1, 1},
                                           Mix{2, 4, 2, 1, 1}, Mix{8, 32, 256, 1, 1},
                                           Mix{4, 4, 32, 4, 4}, Mix{5, 32, 32, 3, 2}));

TEST(GinPlugin, values_of_every_width_gets_and_signals_by_address) {
    run_plugin_ranks(2, [](const Exchange& exchange, const loader::AssignedRma& rma) {
        PluginRank own(rma, exchange, crew_shape(), {}, 4096);
        ASSERT_TRUE(own.good()) << own.error;
        Device kernel = own.comm->device(0);
        const int peer = 1 - own.rank;
        for (std::size_t i = 0; i < 256; ++i)
            own.byte(i) = static_cast<std::uint8_t>(own.rank + static_cast<int>(i));
        ASSERT_EQ(kernel.barrier(), GinStatus::done);
        ASSERT_EQ(kernel.put_value<std::uint8_t>(peer, {own.window, 1000}, 0x11), GinStatus::done);
        ASSERT_EQ(kernel.put_value<std::uint16_t>(peer, {own.window, 1001}, 0x2233),
                  GinStatus::done);
        ASSERT_EQ(kernel.put_value<std::uint32_t>(peer, {own.window, 1003}, 0x44556677),
                  GinStatus::done);
        ASSERT_EQ(kernel.put_value<std::uint64_t>(peer, {own.window, 1007}, 0x8899AABBCCDDEEFF,
                                                  Signal::inc(5)),
                  GinStatus::done);
        ASSERT_EQ(kernel.wait_signal(5, 1), GinStatus::done);
        const std::uint8_t expected[] = {0x11, 0x33, 0x22, 0x77, 0x66, 0x55, 0x44, 0xFF,
                                         0xEE, 0xDD, 0xCC, 0xBB, 0xAA, 0x99, 0x88, 0};
        EXPECT_EQ(std::memcmp(&own.memory[1000], expected, sizeof expected), 0);
        ASSERT_EQ(kernel.get(peer, {own.window, 0}, {own.window, 2000}, 256), GinStatus::done);
        ASSERT_EQ(kernel.flush(peer), GinStatus::done);
        for (std::size_t i = 0; i < 256; ++i)
            EXPECT_EQ(own.byte(2000 + i), static_cast<std::uint8_t>(peer + static_cast<int>(i)));
        ASSERT_EQ(kernel.signal(peer, Signal::plus_at(own.window, 3000, 1ULL << 40)),
                  GinStatus::done);
        ASSERT_EQ(kernel.signal(peer, Signal::inc(6)), GinStatus::done);
        ASSERT_EQ(kernel.wait_signal(6, 1), GinStatus::done);
        std::uint64_t word = 0;
        std::memcpy(&word, &own.memory[3000], sizeof word);
        EXPECT_EQ(word, 1ULL << 40);
        own.close();
    });
}

class OlderTable : public ::testing::TestWithParam<int> {};

/// What the older tables cannot say is dropped; the rest works alike (rma contract 1.3).
TEST_P(OlderTable, serves_the_same_kernels) {
    run_plugin_ranks(2, [](const Exchange& exchange, const loader::AssignedRma& rma) {
        void* library = ::dlopen(rma.library.c_str(), RTLD_NOW | RTLD_NOLOAD);
        ASSERT_NE(library, nullptr);
        const std::string symbol = "ncclRmaPlugin_v" + std::to_string(GetParam());
        loader::AssignedRma older = rma;
        older.table = loader::RmaTable(::dlsym(library, symbol.c_str()), GetParam());
        ASSERT_TRUE(older.table);
        ASSERT_EQ(older.table.init(&older.gin_instance, 4712, nullptr), ncclSuccess);
        {
            PluginRank own(older, exchange, crew_shape(2), {}, 2 * kRanks * kSlot);
            ASSERT_TRUE(own.good()) << own.error;
            swap_a_byte(own);
            Device kernel = own.comm->device(1);
            ASSERT_EQ(kernel.barrier(), GinStatus::done);
            ASSERT_EQ(kernel.get(1 - own.rank, {own.window, 0}, {own.window, 100}, 1),
                      GinStatus::done);
            ASSERT_EQ(kernel.flush(), GinStatus::done);
            EXPECT_EQ(own.byte(100), 41 - own.rank);
            own.close();
        }
        EXPECT_EQ(older.table.finalize(older.gin_instance), ncclSuccess);
        ::dlclose(library);
    });
}

INSTANTIATE_TEST_SUITE_P(Versions, OlderTable, ::testing::Values(13, 14, 15));

TEST(GinPlugin, a_storm_of_barriers_in_all_contexts) {
    constexpr int kContexts = 4;
    constexpr int kRounds = 100;
    run_plugin_ranks(4, [](const Exchange& exchange, const loader::AssignedRma& rma) {
        PluginRank own(rma, exchange, crew_shape(kContexts), {}, 64);
        ASSERT_TRUE(own.good()) << own.error;
        std::vector<std::thread> kernels;
        for (int context = 0; context < kContexts; ++context)
            kernels.emplace_back([&own, context] {
                for (int round = 0; round < kRounds; ++round)
                    ASSERT_EQ(own.comm->device(context).barrier(round % 4 == 0), GinStatus::done);
            });
        for (std::thread& kernel : kernels) kernel.join();
        own.close();
    });
}

/// Freed in the middle of its puts, without waiting; the group goes on.
TEST(GinPlugin, an_abandoned_communicator_and_the_next_one) {
    run_plugin_ranks(2, [](const Exchange& exchange, const loader::AssignedRma& rma) {
        PluginRank own(rma, exchange, crew_shape(), {}, 1 << 20);
        ASSERT_TRUE(own.good()) << own.error;
        for (int round = 0; round < 3; ++round) {
            auto doomed = own.proxy->create(crew_shape());
            ASSERT_TRUE(doomed);
            Device kernel = (*doomed)->device(0);
            for (int i = 0; i < 20; ++i)
                ASSERT_EQ(kernel.put(1 - own.rank, {own.window, 1 << 19}, {own.window, 0}, 1 << 18,
                                     Signal::inc(0)),
                          GinStatus::done);
            EXPECT_TRUE(own.proxy->destroy(**doomed));
        }
        EXPECT_FALSE(own.proxy->failed());
        swap_a_byte(own);
        own.close();
    });
}

TEST(GinPlugin, a_recording_runs_again) {
    run_plugin_ranks(2, [](const Exchange& exchange, const loader::AssignedRma& rma) {
        StreamRecorder recorder(1000);
        GinOptions options;
        options.observers.recorder = &recorder;
        Stream stream;
        {
            PluginRank own(rma, exchange, crew_shape(), options, 4096);
            ASSERT_TRUE(own.good()) << own.error;
            swap_a_byte(own);
            own.close();
            stream = recorder.stream();
        }
        ASSERT_EQ(stream.entries.size(), 1U);
        PluginRank own(rma, exchange, crew_shape(), {}, 4096);
        ASSERT_TRUE(own.good()) << own.error;
        own.byte(0) = static_cast<std::uint8_t>(90 + own.rank);
        // Signals as many as the first run's kernels waited for.
        ASSERT_TRUE(replay(stream, *own.comm, std::vector<Window>{own.window}));
        EXPECT_EQ(own.comm->device(0).wait_signal(7, 1), GinStatus::done);
        EXPECT_EQ(own.byte(2048), 91 - own.rank);
        // The other rank may still wait for the arrivals that this one replays.
        own.close();
    });
}

TEST(RmaPlugin, host_initiated_puts_and_graphs) {
    constexpr std::uint64_t kRounds = 200;
    run_plugin_ranks(3, [](const Exchange& exchange, const loader::AssignedRma& rma) {
        RmaProxyOptions options;
        int stranger = 0;
        options.connect_instance = &stranger;  // C-3
        auto proxy = RmaProxy::open(rma.table, rma.rma_instance, exchange, options);
        ASSERT_TRUE(proxy) << proxy.error().place;
        std::vector<std::uint64_t> memory(4);
        auto window = (*proxy)->register_window(std::as_writable_bytes(std::span(memory)));
        ASSERT_TRUE(window);
        const int next = (exchange.rank + 1) % 3;
        const int previous = (exchange.rank + 2) % 3;
        RmaItem item;
        item.peer = next;
        item.dst = item.src = *window;
        item.src_offset = 24;
        item.bytes = 8;
        RmaGraph graph;
        graph.items = {item};
        graph.waits = {{previous, 1}};
        const auto captured = (*proxy)->lane(0).capture(graph);
        ASSERT_TRUE(captured);
        (*proxy)->start();
        for (std::uint64_t round = 1; round <= kRounds; ++round) {
            memory[3] = round;
            const auto sequence = (*proxy)->put(0, item);
            ASSERT_TRUE(sequence);
            ASSERT_EQ((*proxy)->wait_done(0, next, *sequence), GinStatus::done);
            ASSERT_EQ((*proxy)->wait_arrivals(0, previous, round), GinStatus::done);
            EXPECT_GE(std::atomic_ref(memory[0]).load(), round);
            ASSERT_TRUE((*proxy)->lane(0).launch(*captured));
            ASSERT_EQ((*proxy)->wait_graph(0, *captured, round), GinStatus::done);
        }
        leave_together(exchange);
        EXPECT_TRUE((*proxy)->close());
    });
}

}  // namespace
}  // namespace duofi::gin::test
