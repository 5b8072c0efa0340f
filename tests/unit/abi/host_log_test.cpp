#include "common/abi/host_log.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "common/util/log.hpp"

namespace duofi::abi {
namespace {

constexpr char kText[] = "NET/OFI value {}";

struct Line {
    ncclDebugLogLevel level;
    unsigned long flags;
    std::string file, format, text;
    int line;
};
std::vector<Line> first_lines, second_lines;

std::string expand(const char* format, va_list arguments) {
    char buffer[256];
    vsnprintf(buffer, sizeof buffer, format, arguments);
    return buffer;
}

#define DUOFI_TEST_LOGGER(name, lines)                                                      \
    void name(ncclDebugLogLevel level, unsigned long flags, const char* file, int line,     \
              const char* format, ...) {                                                    \
        va_list arguments;                                                                  \
        va_start(arguments, format);                                                        \
        lines.push_back(Line{level, flags, file, format, expand(format, arguments), line}); \
        va_end(arguments);                                                                  \
    }
DUOFI_TEST_LOGGER(first_logger, first_lines)
DUOFI_TEST_LOGGER(second_logger, second_lines)

class HostLog : public testing::Test {
  protected:
    void SetUp() override {
        log::set_threshold(log::Level::trace);
        release_host_logger();
        first_lines.clear();
        second_lines.clear();
    }
    void TearDown() override { release_host_logger(); }
};

TEST_F(HostLog, passes_level_flags_place_and_text) {
    adopt_host_logger(&first_logger);
    log::warn(log::all, kText, 1);
    log::info(log::net | log::init, kText, 2);
    const int line = __LINE__ - 1;
    log::trace(log::reg, kText, 3);
    ASSERT_EQ(first_lines.size(), 3u);
    EXPECT_EQ(first_lines[0].level, NCCL_LOG_WARN);
    EXPECT_EQ(first_lines[0].flags, ~0UL);
    EXPECT_EQ(first_lines[1].level, NCCL_LOG_INFO);
    EXPECT_EQ(first_lines[1].flags, static_cast<unsigned long>(NCCL_NET | NCCL_INIT));
    EXPECT_EQ(first_lines[1].line, line);
    EXPECT_NE(first_lines[1].file.find("host_log_test.cpp"), std::string::npos);
    EXPECT_EQ(first_lines[1].text, "NET/OFI value 2");
    EXPECT_EQ(first_lines[2].level, NCCL_LOG_TRACE);
    EXPECT_EQ(first_lines[2].flags, static_cast<unsigned long>(NCCL_REG));
}

TEST_F(HostLog, text_is_never_a_format) {
    adopt_host_logger(&first_logger);
    log::warn(log::net, kText, "%s %n {} 100%");
    ASSERT_EQ(first_lines.size(), 1u);
    EXPECT_EQ(first_lines[0].format, "%s");
    EXPECT_EQ(first_lines[0].text, "NET/OFI value %s %n {} 100%");
}

TEST_F(HostLog, without_a_logger_lines_are_dropped) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    adopt_host_logger(nullptr);
    log::warn(log::net, kText, 1);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(HostLog, the_newest_valid_logger_wins) {
    adopt_host_logger(&first_logger);
    adopt_host_logger(nullptr);
    log::warn(log::net, kText, 1);
    EXPECT_EQ(first_lines.size(), 1u);
    adopt_host_logger(&second_logger);
    adopt_host_logger(nullptr);
    log::warn(log::net, kText, 2);
    EXPECT_EQ(first_lines.size(), 1u);
    EXPECT_EQ(second_lines.size(), 1u);
}

TEST_F(HostLog, released_logger_gets_nothing) {
    adopt_host_logger(&first_logger);
    release_host_logger();
    log::warn(log::net, kText, 1);
    EXPECT_TRUE(first_lines.empty());
    adopt_host_logger(nullptr);
    log::warn(log::net, kText, 2);
    EXPECT_TRUE(first_lines.empty());
}

// Concurrent part: three loggers take turns while two threads log.
constexpr int kLoggers = 3;
constexpr int kThreads = 2;
constexpr int kLinesPerThread = 20'000;
std::array<std::atomic<long>, kLoggers> received;
std::array<std::atomic<bool>, kLoggers> retired;
std::atomic<long> calls_after_retirement{0};

template <int Index>
void counting_logger(ncclDebugLogLevel, unsigned long, const char*, int, const char*, ...) {
    if (retired[Index].load()) ++calls_after_retirement;
    ++received[Index];
    if (retired[Index].load()) ++calls_after_retirement;
}

TEST_F(HostLog, swapping_while_others_log_loses_no_line_and_calls_no_retired_logger) {
    constexpr std::array<ncclDebugLogger_t, kLoggers> loggers = {
        &counting_logger<0>, &counting_logger<1>, &counting_logger<2>};
    adopt_host_logger(loggers[0]);
    std::atomic<int> running{kThreads};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
        threads.emplace_back([&running] {
            for (int i = 0; i < kLinesPerThread; ++i) log::info(log::net, kText, i);
            --running;
        });
    int current = 0;
    long swaps = 0;
    while (running.load() > 0 || swaps < kLoggers) {
        const int next = (current + 1) % kLoggers;
        retired[next] = false;
        adopt_host_logger(loggers[next]);
        retired[current] = true;
        current = next;
        ++swaps;
    }
    for (auto& thread : threads) thread.join();
    release_host_logger();
    long total = 0;
    for (const auto& count : received) total += count.load();
    EXPECT_EQ(total, long{kThreads} * kLinesPerThread);
    EXPECT_EQ(calls_after_retirement.load(), 0);
    EXPECT_GE(swaps, kLoggers);
}

}  // namespace
}  // namespace duofi::abi
