// Init that fails: codes of net contract 4.11, loudness of A4 and A22, nothing left behind (1.7,
// T23).
#include "net_plugin/init_sequence.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <stdexcept>
#include <string>
#include <vector>

#include "fake_init_steps.hpp"
#include "tests/unit/util/log_lines.hpp"

namespace duofi::net {
namespace {

using memory::GdrState;
using test::FakeInitSteps;
using duofi::test::LogLines;

constexpr const char* kFailedLine = "NET/OFI duofi initialization failed";

/// What every failed init must keep: no environment, untouched context, last line of I14.
void expect_no_trace(const FakeInitSteps& steps, const InitContext& context, const LogLines& log) {
    EXPECT_TRUE(steps.environment.empty());
    EXPECT_EQ(steps.count("set_environment"), 0);
    EXPECT_EQ(context.table_version, 8);
    EXPECT_EQ(context.fi_version, 0U);
    EXPECT_TRUE(context.discovery.device_names.empty());
    EXPECT_EQ(log.last(), kFailedLine);
}

InitContext fresh() {
    InitContext context;
    context.table_version = 8;
    return context;
}

TEST(InitFailure, EachStepEndsTheSequence) {
    struct Row {
        const char* step;
        Error error;
        long steps_after_discover, discards;
        const char* line;
    };
    const std::vector<Row> rows{
        {"load_settings", {Errc::internal, EINVAL, "settings"}, 0, 0, ""},
        {"discover", {Errc::no_memory, ENOMEM, "fi_getinfo"}, 0, 1, ""},
        {"create_plugin",
         {Errc::system, ENODEV, "fi_domain"},
         1,
         1,
         "NET/OFI Failed to initialize SENDRECV protocol"},
        {"self_test",
         {Errc::system, EIO, "fi_endpoint"},
         2,
         1,
         "NET/OFI Self-test of the first device failed: fi_endpoint (system, errno 5)"},
    };
    for (const Row& row : rows) {
        SCOPED_TRACE(row.step);
        const LogLines log;
        FakeInitSteps steps;
        steps.product = "p4d.24xlarge";  // a row that would write variables
        steps.settings.fi_provider = "tcp";
        steps.failures[row.step] = row.error;
        InitContext context = fresh();
        const Status got = run_init(steps, context);
        ASSERT_FALSE(got);
        EXPECT_EQ(got.error().code, row.error.code);
        EXPECT_EQ(got.error().provider_errno, row.error.provider_errno);
        EXPECT_EQ(steps.count("create_plugin") + steps.count("self_test"),
                  row.steps_after_discover);
        EXPECT_EQ(steps.count("discard"), row.discards);
        if (*row.line != '\0') {
            EXPECT_TRUE(log.warn(row.line));
        }
        EXPECT_TRUE(log.warn(kFailedLine));
        expect_no_trace(steps, context, log);
    }
}

TEST(InitFailure, I1BadSettingStopsBeforeAnythingElse) {
    FakeInitSteps steps;
    steps.failures["load_settings"] = {Errc::internal, EINVAL, "settings"};
    InitContext context = fresh();
    ASSERT_FALSE(run_init(steps, context));
    EXPECT_EQ(steps.calls, std::vector<std::string>{"load_settings"});
}

TEST(InitFailure, I6BadProtocolStopsBeforeDiscovery) {  // S16, 4.11 -22
    for (const char* protocol : {"tcp", "RDMA2"}) {
        const LogLines log;
        FakeInitSteps steps;
        steps.settings.protocol = protocol;
        InitContext context = fresh();
        const Status got = run_init(steps, context);
        ASSERT_FALSE(got) << protocol;
        EXPECT_EQ(got.error().code, Errc::internal);
        EXPECT_EQ(got.error().provider_errno, EINVAL);
        EXPECT_EQ(steps.count("discover"), 0);
        EXPECT_EQ(steps.count("discard"), 0) << "nothing to undo yet";
        expect_no_trace(steps, context, log);
    }
}

TEST(InitFailure, APlatformsRdmaThatDoesNotWorkGivesWayToSendrecv) {  // S9
    for (const char* step : {"discover", "create_plugin", "self_test"})
        for (const bool users : {false, true}) {
            const LogLines log;
            FakeInitSteps steps;
            steps.product = "p5.48xlarge";
            steps.settings.platform = "AWS";
            if (users) steps.settings.protocol = "RDMA";
            steps.failures[step] = {Errc::unsupported, EOPNOTSUPP, step};
            steps.fails_only_for = ProtocolKind::rdma;
            InitContext context = fresh();
            EXPECT_EQ(run_init(steps, context).has_value(), !users) << step;
            EXPECT_EQ(steps.count("discard"), 1) << step;
            EXPECT_EQ(steps.count("discover"), users ? 1 : 2) << step;
            if (!users) {
                EXPECT_EQ(context.protocol.kind, ProtocolKind::sendrecv) << step;
            }
        }
}

TEST(InitFailure, I8NoNetworkIsQuietUnlessTheUserNamedUs) {  // A4, A22, 4.5, 4.11 -61 and -95
    struct Row {
        const char* what;
        Error error;
        bool plain_is_quiet;
    };
    const std::vector<Row> rows{{"nothing found", {Errc::no_data, ENODATA, "fi_getinfo"}, true},
                                {"efa gate", {Errc::unsupported, EOPNOTSUPP, "version"}, true},
                                {"no memory", {Errc::no_memory, ENOMEM, "fi_dupinfo"}, false}};
    for (const Row& row : rows) {
        for (const bool named : {false, true}) {
            SCOPED_TRACE(std::string(row.what) + (named ? " named" : ""));
            const LogLines log;
            FakeInitSteps steps;
            steps.failures["discover"] = row.error;
            if (named) steps.settings.nccl_net_plugin = "duofi";
            InitContext context = fresh();
            const Status got = run_init(steps, context);
            ASSERT_FALSE(got);
            EXPECT_EQ(got.error().code, row.error.code);
            EXPECT_EQ(got.error().provider_errno, row.error.provider_errno);
            const bool loud = named || !row.plain_is_quiet;
            EXPECT_TRUE(log.has(loud ? log::Level::warn : log::Level::info, kFailedLine));
            EXPECT_EQ(log.warnings(), loud ? 1U : 0U);
            EXPECT_EQ(steps.count("create_plugin"), 0);
            EXPECT_EQ(steps.count("discard"), 1);
            expect_no_trace(steps, context, log);
        }
    }
}

TEST(InitFailure, I8AnEmptyListIsNoSuccess) {
    const LogLines log;
    FakeInitSteps steps;
    steps.found = {};
    InitContext context = fresh();
    const Status got = run_init(steps, context);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, Errc::no_data);
    EXPECT_EQ(got.error().provider_errno, ENODATA);
    EXPECT_EQ(steps.count("create_plugin"), 0);
    EXPECT_EQ(log.warnings(), 0U);
    expect_no_trace(steps, context, log);
}

TEST(InitFailure, I12DupConnsWithGdr) {  // 4.11 -95
    for (const bool by_platform : {false, true}) {
        const LogLines log;
        FakeInitSteps steps;
        steps.report.gdr = GdrState::supported;
        if (by_platform)
            steps.product = "p3dn.24xlarge";
        else
            steps.settings.nic_dup_conns = 2;
        InitContext context = fresh();
        const Status got = run_init(steps, context);
        ASSERT_FALSE(got);
        EXPECT_EQ(got.error().code, Errc::unsupported);
        EXPECT_EQ(got.error().provider_errno, EOPNOTSUPP);
        EXPECT_TRUE(log.warn(
            "NET/OFI NCCL_OFI_NIC_DUP_CONNS set on platform that supports GPUDirect RDMA.  This "
            "configuration is not supported."));
        EXPECT_EQ(steps.count("discard"), 1);
        expect_no_trace(steps, context, log);
    }
}

TEST(InitFailure, ExceptionsUndoTooAndReachTheBoundary) {
    for (const char* step : {"discover", "create_plugin", "self_test"}) {
        FakeInitSteps steps;
        steps.throws_in = step;
        InitContext context = fresh();
        EXPECT_THROW((void)run_init(steps, context), std::runtime_error) << step;
        EXPECT_EQ(steps.count("discard"), 1) << step;
        EXPECT_TRUE(steps.environment.empty());
        EXPECT_EQ(context.fi_version, 0U);
    }
}

TEST(InitFailure,
     LaterInitStartsFromZero) {  // 1.7: a failed init must not make the next one succeed
    FakeInitSteps steps;
    InitContext context = fresh();
    steps.failures["create_plugin"] = {Errc::system, EIO, "fi_domain"};
    ASSERT_FALSE(run_init(steps, context));
    ASSERT_FALSE(run_init(steps, context));
    EXPECT_EQ(steps.count("create_plugin"), 2);
    steps.failures.clear();
    ASSERT_TRUE(run_init(steps, context));
    EXPECT_EQ(steps.count("create_plugin"), 3);
    EXPECT_EQ(steps.count("discard"), 2);
}

}  // namespace
}  // namespace duofi::net
