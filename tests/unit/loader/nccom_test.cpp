// libnccom's binding by fixed offsets (net contract 1.5, 1.6).
#include <gtest/gtest.h>
#include <sys/utsname.h>

#include "common/loader/fork_check.hpp"
#include "common/loader/net_host.hpp"
#include "tests/unit/loader/plugin_directory.hpp"

namespace duofi::loader::test {
namespace {

NetRequest nccom() {
    NetRequest request = net_request(Host::libnccom, kNewestRelease, "ignored", "ignored");
    request.fork_safe_set = true;
    return request;
}

TEST(Libnccom, init_is_at_8_and_devices_at_24) {
    PluginDirectory folder;
    folder.link("libnccom-net.so", "mock_neuron");
    auto plugin = open_net(nccom());
    ASSERT_TRUE(plugin);
    EXPECT_EQ(plugin->version(), 6);
    EXPECT_EQ(plugin->v6(), nullptr) << "the canonical view of this table would be wrong";
    auto devices = bind_fixed_offsets(*plugin, nullptr);
    ASSERT_TRUE(devices);
    EXPECT_EQ(*devices, 2);
    EXPECT_EQ(mock_state(*plugin).inits, 1);
    EXPECT_EQ(mock_state(*plugin).device_calls, 1);
    EXPECT_EQ(mock_state(*plugin).fini_calls, 0);
}

TEST(Libnccom, missing_library) {
    Lines lines;
    auto plugin = open_net(nccom(), lines.log());
    ASSERT_FALSE(plugin);
    EXPECT_EQ(plugin.error().code, Errc::system);
    EXPECT_EQ(lines.texts, Texts{"NET/Plugin: libnccom-net.so load returned 1"});
}

TEST(Libnccom, missing_symbol_closes_the_library) {
    PluginDirectory folder;
    folder.link("libnccom-net.so", "mock_nothing");
    Lines lines;
    EXPECT_FALSE(open_net(nccom(), lines.log()));
    EXPECT_EQ(lines.texts, Texts{"Failed to find ncclNetPlugin_v6 symbol."});
    EXPECT_FALSE(is_mapped("libnccom-net") || is_mapped("mock_nothing"));
}

TEST(Libnccom, failed_init) {
    PluginDirectory folder;
    folder.link("libnccom-net.so", "mock_neuron_bad_init");
    auto plugin = open_net(nccom());
    ASSERT_TRUE(plugin);
    Lines lines;
    EXPECT_FALSE(bind_fixed_offsets(*plugin, nullptr, lines.log()));
    EXPECT_EQ(lines.texts, Texts{"OFI plugin initNet() failed is EFA enabled?"});
}

TEST(Libnccom, an_old_kernel_needs_the_variable) {
    PluginDirectory folder;
    folder.link("libnccom-net.so", "mock_neuron");
    NetRequest request = nccom();
    request.fork_safe_set = false;
    utsname system{};
    ASSERT_EQ(::uname(&system), 0);
    Lines lines;
    const bool opened = open_net(request, lines.log()).has_value();
    EXPECT_EQ(opened, fork_safe(system.release, false));
    EXPECT_EQ(lines.texts.empty(), opened);
}

TEST(Libnccom, life_cycle_is_one_init_and_one_fini) {
    PluginDirectory folder;
    folder.link("libnccom-net.so", "mock_neuron");
    auto keeper =
        open_net(nccom());  // holds the library, so that its counters can be read at the end
    ASSERT_TRUE(keeper);
    {
        NetHost host(nccom(), nullptr);
        auto first = host.attach(1);
        auto second = host.attach(2);
        ASSERT_TRUE(first && second);
        EXPECT_EQ(first->devices, 2);
        EXPECT_EQ(first->v6, nullptr);
        host.release(*first);
        host.release(*second);
        EXPECT_EQ(mock_state(*keeper).inits, 1);
        EXPECT_EQ(mock_state(*keeper).fini_calls, 0);
    }
    EXPECT_EQ(mock_state(*keeper).fini_calls, 1);
}

}  // namespace
}  // namespace duofi::loader::test
