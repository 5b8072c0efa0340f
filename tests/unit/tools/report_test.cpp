#include "tools/duofi/report.hpp"

#include <gtest/gtest.h>

#include "tools/duofi/info_text.hpp"

namespace duofi::tool {
namespace {

InfoReport sample() {
    InfoReport report;
    report.settings = {{"DUOFI_STRICT", "1", "0", "0/1", "refuse bad values", true},
                       {"DUOFI_STALL_SECONDS", "30", "30", "seconds", "age", false}};
    report.discovered.refusals = {{"made_up", "dom0", "", "speaks no tags"}};
    report.plugin.asked = "duofi";
    report.plugin.file = "/lib/x\xff.so";  // not UTF-8, as a path may be
    report.plugin.tables = {"ncclNetPlugin_v6"};
    report.plugin.protocol = "RDMA";
    report.plugin.devices = {{"duofi_a", "", 1, 1, 2000, 1, 16, 8, 0.0}};
    report.plugin.rails = {"duofi_a: 2 rails over a, b, 2000 Mbit/s"};
    report.fingerprint = "duofi 1 plugin 2";
    return report;
}

TEST(Report, json_line_keeps_order_and_types_and_names_the_schema) {
    EXPECT_EQ(json_line("demo", {{"bytes", std::uint64_t{8}},
                                 {"ok", false},
                                 {"x", 0.5},
                                 {"name", std::string("a\"b")}}),
              "{\"schema_version\":1,\"kind\":\"demo\",\"bytes\":8,\"ok\":false,\"x\":0.5,"
              "\"name\":\"a\\\"b\"}\n");
}

TEST(Report, info_json_tells_where_each_setting_comes_from) {
    const std::string json = info_json(sample());
    const std::size_t strict = json.find("DUOFI_STRICT"), stall = json.find("DUOFI_STALL_SECONDS");
    ASSERT_NE(strict, std::string::npos);
    ASSERT_NE(stall, std::string::npos);
    EXPECT_LT(json.find("\"source\": \"environment\"", strict), stall);
    EXPECT_NE(json.find("\"source\": \"default\"", stall), std::string::npos);
}

TEST(Report, info_json_survives_bytes_that_are_no_text) {
    EXPECT_NE(info_json(sample()).find("/lib/x\xef\xbf\xbd.so"), std::string::npos);
}

TEST(InfoText, shows_refusals_with_reason_and_only_changed_settings) {
    const std::string text = info_text(sample());
    EXPECT_NE(text.find("made_up"), std::string::npos);
    EXPECT_NE(text.find("speaks no tags"), std::string::npos);
    EXPECT_NE(text.find("DUOFI_STRICT"), std::string::npos);
    EXPECT_EQ(text.find("DUOFI_STALL_SECONDS"), std::string::npos);
}

TEST(InfoText, shows_the_protocol_and_the_rails) {
    const std::string text = info_text(sample());
    EXPECT_NE(text.find("protocol    RDMA"), std::string::npos);
    EXPECT_NE(text.find("  duofi_a: 2 rails over a, b, 2000 Mbit/s\n"), std::string::npos);
}

TEST(InfoText, settings_text_shows_every_row) {
    const std::string text = settings_text(sample());
    EXPECT_NE(text.find("DUOFI_STRICT"), std::string::npos);
    EXPECT_NE(text.find("DUOFI_STALL_SECONDS"), std::string::npos);
}

}  // namespace
}  // namespace duofi::tool
