// Choice of the protocol: net contract 4.2, S9, S16, lines of I6.
#include "net_plugin/protocol_select.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "tests/unit/util/log_lines.hpp"

namespace duofi::net {
namespace {

using duofi::test::LogLines;

constexpr auto kAuto = ProtocolKind::automatic;
constexpr auto kSendrecv = ProtocolKind::sendrecv;
constexpr auto kRdma = ProtocolKind::rdma;

const std::vector<ProtocolCandidate> kBoth{{kRdma, ""}, {kSendrecv, ""}};
const std::vector<ProtocolCandidate> kOnlyRdma{{kSendrecv, "needs FI_TAGGED"}, {kRdma, ""}};
const std::vector<ProtocolCandidate> kOnlySendrecv{{kRdma, "needs FI_RMA"}, {kSendrecv, ""}};
const std::vector<ProtocolCandidate> kNothing{{kRdma, "needs FI_RMA"},
                                              {kSendrecv, "needs FI_TAGGED"}};

TEST(ProtocolSelect, WordsInAnyCase) {
    struct Row {
        const char* text;
        ProtocolKind kind;
    };
    for (const Row& row : std::vector<Row>{{"", kAuto},
                                           {"SENDRECV", kSendrecv},
                                           {"sendrecv", kSendrecv},
                                           {"SendRecv", kSendrecv},
                                           {"RDMA", kRdma},
                                           {"rdma", kRdma}}) {
        const auto got = parse_protocol(row.text);
        ASSERT_TRUE(got) << row.text;
        EXPECT_EQ(*got, row.kind) << row.text;
    }
}

TEST(ProtocolSelect, OtherWordsFail) {  // S16, not AUTO
    for (const char* text : {"TCP", "RDMA ", "SENDRECVX", "AUTO", "0", "rdma,sendrecv"}) {
        const LogLines log;
        const auto got = select_protocol(text, kAuto, kBoth);
        ASSERT_FALSE(got) << text;
        EXPECT_EQ(got.error().code, Errc::internal);
        EXPECT_EQ(got.error().provider_errno, EINVAL);
        EXPECT_TRUE(log.warn("NET/OFI OFI_NCCL_PROTOCOL set to invalid value " + std::string(text) +
                             ", accepted: SENDRECV, RDMA"));
    }
}

TEST(ProtocolSelect, UserThenPlatformThenOrderOfCandidates) {
    struct Row {
        const char* user;
        ProtocolKind platform;
        const std::vector<ProtocolCandidate>* candidates;
        ProtocolKind chosen;
        ProtocolSource source;
        const char* line;
    };
    const std::vector<Row> rows{
        {"sendrecv", kRdma, &kBoth, kSendrecv, ProtocolSource::user,
         "NET/OFI Using transport protocol SENDRECV (user set)"},
        {"RDMA", kSendrecv, &kBoth, kRdma, ProtocolSource::user,
         "NET/OFI Using transport protocol RDMA (user set)"},
        {"", kSendrecv, &kBoth, kSendrecv, ProtocolSource::platform,
         "NET/OFI Using transport protocol SENDRECV (platform set)"},
        {"", kAuto, &kBoth, kRdma, ProtocolSource::automatic,
         "NET/OFI Using transport protocol RDMA"},
        {"", kAuto, &kOnlySendrecv, kSendrecv, ProtocolSource::automatic,
         "NET/OFI Using transport protocol SENDRECV"},
        {"", kRdma, &kOnlySendrecv, kSendrecv, ProtocolSource::automatic,
         "NET/OFI Using transport protocol SENDRECV"},
        // S9: the only protocol that works is kept whatever AUTO would have liked.
        {"", kAuto, &kOnlyRdma, kRdma, ProtocolSource::automatic,
         "NET/OFI Using transport protocol RDMA"},
        {"", kSendrecv, &kOnlyRdma, kRdma, ProtocolSource::automatic,
         "NET/OFI Using transport protocol RDMA"},
    };
    for (const Row& row : rows) {
        const LogLines log;
        const auto got = select_protocol(row.user, row.platform, *row.candidates);
        ASSERT_TRUE(got) << row.line;
        EXPECT_EQ(got->kind, row.chosen) << row.line;
        EXPECT_EQ(got->source, row.source) << row.line;
        EXPECT_EQ(log.last(), row.line);
        EXPECT_EQ(log.warnings(), 0U) << row.line;
    }
}

TEST(ProtocolSelect, AnImpossibleWishNamesWhatIsMissing) {
    struct Row {
        const char* user;
        const std::vector<ProtocolCandidate>* candidates;
        const char* line;
    };
    const std::vector<Row> rows{
        {"rdma", &kOnlySendrecv, "NET/OFI OFI_NCCL_PROTOCOL=RDMA: needs FI_RMA, use SENDRECV"},
        {"sendrecv", &kOnlyRdma, "NET/OFI OFI_NCCL_PROTOCOL=SENDRECV: needs FI_TAGGED, use RDMA"},
        {"rdma", &kNothing,
         "NET/OFI OFI_NCCL_PROTOCOL=RDMA: needs FI_RMA; no other protocol is possible here"},
    };
    for (const Row& row : rows) {
        const LogLines log;
        const auto got = select_protocol(row.user, kAuto, *row.candidates);
        ASSERT_FALSE(got) << row.line;
        EXPECT_EQ(got.error().code, Errc::internal);
        EXPECT_EQ(got.error().provider_errno, EINVAL);
        EXPECT_EQ(log.texts(), std::vector<std::string>{row.line});
        EXPECT_EQ(log.warnings(), 1U);
    }
}

TEST(ProtocolSelect, ThePlatformsImpossibleWishIsPassedOverAtInfo) {
    const LogLines log;
    ASSERT_TRUE(select_protocol("", kRdma, kOnlySendrecv));
    EXPECT_TRUE(log.info(
        "NET/OFI Protocol RDMA of this instance type: needs FI_RMA; choosing another one"));
    EXPECT_EQ(log.warnings(), 0U);
}

TEST(ProtocolSelect, NoProtocolAtAll) {  // 4.2, 4.11
    const LogLines log;
    const auto got = select_protocol("", kRdma, kNothing);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, Errc::internal);
    EXPECT_EQ(got.error().provider_errno, EINVAL);
    EXPECT_TRUE(
        log.warn("NET/OFI Unable to find a protocol that worked.  Failing initialization."));
}

TEST(ProtocolSelect, AutoPrefersWritesWhereTheProviderIsBestAtThem) {
    const LogLines log;
    EXPECT_EQ(select_protocol("", kAuto, built_protocols())->kind, kSendrecv);
    EXPECT_EQ(select_protocol("", kAuto, built_protocols(true))->kind, kRdma);
    EXPECT_EQ(select_protocol("SENDRECV", kAuto, built_protocols(true))->kind, kSendrecv);
    EXPECT_EQ(select_protocol("RDMA", kAuto, built_protocols())->kind, kRdma);
    EXPECT_EQ(select_protocol("", kRdma, built_protocols())->source, ProtocolSource::platform);
}

}  // namespace
}  // namespace duofi::net
