// Opening and probing as the newest callers do it, and their lines (net contract 1.1 to 1.4;
// reports A1, A2).
// Units: common/loader/plugin_host, common/loader/library_open, common/loader/library_probe.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/unit/loader/plugin_directory.hpp"

namespace duofi::loader::test {
namespace {

constexpr unsigned long kInitNet = NCCL_INIT | NCCL_NET;

NetRequest rccl(std::optional<std::string> plugin, std::string net = {}) {
    return net_request(Host::rccl, kNewestRelease, std::move(plugin), std::move(net));
}

TEST(OpenNet, short_name_finds_the_prefixed_file_and_says_so) {
    PluginDirectory folder;
    const std::string path = folder.link("librccl-net-duofi.so", "mock_six");
    Lines lines;
    auto plugin = open_net(rccl("duofi"), lines.log());
    ASSERT_TRUE(plugin);
    EXPECT_EQ(plugin->name(), "MockSix");
    EXPECT_EQ(plugin->version(), 6);
    EXPECT_EQ(plugin->opened_as(), "librccl-net-duofi.so");
    EXPECT_EQ(plugin->library_path(), PluginDirectory::module_path("mock_six"));
    ASSERT_NE(plugin->v6(), nullptr);
    EXPECT_EQ(plugin->v6(), plugin->table());
    EXPECT_STREQ(plugin->v6()->name, "MockSix");
    EXPECT_EQ(mock_state(*plugin).inits, 0) << "opening must not call init";
    EXPECT_EQ(lines.texts, (Texts{"NCCL_NET_PLUGIN set by environment to duofi",
                                  "NET/Plugin: Loaded net plugin MockSix (v6)",
                                  "Successfully loaded external network plugin " + path}));
    EXPECT_EQ(lines.flags, (std::vector<unsigned long>{NCCL_ENV | NCCL_NET, kInitNet, kInitNet}));
    EXPECT_EQ(lines.levels, (std::vector<int>(3, NCCL_LOG_INFO)));
}

TEST(OpenNet, a_file_called_like_the_short_name_wins) {
    PluginDirectory folder;
    folder.link("duofi", "mock_other");
    folder.link("librccl-net-duofi.so", "mock_six");
    auto plugin = open_net(rccl("duofi"));
    ASSERT_TRUE(plugin);
    EXPECT_EQ(plugin->name(), "MockOther");
}

TEST(OpenNet, each_form_opens_one_file_report_A2) {
    PluginDirectory folder;
    folder.link("librccl-net.so", "mock_six");
    folder.link("libnccl-net.so", "mock_six");
    folder.link("libnccl-net-duofi.so", "mock_six");
    const std::string real = PluginDirectory::module_path("mock_six");
    const std::string relative = std::filesystem::relative(real).string();
    const std::vector<NetRequest> forms = {
        rccl(std::nullopt),
        rccl(real),
        rccl("libnccl-net-duofi.so"),
        rccl(relative.find('/') == std::string::npos ? "./" + relative : relative),
        net_request(Host::nccl, kNewestRelease, "duofi"),
        net_request(Host::nccl, kNewestRelease, std::nullopt)};
    for (const NetRequest& form : forms) {
        auto plugin = open_net(form);
        ASSERT_TRUE(plugin) << form.plugin.value_or("unset");
        EXPECT_EQ(plugin->library_path(), real);
    }
}

TEST(OpenNet, closing_unmaps_the_library) {
    const std::string real = PluginDirectory::module_path("mock_other");
    {
        auto plugin = open_net(rccl(real));
        ASSERT_TRUE(plugin);
        EXPECT_TRUE(is_mapped("mock_other"));
        NetPlugin moved = std::move(*plugin);
        EXPECT_EQ(moved.name(), "MockOther");
        EXPECT_TRUE(is_mapped("mock_other"));
    }
    EXPECT_FALSE(is_mapped("mock_other"));
}

TEST(OpenNet, missing_names_are_one_line) {
    Lines lines;
    auto plugin = open_net(rccl("nowhere"), lines.log());
    ASSERT_FALSE(plugin);
    EXPECT_EQ(plugin.error().code, Errc::no_data);
    EXPECT_EQ(lines.texts, (Texts{"NCCL_NET_PLUGIN set by environment to nowhere",
                                  "NET/Plugin: Could not find: nowhere librccl-net-nowhere.so"}));
}

TEST(OpenNet, other_loader_errors_have_their_own_line) {
    PluginDirectory folder;
    const std::string path = folder.link("librccl-net-broken.so", "mock_unresolved");
    Lines lines;
    EXPECT_FALSE(open_net(rccl("broken"), lines.log()));
    ASSERT_EQ(lines.texts.size(), 3U);
    EXPECT_EQ(lines.texts[1], "NET/Plugin: librccl-net-broken.so: " + path +
                                  ": undefined symbol: duofi_mock_nowhere_defined");
    EXPECT_EQ(lines.texts[2], "NET/Plugin: Could not find: broken");
}

TEST(OpenNet, a_missing_dependency_is_not_a_missing_plugin_L_8) {
    const std::string path = PluginDirectory::module_path("mock_dependent");
    Lines lines;
    EXPECT_FALSE(open_net(rccl(path), lines.log()));
    ASSERT_EQ(lines.texts.size(), 2U);
    EXPECT_EQ(
        lines.texts[1],
        "NET/Plugin: " + path +
            ": libmock_dependency.so: cannot open shared object file: No such file or directory");
}

TEST(OpenNet, a_library_without_table_is_unsupported_and_closed) {
    const std::string path = PluginDirectory::module_path("mock_nothing");
    Lines lines;
    EXPECT_FALSE(open_net(rccl(path), lines.log()));
    EXPECT_TRUE(lines.has("External network plugin " + path + " is unsupported"));
    EXPECT_FALSE(is_mapped("mock_nothing"));
}

TEST(OpenNet, newest_known_version_wins_net_contract_1_4) {
    const std::string path = PluginDirectory::module_path("mock_six_seven");
    auto newest = open_net(rccl(path));
    ASSERT_TRUE(newest);
    EXPECT_EQ(newest->version(), 7);
    EXPECT_EQ(newest->name(), "MockSeven");
    EXPECT_EQ(newest->v6(), nullptr);
    // NCCL 2.18 does not know v7.
    PluginDirectory folder;
    folder.link("libnccl-net-both.so", "mock_six_seven");
    auto old = open_net(net_request(Host::nccl, release_number(2, 18, 6), "both"));
    ASSERT_TRUE(old);
    EXPECT_EQ(old->version(), 6);
    EXPECT_EQ(old->name(), "MockSix");
}

TEST(OpenNet, list_order_decides) {
    PluginDirectory folder;
    folder.link("librccl-net-one.so", "mock_six");
    folder.link("librccl-net-two.so", "mock_other");
    auto plugin = open_net(rccl("nowhere,,two,one"));
    ASSERT_TRUE(plugin);
    EXPECT_EQ(plugin->name(), "MockOther");
}

TEST(OpenNet, network_name_filters_in_any_case_net_contract_1_3) {
    PluginDirectory folder;
    folder.link("librccl-net-one.so", "mock_six");
    folder.link("librccl-net-two.so", "mock_other");
    auto plugin = open_net(rccl("one,two", "mockOTHER"));
    ASSERT_TRUE(plugin);
    EXPECT_EQ(plugin->name(), "MockOther");
    EXPECT_FALSE(is_mapped("mock_six"));
    Lines lines;
    EXPECT_FALSE(open_net(rccl("one,two", "Mock"), lines.log()));
    EXPECT_EQ(lines.texts.back(), "Failed to initialize any NET plugin");
    EXPECT_EQ(lines.levels.back(), NCCL_LOG_WARN);
}

TEST(OpenNet, built_in_networks_are_no_failure_for_the_caller) {
    Lines lines;
    EXPECT_FALSE(open_net(rccl("none", "socket"), lines.log()));
    EXPECT_EQ(lines.texts, Texts{"NCCL_NET_PLUGIN set by environment to none"});
}

TEST(OpenNet, static_plugin_means_this_program_L_7) {
    for (const char* word : {"STATIC_PLUGIN", "s", "Stat"}) {
        auto plugin = open_net(rccl(word));
        ASSERT_TRUE(plugin) << word;
        EXPECT_EQ(plugin->name(), "InProgram");
        EXPECT_EQ(plugin->version(), 8);
        EXPECT_EQ(plugin->library_path(), std::filesystem::read_symlink("/proc/self/exe").string());
    }
}

}  // namespace
}  // namespace duofi::loader::test
