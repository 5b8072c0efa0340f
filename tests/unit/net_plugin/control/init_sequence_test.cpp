// Init that succeeds: order and lines of I1-I14 (net contract 4.1), environment batch
// (architecture 4.11).
#include "common/util/library_file.hpp"
#include "net_plugin/init_sequence.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/util/version.hpp"
#include "fake_init_steps.hpp"
#include "tests/unit/util/log_lines.hpp"

namespace duofi::net {
namespace {

using memory::GdrState;
using test::FakeInitSteps;
using duofi::test::LogLines;

using Texts = std::vector<std::string>;

const std::string kInitializingLine = std::string("NET/OFI Initializing duofi ") + kVersion;

TEST(InitSequence, StepsAndLinesInOrder) {
    const LogLines log;
    FakeInitSteps steps;
    InitContext context;
    ASSERT_TRUE(run_init(steps, context));
    const Texts calls{"load_settings", "fi_version", "dmi_product_name", "discover",
                      "create_plugin", "self_test",  "set_environment"};
    EXPECT_EQ(steps.calls, calls);
    const Texts lines{
        kInitializingLine,                                           // I2
        "NET/OFI Using Libfabric version 1.17",                      // I3
        "NET/OFI Plugin selected platform: Default",                 // I5
        "NET/OFI Using transport protocol SENDRECV",                 // I6
        "NET/OFI Creating one domain per process",                   // I9
        "NET/OFI Support for global registrations: true",            // I11
        "NET/OFI Support for DMA-BUF registrations: false",          // I11
        "NET/OFI Need to force simple protocol: GDR not supported",  // I13
        std::string("NET/OFI duofi ") + kVersion +
            ": libfabric 1.17 (/usr/lib/libfabric.so.1), provider tcp;ofi_rxm, 1 devices: "
            "duofi_eth0, table v6, protocol SENDRECV, settings: OFI_NCCL_CQ_SIZE=64",
        "NET/OFI Setting NCCL_PROTO=simple",
    };
    EXPECT_EQ(log.texts(), lines);
    EXPECT_EQ(log.warnings(), 0U);
}

TEST(InitSequence, ContextHoldsWhatWasDecided) {
    FakeInitSteps steps;
    steps.settings.cq_size = 77;
    steps.settings.net_latency_us = 3.5;
    InitContext context;
    context.table_version = 9;
    ASSERT_TRUE(run_init(steps, context));
    EXPECT_EQ(context.table_version, 9);
    EXPECT_EQ(context.settings.cq_size, 77U);
    EXPECT_EQ(context.fi_version, 0x10011U);
    EXPECT_EQ(context.libfabric_file, "/usr/lib/libfabric.so.1");
    EXPECT_EQ(context.page_bytes, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)));
    EXPECT_EQ(context.granule_bytes, registration_granule(context.page_bytes));
    EXPECT_DOUBLE_EQ(context.platform.latency_us, 3.5);
    EXPECT_EQ(context.protocol.kind, ProtocolKind::sendrecv);
    EXPECT_EQ(context.discovery.device_names, Texts{"duofi_eth0"});
    EXPECT_TRUE(context.self_test.reg_is_global);
}

TEST(InitSequence, StepsSeeEarlierDecisions) {
    FakeInitSteps steps;
    steps.product = "p3dn.24xlarge";
    InitContext context;
    ASSERT_TRUE(run_init(steps, context));
    EXPECT_TRUE(steps.seen_by_discover.platform.filter_efa);  // S17
    EXPECT_EQ(steps.seen_by_discover.effective.ofi_provider, "efa");
    EXPECT_EQ(steps.seen_by_discover.effective.nic_dup_conns, 4);
    EXPECT_EQ(steps.seen_by_discover.settings.nic_dup_conns, 0);
    EXPECT_EQ(steps.seen_by_discover.protocol.kind, ProtocolKind::sendrecv);
    EXPECT_EQ(steps.seen_by_create.discovery.provider, "tcp;ofi_rxm");
}

