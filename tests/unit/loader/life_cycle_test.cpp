// Init, devices, finalize and unloading as communicators come and go (net contract 1.7).
// Units: common/loader/net_host, common/loader/net_table.
#include <gtest/gtest.h>

#include "common/loader/net_host.hpp"
#include "tests/unit/loader/plugin_directory.hpp"

namespace duofi::loader::test {
namespace {

constexpr int k2_27 = release_number(2, 27, 7);
constexpr int k2_28_3 = release_number(2, 28, 3);
constexpr int k2_28_7 = release_number(2, 28, 7);

std::string module_list(std::initializer_list<const char*> modules) {
    std::string list;
    for (const char* module : modules)
        list += (list.empty() ? "" : ",") + PluginDirectory::module_path(module);
    return list;
}

NetRequest use(int release, std::initializer_list<const char*> modules, std::string net = {}) {
    return net_request(Host::nccl, release, module_list(modules), std::move(net));
}

void expect_counts(const NetHost& host, int inits, int devices, int finalizes, int unloads) {
    const NetHost::Counts counts = host.counts();
    EXPECT_EQ(counts.inits, inits);
    EXPECT_EQ(counts.device_calls, devices);
    EXPECT_EQ(counts.finalizes, finalizes);
    EXPECT_EQ(counts.unloads, unloads);
}

TEST(LifeCycle, until_2_27_init_and_devices_run_once_and_the_library_stays) {
    NetHost host(use(k2_27, {"mock_six"}), nullptr);
    auto first = host.attach(1);
    auto second = host.attach(2);
    ASSERT_TRUE(first && second);
    ASSERT_NE(first->v6, nullptr);
    EXPECT_EQ(first->devices, 2);
    expect_counts(host, 1, 1, 0, 0);
    host.release(*first);
    host.release(*second);
    ASSERT_TRUE(host.attach(3));
    expect_counts(host, 1, 1, 0, 0);
    EXPECT_TRUE(is_mapped("mock_six"));
}

TEST(LifeCycle, reference_count_zero_unloads_in_2_27_and_forgets_the_name) {
    NetRequest request = use(k2_27, {"mock_six"});
    request.ref_count = 0;
    PluginDirectory folder;
    folder.link("libnccl-net.so", "mock_other");
    NetHost host(request, nullptr);
    auto first = host.attach(1);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->name, "MockSix");
    host.release(*first);
    EXPECT_FALSE(is_mapped("mock_six"));
    auto second = host.attach(2);
    ASSERT_TRUE(second);
    EXPECT_EQ(second->name, "MockOther") << "the wiped entry is reopened under the default name";
}

TEST(LifeCycle, old_tables_are_counted_from_2_28_and_reloaded_by_default) {
    Lines lines;
    NetHost host(use(kNewestRelease, {"mock_six"}), nullptr, lines.log());
    for (int round = 1; round <= 2; ++round) {
        auto first = host.attach(1);
        auto second = host.attach(2);
        ASSERT_TRUE(first && second);
        expect_counts(host, round, round, 0, round - 1);
        host.release(*first);
        EXPECT_TRUE(is_mapped("mock_six"));
        host.release(*second);
        EXPECT_FALSE(is_mapped("mock_six"));
        expect_counts(host, round, round, 0, round);
    }
    EXPECT_TRUE(lines.has("Unloading plugin " + PluginDirectory::module_path("mock_six")));
    EXPECT_EQ(lines.flags.back(), static_cast<unsigned long>(NCCL_DESTROY | NCCL_NET));
}

TEST(LifeCycle, a_reference_count_of_one_keeps_the_library_and_inits_it_again) {
    NetRequest request = use(kNewestRelease, {"mock_six"});
    request.ref_count = 1;
    NetHost host(request, nullptr);
    for (int round = 1; round <= 3; ++round) {
        auto net = host.attach(1);
        ASSERT_TRUE(net);
        host.release(*net);
        EXPECT_TRUE(is_mapped("mock_six"));
        // A second init without any finalize in between, devices only the first time.
        expect_counts(host, round, 1, 0, 0);
    }
}

TEST(LifeCycle, v11_has_one_init_and_finalize_per_communicator) {
    NetHost host(use(kNewestRelease, {"mock_eleven"}), nullptr);
    auto first = host.attach(1);
    auto second = host.attach(2);
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->version, 11);
    EXPECT_EQ(first->v6, nullptr);
    EXPECT_EQ(first->context, reinterpret_cast<void*>(1001));
    EXPECT_EQ(second->context, reinterpret_cast<void*>(1002));
    expect_counts(host, 2, 1, 0, 0);
    host.release(*first);
    host.release(*second);
    expect_counts(host, 2, 1, 2, 1);
}

TEST(LifeCycle, r2_28_3_asks_for_devices_each_time) {
    NetHost host(use(k2_28_3, {"mock_eleven"}), nullptr);
    ASSERT_TRUE(host.attach(1) && host.attach(2));
    expect_counts(host, 2, 2, 0, 0);
}

