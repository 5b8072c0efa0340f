// Recording a stream, its file, and running it again.
// Units: common/gin/stream, common/gin/replay.
#include "common/gin/stream.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "common/gin/replay.hpp"
#include "tests/unit/gin/solo.hpp"

namespace duofi::gin::test {
namespace {

/// A run with every kind of descriptor; the recorder is the observer.
class Recorded : public Solo {
  protected:
    void SetUp() override {
        Solo::SetUp();
        path_ = (std::filesystem::temp_directory_path() /
                 ("duofi-" + std::to_string(::getpid()) + "-stream"))
                    .string();
    }
    void TearDown() override {
        std::error_code ignored;
        std::filesystem::remove(path_, ignored);
    }

    void open_recorded(StreamRecorder* recorder) {
        GinOptions options;
        options.connections = 2;
        options.observers.recorder = recorder;
        DeviceCommShape made = shape();
        made.shape.contexts = 4;
        open(made, options);
    }
    void run_everything() {
        for (int context = 0; context < 4; ++context) {
            Device kernel = device(context);
            ASSERT_EQ(kernel.put(1, {window_, 8}, {window_, 16}, 24, Signal::plus(1, 9), 2),
                      GinStatus::done);
            ASSERT_EQ(kernel.put_value<std::uint64_t>(2, {window_, 0}, 77), GinStatus::done);
            ASSERT_EQ(kernel.get(0, {window_, 0}, {window_, 40}, 8), GinStatus::done);
            ASSERT_EQ(kernel.signal(2, Signal::inc_at(window_, 64)), GinStatus::done);
            ASSERT_EQ(kernel.signal(1, Signal::inc(0)), GinStatus::done);
        }
        proxy_->start();
        for (int context = 0; context < 4; ++context)
            ASSERT_EQ(device(context).flush(), GinStatus::done);
        proxy_->stop();
    }
    Stream record_once() {
        StreamRecorder recorder(1000);
        open_recorded(&recorder);
        run_everything();
        return recorder.stream();
    }
    std::string read_file() const {
        std::ifstream file(path_, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    void write_file(const std::string& content) const {
        std::ofstream(path_, std::ios::binary) << content;
    }
    Errc load_error(const std::string& content) const {
        write_file(content);
        const auto loaded = load_stream(path_);
        return loaded ? Errc{} : loaded.error().code;
    }

    std::string path_;
};

TEST_F(Recorded, regions_are_numbers_and_the_shape_is_known) {
    const Stream stream = record_once();
    EXPECT_EQ(stream.shape, (StreamShape{kPeers, 0, 4, 4, 4, 32}));
    EXPECT_EQ(stream.region_bytes, std::vector<std::uint64_t>{4096});
    ASSERT_EQ(stream.entries.size(), 4U * 6U) << "five and a flush per context";
    for (const StreamEntry& entry : stream.entries) {
        const Descriptor d = unpack(entry.packed);
        if (d.has(op_get)) {
            EXPECT_EQ(d.src_handle, 1U);
        }
        if (d.has(op_va_signal)) {
            EXPECT_EQ(d.src_handle, 1U);
        }
        if (d.has(op_inline)) {
            EXPECT_EQ(d.inline_value, 77U);
        }
        if (d.op == op_flush) {
            EXPECT_EQ(entry.peer, 0U);
        }
    }
}

TEST_F(Recorded, the_file_gives_back_what_was_saved) {
    const Stream stream = record_once();
    ASSERT_TRUE(save(stream, path_));
    const auto loaded = load_stream(path_);
    ASSERT_TRUE(loaded) << loaded.error().place;
    EXPECT_EQ(loaded->shape, stream.shape);
    EXPECT_EQ(loaded->region_bytes, stream.region_bytes);
    ASSERT_EQ(loaded->entries.size(), stream.entries.size());
    for (std::size_t i = 0; i < stream.entries.size(); ++i) {
        EXPECT_TRUE(loaded->entries[i].same_operation(stream.entries[i]));
        EXPECT_EQ(loaded->entries[i].time, stream.entries[i].time);
    }
}

/// Golden bytes: the layout must not change without a new version.
TEST_F(Recorded, the_header_has_its_bytes) {
    Stream stream;
    stream.shape = {2, 1, 3, 4, 5, 32};
    stream.region_bytes = {0x1122};
    stream.dropped = 9;
    stream.entries.push_back({2, 1, 0x0102, pack({})});
    ASSERT_TRUE(save(stream, path_));
    const std::string bytes = read_file();
    ASSERT_EQ(bytes.size(), 64U + 8U + 144U);
    const std::string head("DUOFIGIN\x01\0\0\0\x40\0\0\0\x02\0\0\0\x01\0\0\0\x03\0\0\0", 28);
    EXPECT_EQ(bytes.substr(0, 28), head);
    EXPECT_EQ(bytes.substr(40, 8), std::string("\x01\0\0\0\x90\0\0\0", 8));
    EXPECT_EQ(bytes.substr(64, 2), "\x22\x11");
    EXPECT_EQ(bytes.substr(72, 10), std::string("\x02\0\0\0\x01\0\0\0\x02\x01", 10));
}

TEST_F(Recorded, files_that_are_no_streams_are_refused) {
    const Stream stream = record_once();
    ASSERT_TRUE(save(stream, path_));
    const std::string good = read_file();
    EXPECT_EQ(load_error(""), Errc::invalid_argument);
    EXPECT_EQ(load_error(good.substr(0, 63)), Errc::invalid_argument);
    EXPECT_EQ(load_error(good.substr(0, good.size() - 1)), Errc::invalid_argument);
    EXPECT_EQ(load_error(good + "x"), Errc::invalid_argument);
    const auto changed = [&](std::size_t at, char to) {
        std::string bad = good;
        bad[at] = to;
        return load_error(bad);
    };
    EXPECT_EQ(changed(0, 'X'), Errc::invalid_argument) << "magic";
    EXPECT_EQ(changed(8, 2), Errc::invalid_argument) << "version";
    EXPECT_EQ(changed(44, 1), Errc::invalid_argument) << "size of an entry";
    EXPECT_EQ(changed(53, 1), Errc::invalid_argument) << "number of entries";
    EXPECT_EQ(changed(72, 4), Errc::invalid_argument) << "context of the first entry";
    EXPECT_EQ(changed(76, 3), Errc::invalid_argument) << "its peer";
    EXPECT_EQ(changed(88, 0), Errc::invalid_argument) << "a word that was never written";
    EXPECT_EQ(changed(88 + 16 + 1, 1), Errc::invalid_argument) << "a region that does not exist";
    EXPECT_EQ(load_error(good), Errc{});
    const auto none = load_stream(path_ + ".absent");
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Errc::system);
}

TEST_F(Recorded, a_full_recorder_counts_what_it_drops) {
    StreamRecorder recorder(5);
    open_recorded(&recorder);
    run_everything();
    const Stream stream = recorder.stream();
    EXPECT_EQ(stream.entries.size(), 5U);
    EXPECT_EQ(stream.dropped, 19U);
}

/// The same calls reach the table, and a second recording equals the first.
TEST_F(Recorded, a_replay_is_equal_to_its_recording) {
    const Stream first = record_once();
    const auto calls = fake_.calls();
    proxy_.reset();
    StreamRecorder again(1000);
    open_recorded(&again);
    proxy_->start();
    ASSERT_TRUE(replay(first, *comm_, std::vector<Window>{window_}));
    proxy_->stop();
    const Stream second = again.stream();
    EXPECT_EQ(second.shape, first.shape);
    ASSERT_GE(second.entries.size(), first.entries.size());
    const auto of = [](const Stream& stream, std::uint32_t context, std::uint32_t peer) {
        std::vector<StreamEntry> some;
        for (const StreamEntry& entry : stream.entries)
            if (entry.context == context && entry.peer == peer) some.push_back(entry);
        return some;
    };
    for (std::uint32_t context = 0; context < 4; ++context)
        for (std::uint32_t peer = 0; peer < kPeers; ++peer) {
            const auto was = of(first, context, peer);
            const auto is = of(second, context, peer);
            ASSERT_GE(is.size(), was.size());
            for (std::size_t i = 0; i < was.size(); ++i)
                EXPECT_TRUE(is[i].same_operation(was[i])) << context << ' ' << peer << ' ' << i;
        }
    EXPECT_GE(fake_.calls().size(), calls.size());
}

TEST_F(Recorded, a_replay_needs_what_the_stream_needs) {
    Stream stream = record_once();
    const std::vector<Window> windows{window_};
    EXPECT_EQ(replay(stream, *comm_, {}).error().code, Errc::invalid_argument);
    stream.region_bytes[0] = 1 << 20;
    EXPECT_EQ(replay(stream, *comm_, windows).error().code, Errc::invalid_argument);
    stream.region_bytes[0] = 8;
    stream.shape.contexts = 5;
    EXPECT_EQ(replay(stream, *comm_, windows).error().code, Errc::invalid_argument);
}

TEST_F(Recorded, a_paced_replay_keeps_the_distances) {
    Stream stream;
    stream.shape = {kPeers, 0, 1, 0, 0, 32};
    Descriptor put;
    put.op = op_put;
    stream.entries.push_back({0, 1, 0, pack(put)});
    stream.entries.push_back({0, 1, 30 * kMillisecond, pack(put)});
    open_recorded(nullptr);
    proxy_->start();
    ReplayOptions options;
    options.paced = true;
    const Nanoseconds begin = now_ns();
    ASSERT_TRUE(replay(stream, *comm_, {}, options));
    EXPECT_GE(now_ns() - begin, 30 * kMillisecond);
}

}  // namespace
}  // namespace duofi::gin::test
