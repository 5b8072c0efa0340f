// Two instances per communicator, device types, finalize in order, unloading (rma
// contract 1.3, 1.4).
#include "common/loader/rma_host.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "common/loader/host_logger.hpp"
#include "tests/unit/loader/plugin_directory.hpp"
#include "tests/unit/loader/plugins/mock_rma_life.h"

namespace duofi::loader::test {
namespace {

RmaRequest use(std::initializer_list<const char*> modules) {
    RmaRequest request;
    std::string list;
    for (const char* module : modules)
        list += (list.empty() ? "" : ",") + PluginDirectory::module_path(module);
    request.plugin = list;
    return request;
}

const mock_rma_instance& instance(void* given) {
    return *static_cast<const mock_rma_instance*>(given);
}

TEST(RmaHostTest, init_runs_twice_per_communicator_and_devices_once) {
    RmaHost host(use({"mock_life"}), host_logger());
    auto first = host.attach(11);
    auto second = host.attach(22);
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->name, "MockLife");
    EXPECT_EQ(first->table.version(), 16);
    EXPECT_EQ(first->devices, 2);
    EXPECT_EQ(second->devices, 2);
    EXPECT_TRUE(first->gin);
    const mock_rma_state& state = *instance(first->rma_instance).state;
    EXPECT_EQ(state.inits, 4);
    EXPECT_EQ(state.device_calls, 1);
    EXPECT_EQ(state.logger, host_logger());
    const std::vector<std::uint64_t> ids(state.comm_ids, state.comm_ids + 4);
    EXPECT_EQ(ids, (std::vector<std::uint64_t>{11, 11, 22, 22}));
    EXPECT_EQ(instance(first->rma_instance).number, 1);
    EXPECT_EQ(instance(first->gin_instance).number, 2);
    host.release(*first);
    EXPECT_EQ(state.finalizes, 2);
    EXPECT_EQ(state.finalized[0], 2) << "GIN first (L-14)";
    EXPECT_EQ(state.finalized[1], 1);
    EXPECT_TRUE(is_mapped("mock_life"));
    host.release(*second);
    EXPECT_FALSE(is_mapped("mock_life")) << "unmapped with the last communicator (L-17)";
    const RmaHost::Counts counts = host.counts();
    EXPECT_EQ(counts.inits, 4);
    EXPECT_EQ(counts.finalizes, 4);
    EXPECT_EQ(counts.loads, 1);
    EXPECT_EQ(counts.unloads, 1);
}

TEST(RmaHostTest, a_library_that_went_is_opened_again_for_the_next_communicator) {
    Lines lines;
    RmaHost host(use({"mock_life"}), nullptr, lines.log());
    for (int round = 1; round <= 3; ++round) {
        auto rma = host.attach(1);
        ASSERT_TRUE(rma);
        EXPECT_EQ(host.counts().loads, round);
        host.release(*rma);
        EXPECT_FALSE(is_mapped("mock_life"));
    }
    EXPECT_TRUE(lines.has("RMA/Plugin: Assigned plugin MockLife to comm"));
    EXPECT_TRUE(
        lines.has("RMA/Plugin: Unloading plugin " + PluginDirectory::module_path("mock_life")));
    EXPECT_EQ(lines.flags.back(), static_cast<unsigned long>(NCCL_DESTROY | NCCL_NET));
}

TEST(RmaHostTest, a_reference_count_of_one_keeps_the_library) {
    RmaHostOptions options;
    options.ref_count = 1;
    RmaHost host(use({"mock_life"}), nullptr, {}, options);
    auto rma = host.attach(1);
    ASSERT_TRUE(rma);
    host.release(*rma);
    EXPECT_TRUE(is_mapped("mock_life"));
    ASSERT_TRUE(host.attach(2));
    EXPECT_EQ(host.counts().loads, 1);
}

TEST(RmaHostTest, a_failing_entry_is_disabled_for_good_and_the_next_is_tried) {
    RmaHost host(use({"mock_life_bad_init", "mock_life_no_devices", "mock_life_other"}), nullptr);
    auto first = host.attach(1);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->name, "MockLifeOther");
    EXPECT_EQ(first->index, 2U);
    EXPECT_EQ(host.counts().finalizes, 0) << "no finalize for those that are given up";
    const int inits = host.counts().inits;
    auto second = host.attach(2);
    ASSERT_TRUE(second);
    EXPECT_EQ(host.counts().inits, inits + 2) << "disabled entries are not asked again";
}

