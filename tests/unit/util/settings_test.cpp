// Units: common/util/settings_document, common/util/settings_value.
#include "common/util/settings.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "common/util/settings_table.hpp"
#include "log_lines.hpp"
#include "settings_env.hpp"

namespace duofi {
namespace {

using test::LogLines;
using test::SettingsEnv;

const SettingDescriptor& row(std::string_view name) {
    return *find_setting(name);
}

TEST(Settings, EmptyEnvironmentGivesDefaultsAndNoLine) {
    const LogLines lines;
    const auto settings = SettingsEnv{}.load();
    ASSERT_TRUE(settings);
    EXPECT_TRUE(lines.all().empty()) << lines.dump();
    EXPECT_EQ(settings->cq_size, 12288u);
    EXPECT_EQ(settings->eager_max_size, 8192);
    EXPECT_FALSE(settings->exclude_tcp_if);
    EXPECT_FALSE(settings->domain_per_thread);
    EXPECT_EQ(settings->connect_timeout_s, 60);
}

TEST(Settings, ReadsEachKindOfValue) {
    const auto settings = SettingsEnv{
        {"OFI_NCCL_PROTOCOL", "rdma"},
        {"OFI_NCCL_EXCLUDE_TCP_IF", "lo,docker0"},
        {"OFI_NCCL_GDR_FLUSH_DISABLE", "True"},
        {"OFI_NCCL_EAGER_MAX_SIZE", "-1"},
        {"OFI_NCCL_CQ_SIZE", "4K"},
        {"OFI_NCCL_NET_LATENCY", "35.5"},
        {"OFI_NCCL_DOMAIN_PER_THREAD", "1"},
        {"OFI_NCCL_PROGRESS_MODEL", "manual"},
        {"OFI_NCCL_MIN_STRIPE_SIZE", "64K"},
        {"DUOFI_STALL_SECONDS", "500ms"},
        {"DUOFI_NET_TCP_RAILS", "4"},
        {"FI_PROVIDER", "any;thing"},
        {"NCCL_PROTO", ""}}.load();
    ASSERT_TRUE(settings);
    EXPECT_EQ(settings->protocol, "RDMA");
    EXPECT_EQ(settings->exclude_tcp_if, "lo,docker0");
    EXPECT_TRUE(settings->gdr_flush_disable);
    EXPECT_EQ(settings->eager_max_size, -1);
    EXPECT_EQ(settings->cq_size, 4096u);
    EXPECT_DOUBLE_EQ(settings->net_latency_us, 35.5);
    EXPECT_EQ(settings->domain_per_thread, true);
    EXPECT_EQ(settings->progress_model, "MANUAL");
    EXPECT_EQ(settings->min_stripe_size, 65536u);
    EXPECT_DOUBLE_EQ(settings->stall_seconds, 0.5);
    EXPECT_EQ(settings->tcp_rails, 4);
    EXPECT_EQ(settings->fi_provider, "any;thing");
    EXPECT_TRUE(settings->nccl_proto_set);
    EXPECT_EQ(settings->nccl_topo_file, "");
}

TEST(Settings, MinusOneLeavesTheThreadChoiceToThePlatform) {
    const auto settings = SettingsEnv{
        {"OFI_NCCL_DOMAIN_PER_THREAD", "-1"},
        {"OFI_NCCL_EARLY_COMPLETION",
         "auto"}}.load();
    ASSERT_TRUE(settings);
    EXPECT_FALSE(settings->domain_per_thread);
    EXPECT_FALSE(settings->early_completion);
}

TEST(Settings, AValueWithoutEffectSaysSo) {
    const LogLines lines;
    ASSERT_TRUE((SettingsEnv{{"OFI_NCCL_RR_CTRL_MSG", "0"}}.load()));
    EXPECT_EQ(lines.with("NET/OFI OFI_NCCL_RR_CTRL_MSG set to 0 has no effect: control messages").size(), 1u) << lines.dump();
    EXPECT_EQ(meaning_text(*find_setting("OFI_NCCL_RR_CTRL_MSG")).rfind("no effect: ", 0), 0u);
}

TEST(Settings, OneLimitOfAPairMovesTheOther) {
    const auto settings = SettingsEnv{
        {"OFI_NCCL_RDMA_MIN_POSTED_EAGER_BUFFERS", "200"},
        {"OFI_NCCL_RDMA_MAX_POSTED_CONTROL_BUFFERS",
         "8"}}.load();
    ASSERT_TRUE(settings);
    EXPECT_EQ(settings->eager_max_posted, 200);
    EXPECT_EQ(settings->control_min_posted, 8);
}

TEST(Settings, ContradictingPairFails) {
    const LogLines lines;
    const auto settings = SettingsEnv{
        {"OFI_NCCL_RDMA_MIN_POSTED_EAGER_BUFFERS", "200"},
        {"OFI_NCCL_RDMA_MAX_POSTED_EAGER_BUFFERS",
         "100"}}.load();
    ASSERT_FALSE(settings);
    EXPECT_EQ(settings.error().provider_errno, 22);
    EXPECT_EQ(lines.with("set to invalid value 200").size(), 1u) << lines.dump();
}

TEST(Settings, UnknownNameGetsTheNearestRealOne) {
    const LogLines lines;
    ASSERT_TRUE((SettingsEnv{
        {"OFI_NCCL_PROTOCOLL", "RDMA"},
        {"NCCL_OFI_CQ_SIZE", "1"},
        {"DUOFI_STRICKT", "1"},
        {"OFI_NCCL_COMPLETELY_ELSEWHERE_AND_LONG", "1"},
        {"PATH",
         "/bin"}}.load()));
    ASSERT_EQ(lines.all().size(), 4u) << lines.dump();
    EXPECT_EQ(lines.with("OFI_NCCL_PROTOCOLL is not").size(), 1u);
    EXPECT_EQ(lines.with("did you mean OFI_NCCL_PROTOCOL?").size(), 1u);
    EXPECT_EQ(lines.with("did you mean OFI_NCCL_CQ_SIZE?").size(), 1u);
    EXPECT_EQ(lines.with("did you mean DUOFI_STRICT?").size(), 1u);
    EXPECT_EQ(lines.with("ELSEWHERE_AND_LONG is not a variable of this package; docs").size(), 1u);
    for (const auto& line : lines.all()) {  // a likely slip is a warning, a name of others is not
        const bool slip = line.text.find("did you mean") != std::string::npos;
        EXPECT_EQ(line.level, slip ? log::Level::warn : log::Level::info) << line.text;
    }
}

TEST(Settings, DebugLevelBecomesTheThreshold) {
    const LogLines lines;
    (void)SettingsEnv{{"NCCL_DEBUG", "warn"}}.load();
    EXPECT_FALSE(log::enabled(log::Level::info));
    EXPECT_TRUE(log::enabled(log::Level::warn));
    (void)SettingsEnv{{"NCCL_DEBUG", "TRACE"}}.load();
    EXPECT_TRUE(log::enabled(log::Level::trace));
    (void)SettingsEnv{{"NCCL_DEBUG", "VERSION"}}.load();
    EXPECT_FALSE(log::enabled(log::Level::warn));
    (void)SettingsEnv{{"NCCL_DEBUG", "Abort"}}.load();
    EXPECT_TRUE(log::enabled(log::Level::info));
    EXPECT_FALSE(log::enabled(log::Level::trace));
    (void)SettingsEnv{{"NCCL_DEBUG", "nonsense"}}.load();
    EXPECT_TRUE(log::enabled(log::Level::info));
}

TEST(Settings, NamedByUser) {
    const auto named = [](const char* name, const char* value) {
        return SettingsEnv{{name, value}}.load()->named_by_user();
    };
    for (const char* value : {"duofi", "OFI", "ofi", "Libfabric", "AWS Libfabric"})
        EXPECT_TRUE(named("NCCL_NET", value)) << value;
    for (const char* value :
         {"duofi", "x,duofi", "librccl-net-duofi.so", "/opt/lib/libduofi-plugin.so"})
        EXPECT_TRUE(named("NCCL_NET_PLUGIN", value)) << value;
    for (const char* value : {"", "ofi", "none", "/opt/duofi/lib/libnccl-net-x.so"})
        EXPECT_FALSE(named("NCCL_NET_PLUGIN", value)) << value;
    EXPECT_FALSE(named("NCCL_NET", "Socket"));
    EXPECT_TRUE(named("DUOFI_STRICT", "1"));
    EXPECT_FALSE(Settings{}.named_by_user());
}

TEST(Settings, RowsShowValueDefaultAndSource) {
    const SettingsEnv environment{{"OFI_NCCL_CQ_SIZE", "100"}, {"DUOFI_NET_TCP_RAILS", "abc"}};
    const auto settings = environment.load();
    ASSERT_TRUE(settings);
    int seen = 0;
    for (const SettingRow& shown : setting_rows(*settings, environment.reader())) {
        EXPECT_FALSE(shown.accepted.empty() || shown.help.empty()) << shown.name;
        EXPECT_EQ(shown.from_environment, shown.name == "OFI_NCCL_CQ_SIZE") << shown.name;
        if (shown.name != "OFI_NCCL_CQ_SIZE") {
            EXPECT_EQ(shown.value, shown.default_text) << shown.name;
            continue;
        }
        ++seen;
        EXPECT_EQ(shown.value, "100");
        EXPECT_EQ(shown.default_text, "12288");
    }
    EXPECT_EQ(seen, 1);
}

// Of these only the presence counts: 0 or 1 would look like their value.
TEST(Settings, RowsOfVariablesThatAreLeftAloneSayWhetherTheyAreSet) {
    const SettingsEnv environment{{"NCCL_PROTO", ""}};
    const auto settings = environment.load();
    ASSERT_TRUE(settings);
    std::map<std::string, SettingRow> rows;
    for (SettingRow& shown : setting_rows(*settings, environment.reader())) rows[shown.name] = shown;
    EXPECT_EQ(rows.at("NCCL_PROTO").value, "set");
    EXPECT_EQ(rows.at("NCCL_PROTO").default_text, "unset");
    EXPECT_TRUE(rows.at("NCCL_PROTO").from_environment);
    EXPECT_EQ(rows.at("NCCL_TOPO_FILE").value, "unset");
    EXPECT_FALSE(rows.at("NCCL_TOPO_FILE").from_environment);
}

TEST(SettingsTable, NamesAreUniqueAndReadRowsAreBound) {
    std::set<std::string_view> names;
    for (const SettingDescriptor& descriptor : setting_table()) {
        EXPECT_TRUE(names.insert(descriptor.name).second) << descriptor.name;
        const bool bound = !std::holds_alternative<std::monostate>(descriptor.binding);
        EXPECT_EQ(bound, descriptor.use == SettingUse::read) << descriptor.name;
        EXPECT_EQ(descriptor.use == SettingUse::removed, !descriptor.replacement.empty());
    }
}

// Every default must be a value that the row itself accepts.
TEST(SettingsTable, DefaultsLieWithinTheirLimits) {
    const Settings defaults;
    for (const SettingDescriptor& descriptor : setting_table()) {
        if (descriptor.use != SettingUse::read || descriptor.form == SettingForm::presence)
            continue;
        const std::string text = value_text(defaults, descriptor);
        if (text == descriptor.unset_text) continue;
        Settings scratch;
        EXPECT_TRUE(assign_setting(scratch, descriptor, text)) << descriptor.name << " " << text;
        EXPECT_EQ(value_text(scratch, descriptor), text) << descriptor.name;
    }
}

TEST(SettingsTable, OwnersFollowThePrefix) {
    EXPECT_EQ(setting_owner(row("OFI_NCCL_CQ_SIZE")), SettingOwner::ofi_nccl);
    EXPECT_EQ(setting_owner(row("DUOFI_STRICT")), SettingOwner::duofi);
    EXPECT_EQ(setting_owner(row("FI_PROVIDER")), SettingOwner::foreign);
}

}  // namespace
}  // namespace duofi
