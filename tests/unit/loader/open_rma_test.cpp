// The RMA list and its look-ups (rma contract 1.1 to 1.3, L-1 to L-4, L-6, L-9 to L-11).
#include <gtest/gtest.h>

#include "tests/unit/loader/plugin_directory.hpp"

namespace duofi::loader::test {
namespace {

RmaRequest request(Host host, std::optional<std::string> plugin, OpenLibraries open = {}) {
    RmaRequest made;
    made.host = host;
    made.plugin = std::move(plugin);
    made.open = std::move(open);
    return made;
}

TEST(OpenRma, short_name_and_lines_L_6) {
    PluginDirectory folder;
    const std::string path = folder.link("librccl-rma-duofi.so", "mock_rma_all");
    Lines lines;
    auto plugin = open_rma(request(Host::rccl, "duofi"), lines.log());
    ASSERT_TRUE(plugin);
    EXPECT_EQ(plugin->version(), 16);
    EXPECT_EQ(plugin->name(), "MockRma16");
    EXPECT_EQ(lines.texts, (Texts{"NCCL_RMA_PLUGIN set by environment to duofi",
                                  "RMA/Plugin: Loaded rma plugin MockRma16 (v16)",
                                  "RMA/Plugin: Successfully loaded external plugin " + path}));
    folder.link("duofi", "mock_rma_thirteen");
    auto literal = open_rma(request(Host::rccl, "duofi"));
    ASSERT_TRUE(literal);
    EXPECT_EQ(literal->name(), "MockRma13") << "a file with the literal name goes first";
}

TEST(OpenRma, each_caller_takes_the_newest_that_it_knows_L_11) {
    const std::string path = PluginDirectory::module_path("mock_rma_all");
    auto nccl = open_rma(request(Host::nccl, path));
    ASSERT_TRUE(nccl);
    EXPECT_EQ(nccl->version(), 14);
}

TEST(OpenRma, v13_look_up_falls_back_to_the_gin_symbol_L_10) {
    auto own = open_rma(request(Host::nccl, PluginDirectory::module_path("mock_rma_thirteen")));
    ASSERT_TRUE(own);
    EXPECT_EQ(own->name(), "MockRma13");
    auto gin = open_rma(request(Host::nccl, PluginDirectory::module_path("mock_gin_thirteen")));
    ASSERT_TRUE(gin);
    EXPECT_EQ(gin->version(), 13);
    EXPECT_EQ(gin->name(), "MockGin13");
}

TEST(OpenRma, default_name_L_1) {
    PluginDirectory folder;
    folder.link("libnccl-rma.so", "mock_rma_all");
    EXPECT_TRUE(open_rma(request(Host::nccl, std::nullopt)));
    EXPECT_FALSE(open_rma(request(Host::rccl, std::nullopt)));
}

TEST(OpenRma, an_open_net_library_is_adopted_even_with_none_L_3_L_4) {
    PluginDirectory folder;
    folder.link("librccl-net-duofi.so", "mock_net_and_rma");
    auto net = open_net(net_request(Host::rccl, kNewestRelease, "duofi"));
    ASSERT_TRUE(net);
    Lines lines;
    auto rma = open_rma(request(Host::rccl, "none", {std::nullopt, net->opened_as()}), lines.log());
    ASSERT_TRUE(rma);
    EXPECT_EQ(rma->name(), "MockRma14");
    EXPECT_EQ(rma->library_path(), net->library_path());
    EXPECT_NE(rma->symbol("ncclNetPlugin_v6"), nullptr);
    EXPECT_EQ(rma->symbol("ncclNetPlugin_v6"), net->table()) << "one mapping for both";
    EXPECT_EQ(lines.texts.front(), "NCCL_RMA_PLUGIN set by environment to none");
}

TEST(OpenRma, a_gin_library_comes_before_the_net_library_L_3) {
    const OpenLibraries open{PluginDirectory::module_path("mock_gin_thirteen"),
                             PluginDirectory::module_path("mock_net_and_rma")};
    auto rma = open_rma(request(Host::rccl, "none", open));
    ASSERT_TRUE(rma);
    EXPECT_EQ(rma->name(), "MockGin13");
}

TEST(OpenRma, failure_has_a_line_in_nccl_and_none_in_rccl) {
    const std::string path = PluginDirectory::module_path("mock_nothing");
    Lines nccl;
    EXPECT_FALSE(open_rma(request(Host::nccl, path), nccl.log()));
    ASSERT_EQ(nccl.texts.size(), 3U);
    EXPECT_TRUE(nccl.texts[1].starts_with("RMA/Plugin: Failed to load external plugin " + path +
                                          ", dlHandle: 0x"));
    EXPECT_TRUE(nccl.texts[1].ends_with(", ncclRma: (nil)"));
    EXPECT_EQ(nccl.texts[2], "RMA/Plugin: Failed to initialize any plugin");
    Lines rccl;
    EXPECT_FALSE(open_rma(request(Host::rccl, path), rccl.log()));
    EXPECT_EQ(rccl.texts, (Texts{"NCCL_RMA_PLUGIN set by environment to " + path,
                                 "RMA/Plugin: Failed to initialize any plugin"}));
}

TEST(OpenRma, missing_names_are_one_line) {
    Lines lines;
    EXPECT_FALSE(open_rma(request(Host::rccl, "nowhere"), lines.log()));
    EXPECT_TRUE(lines.has("RMA/Plugin: Could not find: nowhere librccl-rma-nowhere.so"));
}

}  // namespace
}  // namespace duofi::loader::test
