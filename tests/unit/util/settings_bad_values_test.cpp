// Report A3: every variable of ours with every kind of nonsense, and what is said about it.
#include <gtest/gtest.h>

#include "common/util/settings_table.hpp"
#include "log_lines.hpp"
#include "settings_env.hpp"

namespace duofi {
namespace {

using test::LogLines;
using test::SettingsEnv;

TEST(SettingsBadValues, EveryVariableGivesExactlyOneClearLine) {
    for (const SettingDescriptor& row : setting_table()) {
        if (setting_owner(row) == SettingOwner::foreign) continue;
        for (const char* value :
             {"", " ", "abc", "-1", "99999999999999999999", ",,", ";", "1\n2"}) {
            SCOPED_TRACE(std::string(row.name) + "='" + value + "'");
            const LogLines lines;
            const std::string name(row.name);
            const auto settings = SettingsEnv{{name, value}}.load();
            ASSERT_EQ(lines.all().size(), 1u) << lines.dump();
            const auto line = lines.all().front();
            EXPECT_NE(line.text.find(name + " "), std::string::npos) << line.text;
            EXPECT_EQ(line.text.find('\n'), std::string::npos);
            const bool bad = line.text.find("set to invalid value") != std::string::npos;
            if (bad) {
                EXPECT_EQ(line.level, log::Level::warn);
                EXPECT_NE(line.text.find(accepted_text(row)), std::string::npos) << line.text;
            }
            const bool fails = bad && setting_owner(row) == SettingOwner::ofi_nccl;
            EXPECT_EQ(!settings.has_value(), fails) << line.text;
            if (fails) {
                EXPECT_EQ(settings.error().code, Errc::internal);
                EXPECT_EQ(settings.error().provider_errno, 22);
            }
        }
    }
}

TEST(SettingsBadValues, EmptyIsUnsetForTextsAndBadForNumbers) {
    const LogLines lines;
    const auto texts = SettingsEnv{
        {"OFI_NCCL_PROTOCOL", ""},
        {"OFI_NCCL_EXCLUDE_TCP_IF", ""},
        {"DUOFI_OFI_PROVIDER", " "},
        {"OFI_NCCL_PLATFORM",
         ""}}.load();
    ASSERT_TRUE(texts);
    EXPECT_EQ(lines.with("counts as not set").size(), 4u) << lines.dump();
    EXPECT_FALSE(texts->exclude_tcp_if);
    EXPECT_FALSE((SettingsEnv{{"OFI_NCCL_CQ_SIZE", ""}}.load()));
    EXPECT_EQ(lines.with("OFI_NCCL_CQ_SIZE set to invalid value (empty)").size(), 1u)
        << lines.dump();
}

TEST(SettingsBadValues, AllAreReportedBeforeFailing) {
    const LogLines lines;
    EXPECT_FALSE((SettingsEnv{
        {"OFI_NCCL_CQ_SIZE", "x"},
        {"OFI_NCCL_PROTOCOL", "TCP"},
        {"DUOFI_PEER_TIMEOUT", "soon"},
        {"OFI_NCCL_TYPO",
         "1"}}.load()));
    EXPECT_EQ(lines.with("set to invalid value").size(), 3u) << lines.dump();
    EXPECT_EQ(lines.with("OFI_NCCL_PROTOCOL set to invalid value TCP (accepted: SENDRECV or RDMA)")
                  .size(),
              1u)
        << lines.dump();
    EXPECT_EQ(lines.with("OFI_NCCL_TYPO").size(), 1u);
}

TEST(SettingsBadValues, StrictTurnsOurWarningIntoAFailure) {
    const LogLines lines;
    const auto lenient = SettingsEnv{{"DUOFI_PEER_TIMEOUT", "-1"}}.load();
    ASSERT_TRUE(lenient);
    EXPECT_EQ(lenient->peer_timeout_s, 0);
    EXPECT_EQ(lines.with("using the default, 0").size(), 1u) << lines.dump();
    EXPECT_FALSE((SettingsEnv{{"DUOFI_PEER_TIMEOUT", "-1"}, {"DUOFI_STRICT", "yes"}}.load()));
    EXPECT_TRUE((SettingsEnv{{"DUOFI_PEER_TIMEOUT", "-1"}, {"DUOFI_STRICT", "maybe"}}.load()));
}

TEST(SettingsBadValues, LimitsOfNumbers) {
    for (const auto& [name, value] :
         std::vector<std::pair<std::string, std::string>>{{"OFI_NCCL_MR_KEY_SIZE", "0"},
                                                          {"OFI_NCCL_MR_KEY_SIZE", "9"},
                                                          {"OFI_NCCL_CQ_READ_COUNT", "0"},
                                                          {"OFI_NCCL_EAGER_MAX_SIZE", "-2"},
                                                          {"OFI_NCCL_NIC_DUP_CONNS", "-1"},
                                                          {"OFI_NCCL_NET_LATENCY", "nan"},
                                                          {"OFI_NCCL_FORCE_NUM_RAILS", "5"},
                                                          {"OFI_NCCL_MIN_STRIPE_SIZE", "0"},
                                                          {"OFI_NCCL_CM_NUM_RX_BUFFERS", "0"},
                                                          {"OFI_NCCL_CQ_SIZE", "17G"}})
        EXPECT_FALSE((SettingsEnv{{name, value}}.load())) << name << "=" << value;
}

TEST(SettingsBadValues, LongValueIsCutInTheMessage) {
    const LogLines lines;
    EXPECT_FALSE((SettingsEnv{{"OFI_NCCL_CQ_SIZE", std::string(100'000, '9')}}.load()));
    ASSERT_EQ(lines.all().size(), 1u);
    EXPECT_LT(lines.all()[0].text.size(), 400u);
}

TEST(SettingsBadValues, NamesWithoutEffectNeverFail) {
    const LogLines lines;
    EXPECT_TRUE((SettingsEnv{
        {"OFI_NCCL_DISABLE_CLOSE_MESSAGE", "0"},
        {"OFI_NCCL_RDMA_MIN_POSTED_BOUNCE_BUFFERS", "1"},
        {"OFI_NCCL_TUNER_TYPE", "x"},
        {"DUOFI_RMA",
         "1"}}.load()));
    ASSERT_EQ(lines.all().size(), 4u) << lines.dump();
    const auto removed = lines.with("MIN_POSTED_BOUNCE_BUFFERS has been removed");
    ASSERT_EQ(removed.size(), 1u);
    EXPECT_EQ(removed[0].level, log::Level::warn);
    EXPECT_NE(removed[0].text.find("OFI_NCCL_RDMA_MIN_POSTED_EAGER_BUFFERS"), std::string::npos);
    EXPECT_NE(removed[0].text.find("OFI_NCCL_RDMA_MIN_POSTED_CONTROL_BUFFERS"), std::string::npos);
}

}  // namespace
}  // namespace duofi
