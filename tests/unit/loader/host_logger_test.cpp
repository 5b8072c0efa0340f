// The callback that plugins get, its filter, and the form of a line (net contract 2.1).
#include "common/loader/host_logger.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <mutex>
#include <thread>
#include <vector>

#include "tests/unit/loader/plugin_directory.hpp"

namespace duofi::loader::test {
namespace {

class HostLogger : public ::testing::Test {
  protected:
    void SetUp() override {
        set_host_sink([this](const PluginLine& line) { lines_.push_back(line); });
        set_host_level(NCCL_LOG_INFO);
    }
    void TearDown() override {
        set_host_sink({});
        set_host_level(NCCL_LOG_NONE);
    }
    std::vector<PluginLine> lines_;
};

TEST_F(HostLogger, formats_and_passes_everything_on) {
    host_logger()(NCCL_LOG_INFO, NCCL_NET, "a.cpp", 12, "%s has %d of %lu%%\n", "x", -3, 9UL);
    ASSERT_EQ(lines_.size(), 1U);
    EXPECT_EQ(lines_[0].level, NCCL_LOG_INFO);
    EXPECT_EQ(lines_[0].subsystems, static_cast<unsigned long>(NCCL_NET));
    EXPECT_EQ(lines_[0].file, "a.cpp");
    EXPECT_EQ(lines_[0].line, 12);
    EXPECT_EQ(lines_[0].text, "x has -3 of 9%");
}

TEST_F(HostLogger, survives_null_and_long_arguments) {
    host_logger()(NCCL_LOG_WARN, NCCL_ALL, nullptr, 0, "%s", std::string(10000, 'z').c_str());
    const ncclDebugLogger_t logger = host_logger();
    const char* none = nullptr;
    logger(NCCL_LOG_WARN, NCCL_ALL, "f", 0, none);
    ASSERT_EQ(lines_.size(), 1U);
    EXPECT_EQ(lines_[0].file, "<unknown>");
    EXPECT_EQ(lines_[0].text.size(), 4095U);
}

TEST_F(HostLogger, drops_by_level_and_by_subsystem_also_warnings) {
    set_host_level(NCCL_LOG_WARN, NCCL_INIT | NCCL_ENV);
    host_logger()(NCCL_LOG_INFO, NCCL_INIT, "f", 1, "too low");
    host_logger()(NCCL_LOG_WARN, NCCL_NET, "f", 1, "other subsystem");
    host_logger()(NCCL_LOG_WARN, NCCL_INIT | NCCL_NET, "f", 1, "kept");
    ASSERT_EQ(lines_.size(), 1U);
    EXPECT_EQ(lines_[0].text, "kept");
}

TEST_F(HostLogger, reads_the_callers_variables) {
    EXPECT_EQ(host_level_of("info"), NCCL_LOG_INFO);
    EXPECT_EQ(host_level_of("TRACE"), NCCL_LOG_TRACE);
    EXPECT_EQ(host_level_of("loud"), NCCL_LOG_NONE);
    EXPECT_EQ(host_level_of(""), NCCL_LOG_NONE);
    EXPECT_EQ(host_subsystems_of("INIT,net"), static_cast<unsigned long>(NCCL_INIT | NCCL_NET));
    EXPECT_EQ(host_subsystems_of("^NET"), ~static_cast<unsigned long>(NCCL_NET));
    EXPECT_EQ(host_subsystems_of("ALL"), ~0UL);
    EXPECT_EQ(host_subsystems_of("nonsense"), 0UL);
}

TEST_F(HostLogger, prints_as_the_callers_do) {
    char node[256] = {};
    ASSERT_EQ(::gethostname(node, sizeof node - 1), 0);
    const std::string full(node);
    const std::string start = full.substr(0, full.find('.')) + ":" + std::to_string(::getpid()) +
                              ":" + std::to_string(::syscall(SYS_gettid)) + " [0] ";
    EXPECT_EQ(as_host_line({NCCL_LOG_INFO, NCCL_NET, "f.cpp", 3, "text"}),
              start + "NCCL INFO text");
    EXPECT_EQ(as_host_line({NCCL_LOG_WARN, NCCL_NET, "f.cpp", 3, "text"}),
              start + "f.cpp:3 NCCL WARN text");
    EXPECT_EQ(as_host_line({NCCL_LOG_WARN, NCCL_NET, "", 0, "text"}), start + "NCCL WARN text");
}

TEST_F(HostLogger, default_sink_is_stderr) {
    set_host_sink({});
    ::testing::internal::CaptureStderr();
    host_line(NCCL_LOG_INFO, NCCL_INIT, "hello there");
    const std::string out = ::testing::internal::GetCapturedStderr();
    EXPECT_TRUE(out.ends_with("[0] NCCL INFO hello there\n")) << out;
}

TEST_F(HostLogger, reaches_a_plugin_through_init) {
    auto plugin =
        open_net(net_request(Host::rccl, kNewestRelease, PluginDirectory::module_path("mock_six")));
    ASSERT_TRUE(plugin);
    ASSERT_EQ(plugin->v6()->init(host_logger()), ncclSuccess);
    ASSERT_EQ(lines_.size(), 1U);
    EXPECT_EQ(lines_[0].text, "mock init 42");
    EXPECT_EQ(lines_[0].file, "mock_net.c");
}

TEST_F(HostLogger, takes_lines_from_many_threads) {
    std::mutex mutex;
    int count = 0;
    set_host_sink([&](const PluginLine&) {
        const std::lock_guard lock(mutex);
        ++count;
    });
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([] {
            for (int k = 0; k < 100; ++k) host_logger()(NCCL_LOG_INFO, NCCL_NET, "f", k, "%d", k);
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(count, 400);
}

}  // namespace
}  // namespace duofi::loader::test