TEST(InitSequence, I4Granule) {
    EXPECT_EQ(registration_granule(4096), 4096U);
    EXPECT_EQ(registration_granule(65'536), 4096U);
    EXPECT_EQ(registration_granule(1024), 1024U);
}

TEST(InitSequence, I6LinesNameWhoDecided) {
    const LogLines log;
    FakeInitSteps steps;
    InitContext context;
    steps.settings.protocol = "sendrecv";
    ASSERT_TRUE(run_init(steps, context));
    EXPECT_TRUE(log.info("NET/OFI Using transport protocol SENDRECV (user set)"));
    steps.settings.protocol.clear();
    steps.product = "p4d.24xlarge";
    ASSERT_TRUE(run_init(steps, context));
    EXPECT_TRUE(log.info("NET/OFI Using transport protocol SENDRECV (platform set)"));
}

TEST(InitSequence, I9DomainScope) {
    const LogLines log;
    FakeInitSteps steps;
    steps.settings.domain_per_thread = true;
    InitContext context;
    ASSERT_TRUE(run_init(steps, context));
    EXPECT_TRUE(log.info("NET/OFI Creating one domain per thread"));
}

TEST(InitSequence, I11SaysTrueOrFalse) {  // S11
    const LogLines log;
    FakeInitSteps steps;
    steps.report = {false, true, GdrState::supported};
    InitContext context;
    ASSERT_TRUE(run_init(steps, context));
    EXPECT_TRUE(log.info("NET/OFI Support for global registrations: false"));
    EXPECT_TRUE(log.info("NET/OFI Support for DMA-BUF registrations: true"));
}

TEST(InitSequence, I13SimpleProtocolOnlyWithoutGdrAndOnlyIfTheUserIsSilent) {  // T23
    struct Row {
        GdrState gdr;
        bool user_set, written;
    };
    for (const Row& row : std::vector<Row>{{GdrState::unsupported, false, true},
                                           {GdrState::unknown, false, true},
                                           {GdrState::supported, false, false},
                                           {GdrState::unsupported, true, false}}) {
        const LogLines log;
        FakeInitSteps steps;
        steps.report.gdr = row.gdr;
        steps.settings.nccl_proto_set = row.user_set;
        InitContext context;
        ASSERT_TRUE(run_init(steps, context));
        EXPECT_EQ(steps.written("NCCL_PROTO").has_value(), row.written);
        EXPECT_EQ(log.info("NET/OFI Need to force simple protocol: GDR not supported"),
                  row.written);
        if (row.written) {
            EXPECT_EQ(*steps.written("NCCL_PROTO"), "simple");
        }
    }
}

TEST(InitSequence, EnvironmentIsOneBatchAfterEverythingElse) {
    FakeInitSteps steps;
    steps.product = "p4d.24xlarge";
    steps.settings.fi_provider = "tcp";
    steps.set_by_user = {"NCCL_BUFFSIZE"};
    const LogLines log;
    InitContext context;
    ASSERT_TRUE(run_init(steps, context));
    const auto first = std::find(steps.calls.begin(), steps.calls.end(), "set_environment");
    ASSERT_NE(first, steps.calls.end());
    EXPECT_TRUE(std::all_of(first, steps.calls.end(),
                            [](const auto& call) { return call == "set_environment"; }));
    EXPECT_GT(std::find(steps.calls.begin(), steps.calls.end(), "self_test"), steps.calls.begin());
    EXPECT_LT(std::find(steps.calls.begin(), steps.calls.end(), "self_test"), first);
    EXPECT_FALSE(steps.written("NCCL_BUFFSIZE"));
    EXPECT_EQ(steps.written("NCCL_P2P_NET_CHUNKSIZE"), "524288");
    EXPECT_EQ(steps.written("NCCL_PROTO"), "simple");
    EXPECT_FALSE(log.info("NET/OFI Setting NCCL_BUFFSIZE=8388608")) << "the user's value stayed";
    EXPECT_TRUE(log.info("NET/OFI Setting NCCL_P2P_NET_CHUNKSIZE=524288"));
}

TEST(InitSequence, DupConnsWithoutGdrAreFine) {  // I12
    FakeInitSteps steps;
    steps.settings.nic_dup_conns = 2;
    InitContext context;
    EXPECT_TRUE(run_init(steps, context));
}

TEST(InitSequence, SecondInitIsAsGoodAsTheFirst) {  // 1.7
    FakeInitSteps steps;
    InitContext first, second;
    ASSERT_TRUE(run_init(steps, first));
    steps.settings.nccl_proto_set = true;  // what the first one wrote is now seen as set
    ASSERT_TRUE(run_init(steps, second));
    EXPECT_EQ(steps.environment.size(), 1U);
    EXPECT_EQ(steps.count("discard"), 0);
}

TEST(InitSequence, FileOfAnAddress) {
    EXPECT_NE(library_file(reinterpret_cast<const void*>(&::sysconf)).find("libc"), std::string::npos);
    EXPECT_EQ(library_file(nullptr), "");
}

TEST(InitSequence, ChangedSettingsAreListed) {
    std::vector<SettingRow> rows(2);
    rows[0].name = "A";
    rows[0].value = rows[0].default_text = "1";
    rows[1].name = "B";
    rows[1].value = "x";
    EXPECT_EQ(changed_settings(rows), "B=x");
    rows[0].value = "2";
    EXPECT_EQ(changed_settings(rows), "A=2 B=x");
    EXPECT_EQ(changed_settings({}), "none");
}

}  // namespace
}  // namespace duofi::net