TEST(RmaHostTest, without_a_plugin_there_are_only_the_built_in_backends) {
    Lines lines;
    RmaHost host(use({"mock_life_bad_init"}), nullptr, lines.log());
    const auto none = host.attach(1);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Errc::no_data);
    EXPECT_TRUE(lines.has("RMA/Plugin: Failed to initialize any plugin"));
}

TEST(RmaHostTest, a_v13_table_must_be_of_the_proxy_type) {
    Lines lines;
    RmaHost host(use({"mock_life_thirteen_host"}), nullptr, lines.log());
    EXPECT_FALSE(host.attach(1));
    EXPECT_TRUE(lines.has("RMA v13 (MockLife) requires GIN PROXY type, got netDeviceType 0"));
    RmaHost good(use({"mock_life_thirteen"}), nullptr);
    auto rma = good.attach(1);
    ASSERT_TRUE(rma);
    EXPECT_EQ(rma->table.version(), 13);
    good.release(*rma);
}

TEST(RmaHostTest, the_type_filter_ends_the_gin_instance_at_once) {
    RmaHostOptions options;
    options.gin_type = NCCL_NET_DEVICE_GIN_GDAKI;
    options.ref_count = 1;
    RmaHost host(use({"mock_life"}), nullptr, {}, options);
    auto rma = host.attach(1);
    ASSERT_TRUE(rma);
    EXPECT_FALSE(rma->gin);
    EXPECT_EQ(rma->gin_instance, nullptr);
    const mock_rma_state& state = *instance(rma->rma_instance).state;
    EXPECT_EQ(state.finalizes, 1);
    EXPECT_EQ(state.finalized[0], 2);
    host.release(*rma);
    EXPECT_EQ(state.finalizes, 2);
    EXPECT_EQ(state.finalized[1], 1);
}

TEST(RmaHostTest, a_second_init_that_fails_turns_only_gin_off) {
    RmaHost host(use({"mock_life_one_init"}), nullptr);
    auto rma = host.attach(1);
    ASSERT_TRUE(rma);
    EXPECT_FALSE(rma->gin);
    host.release(*rma);
    EXPECT_EQ(host.counts().finalizes, 1);
    EXPECT_EQ(host.counts().unloads, 1);
}

TEST(RmaHostTest, communicators_of_several_threads) {
    RmaHostOptions options;
    options.ref_count = 1;
    RmaHost host(use({"mock_life_other"}), nullptr, {}, options);
    auto keeper = host.attach(99);
    ASSERT_TRUE(keeper);
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            static std::mutex mock_takes_one_thread;
            const std::lock_guard lock(mock_takes_one_thread);
            auto rma = host.attach(i);
            ASSERT_TRUE(rma);
            host.release(*rma);
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(host.counts().inits, 10);
    EXPECT_EQ(host.counts().finalizes, 8);
    host.release(*keeper);
}

TEST(RmaHostTest, options_come_from_the_callers_variables) {
    ::setenv("NCCL_RMA_PLUGIN_REF_COUNT", "1", 1);
    ::setenv("NCCL_GIN_TYPE", "two", 1);
    const RmaHostOptions options = RmaHostOptions::from_environment();
    ::unsetenv("NCCL_RMA_PLUGIN_REF_COUNT");
    ::unsetenv("NCCL_GIN_TYPE");
    EXPECT_EQ(options.ref_count, 1);
    EXPECT_EQ(options.gin_type, -1) << "no number: the callers' default stays";
}

}  // namespace
}  // namespace duofi::loader::test