TEST(LifeCycle, lines_are_word_for_word) {
    Lines lines;
    const std::string six = PluginDirectory::module_path("mock_six");
    const std::string other = PluginDirectory::module_path("mock_other");
    NetHost host(use(kNewestRelease, {"mock_six", "mock_other"}), nullptr, lines.log());
    auto net = host.attach(1);
    ASSERT_TRUE(net);
    host.release(*net);
    EXPECT_EQ(lines.texts,
              (Texts{"NCCL_NET_PLUGIN set by environment to " + six + "," + other,
                     "NET/Plugin: Loaded net plugin MockSix (v6)",
                     "Successfully loaded external network plugin " + six,
                     "Initialized NET plugin MockSix", "Assigned NET plugin MockSix to comm",
                     "Disabling external plugins: " + other, "Unloading plugin " + six}));
}

TEST(LifeCycle, a_failed_init_disables_for_good_and_the_next_is_taken) {
    Lines lines;
    NetHost host(use(kNewestRelease, {"mock_bad_init", "mock_six"}), nullptr, lines.log());
    auto first = host.attach(1);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->name, "MockSix");
    EXPECT_EQ(first->index, 1U);
    EXPECT_TRUE(lines.has("Failed to initialize NET plugin MockBadInit"));
    expect_counts(host, 2, 1, 0, 0);
    ASSERT_TRUE(host.attach(2));
    expect_counts(host, 2, 1, 0, 0);
}

TEST(LifeCycle, no_devices_is_a_failure_and_finalize_follows_a_good_init_only) {
    NetHost none(use(kNewestRelease, {"mock_eleven_no_devices"}), nullptr);
    EXPECT_FALSE(none.attach(1));
    expect_counts(none, 1, 1, 1, 0);
    NetHost bad(use(kNewestRelease, {"mock_eleven_bad_init"}), nullptr);
    EXPECT_FALSE(bad.attach(1));
    expect_counts(bad, 1, 0, 0, 0);
    // 2.28 calls finalize even after a failed init.
    NetHost older(use(k2_28_7, {"mock_eleven_bad_init"}), nullptr);
    EXPECT_FALSE(older.attach(1));
    expect_counts(older, 1, 0, 1, 0);
}

TEST(LifeCycle, a_failed_load_is_not_retried) {
    Lines lines;
    NetHost host(use(kNewestRelease, {"mock_nothing", "mock_six"}), nullptr, lines.log());
    ASSERT_TRUE(host.attach(1) && host.attach(2));
    EXPECT_EQ(host.counts().loads, 1);
    int unsupported = 0;
    for (const std::string& text : lines.texts)
        if (text.find("is unsupported") != std::string::npos) ++unsupported;
    EXPECT_EQ(unsupported, 1);
}

TEST(LifeCycle, the_name_is_compared_before_init_from_2_28_7_net_contract_1_3) {
    NetHost newer(use(k2_28_7, {"mock_six", "mock_other"}, "mockother"), nullptr);
    auto net = newer.attach(1);
    ASSERT_TRUE(net);
    EXPECT_EQ(net->name, "MockOther");
    expect_counts(newer, 1, 1, 0, 0);
    NetHost older(use(k2_28_3, {"mock_eleven", "mock_other"}, "mockother"), nullptr);
    auto late = older.attach(1);
    ASSERT_TRUE(late);
    EXPECT_EQ(late->name, "MockOther");
    expect_counts(older, 2, 2, 0, 0);
}

TEST(LifeCycle, a_foreign_device_type_is_rejected_and_finalized) {
    Lines lines;
    NetHost host(use(kNewestRelease, {"mock_odd_type", "mock_six"}), nullptr, lines.log());
    auto net = host.attach(1);
    ASSERT_TRUE(net);
    EXPECT_EQ(net->name, "MockSix");
    EXPECT_TRUE(lines.has("Unknown device code index 2"));
    EXPECT_EQ(host.counts().finalizes, 1);
}

TEST(LifeCycle, nothing_left_is_quiet_unless_a_network_was_asked_for) {
    Lines quiet;
    NetHost host(use(kNewestRelease, {"mock_bad_init"}), nullptr, quiet.log());
    EXPECT_FALSE(host.attach(1));
    for (const int level : quiet.levels) EXPECT_EQ(level, NCCL_LOG_INFO);
    Lines loud;
    NetHost named(use(kNewestRelease, {"mock_bad_init"}, "MockBadInit"), nullptr, loud.log());
    EXPECT_FALSE(named.attach(1));
    EXPECT_EQ(loud.texts.back(), "Failed to initialize any NET plugin");
    EXPECT_EQ(loud.levels.back(), NCCL_LOG_WARN);
}

}  // namespace
}  // namespace duofi::loader::test
