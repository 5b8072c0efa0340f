// The trace: what is in it, and that it is JSON.
#include "common/gin/trace.hpp"

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/unit/gin/solo.hpp"

namespace duofi::gin::test {
namespace {

/// A file name of this process and test that vanishes at the end.
struct Scratch {
    explicit Scratch(const char* name)
        : path((std::filesystem::temp_directory_path() /
                ("duofi-" + std::to_string(::getpid()) + "-" + name))
                   .string()) {}
    ~Scratch() {
        std::error_code ignored;
        std::filesystem::remove(path, ignored);
    }
    std::string path;
};

nlohmann::json parse(const std::string& path) {
    std::ifstream file(path);
    return nlohmann::json::parse(file);
}

TEST(Trace, names_operations) {
    EXPECT_STREQ(op_name(op_put | op_counter), "put");
    EXPECT_STREQ(op_name(op_put | op_signal_add), "put+signal");
    EXPECT_STREQ(op_name(op_put | op_inline), "put_value");
    EXPECT_STREQ(op_name(op_put | op_inline | op_signal_inc), "put_value+signal");
    EXPECT_STREQ(op_name(op_va_signal | op_signal_inc), "va_signal");
    EXPECT_STREQ(op_name(op_get), "get");
    EXPECT_STREQ(op_name(op_flush), "flush");
    EXPECT_STREQ(op_name(0), "unknown");
}

TEST(Trace, an_empty_one_is_valid) {
    const Scratch file("empty.json");
    ASSERT_TRUE(Trace(4, 3).write_json(file.path));
    const auto json = parse(file.path);
    ASSERT_EQ(json["traceEvents"].size(), 1U);
    EXPECT_EQ(json["traceEvents"][0]["args"]["name"], "rank 3");
}

TEST(Trace, times_are_microseconds_from_the_first_event) {
    const Scratch file("times.json");
    Trace trace(4, 0);
    trace.add({op_get, false, 2, 5, 4096, 3'000'500, 3'002'000});
    trace.add({op_put, true, 0, 1, 64, 3'000'000, 3'010'000});
    ASSERT_TRUE(trace.write_json(file.path));
    const auto events = parse(file.path)["traceEvents"];
    ASSERT_EQ(events.size(), 3U);
    EXPECT_EQ(events[1]["name"], "get");
    EXPECT_EQ(events[1]["ph"], "X");
    EXPECT_DOUBLE_EQ(events[1]["ts"], 0.5);
    EXPECT_DOUBLE_EQ(events[1]["dur"], 1.5);
    EXPECT_EQ(events[1]["args"]["bytes"], 4096);
    EXPECT_EQ(events[1]["args"]["context"], 2);
    EXPECT_EQ(events[1]["args"]["peer"], 5);
    EXPECT_DOUBLE_EQ(events[2]["ts"], 0.0);
    EXPECT_EQ(events[2]["args"]["hinted"], true);
    EXPECT_NE(events[1]["tid"], events[2]["tid"]);
}

TEST(Trace, counts_what_it_has_no_room_for) {
    const Scratch file("full.json");
    Trace trace(2, 0);
    for (int i = 0; i < 5; ++i) trace.add({op_put, false, 0, 0, 0, i, i + 1});
    EXPECT_EQ(trace.size(), 2U);
    EXPECT_EQ(trace.dropped(), 3U);
    ASSERT_TRUE(trace.write_json(file.path));
    EXPECT_EQ(parse(file.path)["otherData"]["dropped"], 3);
}

TEST(Trace, a_folder_that_is_not_there_is_an_error) {
    const auto written = Trace(1, 0).write_json("/proc/no/such/file");
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, Errc::system);
}

using Traced = Solo;

TEST_F(Traced, every_completed_descriptor_is_an_event) {
    Trace trace(64, 0);
    GinOptions options;
    options.observers.trace = &trace;
    open(shape(), options);
    post_puts(1, 3);
    ASSERT_EQ(device().signal(2, Signal::inc(0)), GinStatus::done);
    proxy_->progress();
    EXPECT_EQ(trace.size(), 0U) << "nothing is done yet";
    proxy_->progress();
    EXPECT_EQ(trace.size(), 4U);
    const Scratch file("traced.json");
    ASSERT_TRUE(trace.write_json(file.path));
    const auto events = parse(file.path)["traceEvents"];
    EXPECT_EQ(events[1]["name"], "put");
    EXPECT_EQ(events[4]["name"], "put+signal");
    EXPECT_EQ(events[4]["args"]["peer"], 2);
}

}  // namespace
}  // namespace duofi::gin::test
