// Units: common/util/log, common/util/fmt_code.
#include "common/util/log.hpp"

#include <gtest/gtest.h>
#include <link.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>

#include "log_lines.hpp"

namespace duofi {
namespace {

using test::LogLines;

constexpr char kOneNumber[] = "number {}";
constexpr char kOneText[] = "{}";
constexpr char kNumbers[] = "{:.1f} {} {}";

TEST(Log, PassesLevelSubsystemPlaceAndText) {
    const LogLines lines;
    log::warn(log::net | log::reg, kOneNumber, 7);
    const int here = __LINE__ - 1;
    ASSERT_EQ(lines.all().size(), 1u);
    const auto line = lines.all().front();
    EXPECT_EQ(line.level, log::Level::warn);
    EXPECT_EQ(line.subsystems, 0x2010ul);
    EXPECT_EQ(line.text, "number 7");
    EXPECT_EQ(line.line, here);
    EXPECT_TRUE(line.file.ends_with("log_test.cpp")) << line.file;
}

TEST(Log, DropsLinesBeforeAnySinkIsSet) {
    log::set_sink({});
    log::warn(log::net, kOneNumber, 1);
    const LogLines lines;
    EXPECT_TRUE(lines.all().empty());
}

TEST(Log, ThresholdDecides) {
    const LogLines lines(log::Level::warn);
    log::info(log::net, kOneNumber, 1);
    EXPECT_TRUE(lines.all().empty());
    EXPECT_FALSE(log::enabled(log::Level::info));
    log::set_threshold(log::Level::trace);
    log::info(log::net, kOneNumber, 2);
    log::trace(log::net, kOneNumber, 3);
    ASSERT_EQ(lines.all().size(), 2u) << lines.dump();
    EXPECT_EQ(lines.all()[1].level, log::Level::trace);
}

TEST(Log, LongMessagePassesWhole) {
    const LogLines lines;
    const std::string text = std::string(10'000, 'x') + "end";
    log::info(log::net, kOneText, text);
    ASSERT_EQ(lines.all().size(), 1u);
    EXPECT_EQ(lines.all()[0].text, text);
}

TEST(Log, OneCallIsOneLine) {
    const LogLines lines;
    log::info(log::net, kOneText, std::string("a\nb\tc\0d\r\n", 9));
    ASSERT_EQ(lines.all().size(), 1u);
    EXPECT_EQ(lines.all()[0].text, "a b c d ");
}

TEST(Log, BracesOfAValueAreNotAFormat) {
    const LogLines lines;
    log::info(log::net, kOneText, "{} %s %n {0}");
    ASSERT_EQ(lines.all().size(), 1u);
    EXPECT_EQ(lines.all()[0].text, "{} %s %n {0}");
}

TEST(Log, FormatsFloatingPointNumbers) {
    const LogLines lines;
    log::info(log::net, kNumbers, 75.04, 0.1, 2.5F);
    ASSERT_EQ(lines.all().size(), 1u);
    EXPECT_EQ(lines.all()[0].text, "75.0 0.1 2.5");
}

TEST(Log, SinkThatThrowsLosesOneLineOnly) {
    std::atomic<int> calls{0};
    log::set_sink([&](log::Level, unsigned long, const char*, int, const char*) {
        if (++calls == 1) throw std::runtime_error("no");
    });
    log::warn(log::net, kOneNumber, 1);
    log::warn(log::net, kOneNumber, 2);
    log::set_sink({});
    EXPECT_EQ(calls.load(), 2);
}

TEST(Log, OldSinkIsDestroyedBySwap) {
    auto state = std::make_shared<int>(1);
    const std::weak_ptr<int> watch = state;
    log::set_sink([state](log::Level, unsigned long, const char*, int, const char*) {});
    state.reset();
    EXPECT_FALSE(watch.expired());
    log::set_sink({});
    EXPECT_TRUE(watch.expired());
}

// Each sink notes when it is called after set_sink has replaced it; that must never happen.
TEST(Log, SwapWaitsForCallersInFlight) {
    constexpr int kThreads = 4;
    constexpr int kSwaps = 2'000;
    struct State {
        std::atomic<bool> replaced{false};
        std::atomic<long> lines{0};
    };
    std::atomic<bool> stop{false};
    std::atomic<bool> late{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
        threads.emplace_back([&] {
            while (!stop.load()) log::warn(log::net, kOneNumber, 1);
        });
    long lines = 0;
    for (int i = 0; i < kSwaps; ++i) {
        State state;
        log::set_sink([&](log::Level, unsigned long, const char*, int, const char* text) {
            if (state.replaced.load()) late = true;
            state.lines += text[0] == 'n' ? 1 : 0;
            std::this_thread::yield();
            if (state.replaced.load()) late = true;
        });
        if (i % 16 == 0)
            while (state.lines.load() == 0) std::this_thread::yield();
        log::set_sink({});
        state.replaced = true;
        lines += state.lines.load();
    }
    stop = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_FALSE(late.load());
    EXPECT_GE(lines, kSwaps / 16);
}

TEST(Log, SwapWaitsForASlowSink) {
    std::atomic<bool> inside{false};
    std::atomic<bool> go_on{false};
    std::atomic<bool> swapped{false};
    std::atomic<bool> swapped_too_early{false};
    log::set_sink([&](log::Level, unsigned long, const char*, int, const char*) {
        inside = true;
        while (!go_on.load()) std::this_thread::yield();
        if (swapped.load()) swapped_too_early = true;
    });
    std::thread logger([] { log::warn(log::net, kOneNumber, 1); });
    while (!inside.load()) std::this_thread::yield();
    std::thread swapper([&] {
        log::set_sink({});
        swapped = true;
    });
    for (int i = 0; i < 1'000; ++i) std::this_thread::yield();
    EXPECT_FALSE(swapped.load());
    go_on = true;
    logger.join();
    swapper.join();
    EXPECT_FALSE(swapped_too_early.load());
}

TEST(Log, NeedsNoSharedLibraryOfFmtOrSpdlog) {
    std::string bad;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* found) {
            const std::string name = info->dlpi_name;
            if (name.find("libfmt") != std::string::npos ||
                name.find("libspdlog") != std::string::npos)
                *static_cast<std::string*>(found) += name + " ";
            return 0;
        },
        &bad);
    EXPECT_EQ(bad, "");
}

}  // namespace
}  // namespace duofi
