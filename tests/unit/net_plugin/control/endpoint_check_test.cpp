// Validation of efa endpoints with injected option calls: net contract 4.9, S13.
#include "net_plugin/endpoint_check.hpp"

#include <gtest/gtest.h>
#include <rdma/fabric.h>
#include <rdma/fi_endpoint.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "tests/unit/util/log_lines.hpp"

namespace duofi::net {
namespace {

using memory::GdrState;
using duofi::test::LogLines;

/// An endpoint that answers from a table and notes who asked what.
struct FakeEndpoint {
    std::map<int, int> refusals;  // option -> rc
    bool emulated_write = false;
    std::size_t answer_bytes = 0;  // 0 = as asked
    std::vector<int> asked, set;

    EndpointOptions options() {
        return {[this](int option, void* value, std::size_t* bytes) {
                    asked.push_back(option);
                    if (refusals.contains(option)) return refusals[option];
                    if (option == kOptEfaEmulatedWrite)
                        std::memcpy(value, &emulated_write, sizeof(bool));
                    else
                        *static_cast<std::size_t*>(value) = option == kOptMaxMsgSize ? 9000 : 32;
                    if (answer_bytes != 0) *bytes = answer_bytes;
                    return 0;
                },
                [this](int option, const void* value, std::size_t bytes) {
                    set.push_back(option);
                    EXPECT_EQ(bytes, sizeof(bool));
                    EXPECT_FALSE(*static_cast<const bool*>(value));
                    return refusals.contains(option) ? refusals[option] : 0;
                }};
    }
};

EndpointCheck modern_efa() {
    EndpointCheck check;
    check.is_efa = true;
    check.fi_version = FI_VERSION(1, 22);
    check.product_name = "p4d.24xlarge";
    return check;
}

TEST(EndpointCheck, S13OptionNumber) {
    EXPECT_EQ(static_cast<std::uint32_t>(kOptEfaEmulatedWrite), 0xF1060002U);
    EXPECT_EQ(kOptEfaBase, -(0xefa << 16));
}

TEST(EndpointCheck, OptionsAreAskedOnlyOfLibrariesThatKnowThem) {
    struct Row {
        int option;
        std::uint32_t first;
    };
    for (const Row& row : std::vector<Row>{{kOptEfaEmulatedWrite, FI_VERSION(1, 18)},
                                           {kOptSharedMemoryPermitted, FI_VERSION(1, 21)},
                                           {kOptMaxMsgSize, FI_VERSION(1, 22)},
                                           {kOptInjectRmaSize, FI_VERSION(1, 22)}}) {
        EXPECT_FALSE(option_known(row.option, row.first - 1)) << row.option;
        EXPECT_TRUE(option_known(row.option, row.first)) << row.option;
        EXPECT_TRUE(option_known(row.option, FI_VERSION(2, 0))) << row.option;
    }
    EXPECT_FALSE(option_known(12345, FI_VERSION(2, 0)));
}

TEST(EndpointCheck, OtherProvidersAreLeftAlone) {
    FakeEndpoint endpoint;
    endpoint.emulated_write = true;
    EndpointCheck check = modern_efa();
    check.is_efa = false;
    check.protocol = ProtocolKind::rdma;
    check.gdr_required = true;
    ASSERT_TRUE(check_endpoint(check, endpoint.options()));
    EXPECT_TRUE(endpoint.asked.empty());
    EXPECT_TRUE(endpoint.set.empty());
}

TEST(EndpointCheck, GdrRequired) {
    struct Row {
        bool required, skip;
        GdrState gdr;
        bool passes;
    };
    const std::vector<Row> rows{
        {true, false, GdrState::unknown, false},     {true, false, GdrState::unsupported, false},
        {true, false, GdrState::supported, true},    {true, true, GdrState::unsupported, true},
        {false, false, GdrState::unsupported, true}, {false, false, GdrState::unknown, true},
    };
    for (const Row& row : rows) {
        const LogLines log;
        FakeEndpoint endpoint;
        EndpointCheck check = modern_efa();
        check.gdr_required = row.required;
        check.skip_gdr_check = row.skip;
        check.gdr = row.gdr;
        const auto got = check_endpoint(check, endpoint.options());
        ASSERT_EQ(got.has_value(), row.passes);
        EXPECT_EQ(log.warn("NET/OFI GDR disabled on GDR-supported instance type p4d.24xlarge"),
                  !row.passes);
        if (got) continue;
        EXPECT_EQ(got.error().code, Errc::internal);
        EXPECT_EQ(got.error().provider_errno, EINVAL);
    }
}

TEST(EndpointCheck, EmulatedWriteIsRefusedForRdmaOnly) {
    struct Row {
        ProtocolKind protocol;
        bool skip, emulated, passes;
    };
    const std::vector<Row> rows{{ProtocolKind::rdma, false, true, false},
                                {ProtocolKind::rdma, false, false, true},
                                {ProtocolKind::rdma, true, true, true},
                                {ProtocolKind::sendrecv, false, true, true}};
    for (const Row& row : rows) {
        const LogLines log;
        FakeEndpoint endpoint;
        endpoint.emulated_write = row.emulated;
        EndpointCheck check = modern_efa();
        check.protocol = row.protocol;
        check.skip_native_write_check = row.skip;
        const auto got = check_endpoint(check, endpoint.options());
        ASSERT_EQ(got.has_value(), row.passes);
        EXPECT_EQ(log.warn("NET/OFI FI_OPT_EFA_EMULATED_WRITE is true when the communication "
                           "protocol is RDMA write."),
                  !row.passes);
        if (!got) {
            EXPECT_EQ(got.error().provider_errno, EINVAL);
        }
    }
}

TEST(EndpointCheck, UnreadableEmulationStateIsRefused) {
    EndpointCheck check = modern_efa();
    check.protocol = ProtocolKind::rdma;
    {
        FakeEndpoint endpoint;
        endpoint.refusals[kOptEfaEmulatedWrite] = -ENOPROTOOPT;
        EXPECT_FALSE(check_endpoint(check, endpoint.options()));
    }
    {
        FakeEndpoint endpoint;
        endpoint.answer_bytes = 4;
        EXPECT_FALSE(check_endpoint(check, endpoint.options()));
    }
    FakeEndpoint endpoint;
    check.fi_version = FI_VERSION(1, 17);
    EXPECT_FALSE(check_endpoint(check, endpoint.options()));
    EXPECT_TRUE(endpoint.asked.empty()) << "1.17 does not know the option";
}

TEST(EndpointCheck, SharedMemoryIsForbiddenAndLimitsAreRead) {
    FakeEndpoint endpoint;
    const auto got = check_endpoint(modern_efa(), endpoint.options());
    ASSERT_TRUE(got);
    EXPECT_EQ(endpoint.set, std::vector<int>{kOptSharedMemoryPermitted});
    EXPECT_EQ(got->max_msg_bytes, 9000U);
    EXPECT_EQ(got->inject_rma_bytes, 32U);
}

TEST(EndpointCheck, OldLibrariesAreNotAsked) {
    FakeEndpoint endpoint;
    EndpointCheck check = modern_efa();
    check.fi_version = FI_VERSION(1, 17);
    const auto got = check_endpoint(check, endpoint.options());
    ASSERT_TRUE(got);
    EXPECT_TRUE(endpoint.asked.empty());
    EXPECT_TRUE(endpoint.set.empty());
    EXPECT_FALSE(got->max_msg_bytes);
}

TEST(EndpointCheck, UnknownOptionsAreTolerated) {  // -92
    FakeEndpoint endpoint;
    for (const int option : {kOptSharedMemoryPermitted, kOptMaxMsgSize, kOptInjectRmaSize})
        endpoint.refusals[option] = -92;
    const auto got = check_endpoint(modern_efa(), endpoint.options());
    ASSERT_TRUE(got);
    EXPECT_FALSE(got->max_msg_bytes);
    EXPECT_FALSE(got->inject_rma_bytes);
}

TEST(EndpointCheck, OtherFailuresOfOptionCallsAreErrors) {
    for (const int option : {kOptSharedMemoryPermitted, kOptMaxMsgSize, kOptInjectRmaSize}) {
        const LogLines log;
        FakeEndpoint endpoint;
        endpoint.refusals[option] = -EIO;
        const auto got = check_endpoint(modern_efa(), endpoint.options());
        ASSERT_FALSE(got) << option;
        EXPECT_EQ(got.error().code, Errc::system);
        EXPECT_EQ(got.error().provider_errno, EIO);
        EXPECT_TRUE(
            log.warn("NET/OFI Endpoint option " + std::to_string(option) + " failed: rc -5"));
    }
}

}  // namespace
}  // namespace duofi::net
