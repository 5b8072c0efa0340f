// Lines and rules of the releases before 2.28 (net contract 1.2, 1.4; report A1).
#include <gtest/gtest.h>

#include "tests/unit/loader/plugin_directory.hpp"

namespace duofi::loader::test {
namespace {

NetRequest nccl(int release, std::optional<std::string> plugin) {
    return net_request(Host::nccl, release, std::move(plugin));
}

TEST(OldRelease, r2_20_takes_a_suffix_only) {
    PluginDirectory folder;
    folder.link("libnccl-net-duofi.so", "mock_six");
    Lines lines;
    ASSERT_TRUE(open_net(nccl(release_number(2, 20, 5), "duofi"), lines.log()));
    EXPECT_EQ(lines.texts, (Texts{"Plugin name set by env to libnccl-net-duofi.so",
                                  "NET/Plugin: Failed to find ncclNetPlugin_v8 symbol.",
                                  "NET/Plugin: Loaded net plugin MockSix (v6)",
                                  "NET/Plugin: Failed to find ncclCollNetPlugin_v8 symbol.",
                                  "NET/Plugin: Failed to find ncclCollNetPlugin symbol (>= v5). "
                                  "ncclCollNetPlugin symbols v4 and lower are not supported."}));
    Lines missing;
    EXPECT_FALSE(open_net(nccl(release_number(2, 20, 5), "libnccl-net-duofi.so"), missing.log()));
    EXPECT_EQ(missing.texts.back(),
              "NET/Plugin : dlerror=libnccl-net-libnccl-net-duofi.so.so: cannot open shared object "
              "file: No such file or directory No plugin found "
              "(libnccl-net-libnccl-net-duofi.so.so), using internal implementation");
}

TEST(OldRelease, r2_20_without_table) {
    PluginDirectory folder;
    folder.link("libnccl-net-empty.so", "mock_nothing");
    Lines lines;
    EXPECT_FALSE(open_net(nccl(release_number(2, 20, 5), "empty"), lines.log()));
    EXPECT_EQ(
        lines.texts.back(),
        "NET/Plugin: Failed to find ncclNetPlugin symbol (>= v5). ncclNetPlugin symbols v4 and "
        "lower are not supported.");
}

TEST(OldRelease, r2_18_names_v4_and_v5) {
    PluginDirectory folder;
    folder.link("libnccl-net-empty.so", "mock_nothing");
    Lines lines;
    EXPECT_FALSE(open_net(nccl(release_number(2, 18, 6), "empty"), lines.log()));
    EXPECT_EQ(lines.texts.back(), "NET/Plugin: Failed to find ncclNetPlugin symbol (v4 or v5).");
}

TEST(OldRelease, r2_22_tries_the_name_then_the_prefix) {
    PluginDirectory folder;
    folder.link("libnccl-net-duofi.so", "mock_six");
    Lines lines;
    ASSERT_TRUE(open_net(nccl(release_number(2, 22, 3), "duofi"), lines.log()));
    EXPECT_EQ(lines.texts.front(), "NET/Plugin: Plugin name set by env to libnccl-net-duofi.so");
    EXPECT_TRUE(lines.has("NET/Plugin: Failed to find ncclNetPlugin_v8 symbol."));
    Lines missing;
    EXPECT_FALSE(open_net(nccl(release_number(2, 22, 3), "ofi"), missing.log()));
    EXPECT_EQ(missing.texts, Texts{"NET/Plugin: Could not find: ofi libnccl-net-ofi.so. Using "
                                   "internal network plugin."});
}

TEST(OldRelease, r2_21_reports_the_last_loader_error) {
    Lines missing;
    EXPECT_FALSE(open_net(nccl(release_number(2, 21, 5), "ofi"), missing.log()));
    EXPECT_EQ(missing.texts,
              (Texts{"NET/Plugin: Plugin load returned 2 : libnccl-net-ofi.so: cannot open shared "
                     "object file: No such file or directory : when loading ofi",
                     "NET/Plugin: Using internal network plugin."}));
}

TEST(OldRelease, r2_26_has_a_line_for_every_missing_version) {
    PluginDirectory folder;
    folder.link("libnccl-net.so", "mock_six");
    Lines lines;
    ASSERT_TRUE(open_net(nccl(release_number(2, 26, 2), std::nullopt), lines.log()));
    ASSERT_EQ(lines.texts.size(), 10U);
    EXPECT_EQ(lines.texts[0], "NET/Plugin: Failed to find ncclNetPlugin_v10 symbol.");
    EXPECT_EQ(lines.texts[3], "NET/Plugin: Failed to find ncclNetPlugin_v7 symbol.");
    EXPECT_EQ(lines.texts[4], "NET/Plugin: Loaded net plugin MockSix (v6)");
    EXPECT_EQ(lines.texts[5], "NET/Plugin: Failed to find ncclCollNetPlugin_v10 symbol.");
    EXPECT_EQ(lines.texts[9], "NET/Plugin: Failed to find ncclCollNetPlugin_v6 symbol.");
}

TEST(OldRelease, r2_26_forgets_the_first_missing_name) {
    Lines missing;
    EXPECT_FALSE(open_net(nccl(release_number(2, 26, 2), "ofi"), missing.log()));
    EXPECT_EQ(missing.texts,
              Texts{"NET/Plugin: Could not find: libnccl-net-ofi.so. Using internal net plugin."});
}

TEST(OldRelease, r2_27_3_takes_whole_names_only_as_given) {
    PluginDirectory folder;
    folder.link("libnccl-net-duofi.so", "mock_six");
    const int release = release_number(2, 27, 3);
    EXPECT_TRUE(open_net(nccl(release, "duofi")));
    EXPECT_TRUE(open_net(nccl(release, "libnccl-net-duofi.so")));
    Lines lines;
    const std::string path = PluginDirectory::module_path("mock_six");
    EXPECT_FALSE(open_net(nccl(release, path), lines.log())) << "not even an absolute path";
    EXPECT_EQ(lines.texts.back(), "NET/Plugin: Could not find: libnccl-net-" + path + ".so. ");
}

TEST(OldRelease, r2_27_5_says_the_list_name) {
    PluginDirectory folder;
    folder.link("libnccl-net-duofi.so", "mock_six");
    Lines lines;
    ASSERT_TRUE(open_net(nccl(release_number(2, 27, 5), "duofi"), lines.log()));
    EXPECT_EQ(lines.texts.front(), "NET/Plugin: Plugin name set by env to libnccl-net-duofi.so");
    EXPECT_EQ(lines.texts.back(), "Successfully loaded external plugin duofi");
}

TEST(OldRelease, an_unknown_network_name_is_a_warning) {
    Lines lines;
    NetRequest request = nccl(release_number(2, 26, 2), "ofi");
    request.net = "AWS Libfabric";
    EXPECT_FALSE(open_net(request, lines.log()));
    EXPECT_EQ(lines.texts.back(), "Error: network AWS Libfabric not found.");
    EXPECT_EQ(lines.levels.back(), NCCL_LOG_WARN);
}

}  // namespace
}  // namespace duofi::loader::test
