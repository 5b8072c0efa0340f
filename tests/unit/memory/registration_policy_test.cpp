// The three gates of net contract 4.8 as tables. Each row is one combination of inputs and its
// answer.
#include "common/memory/registration_policy.hpp"

#include <gtest/gtest.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>

#include <cerrno>
#include <string>
#include <vector>

#include "common/util/log.hpp"

namespace duofi::memory {
namespace {

static_assert(kCapRma == FI_RMA);
static_assert(kCapHmem == FI_HMEM);
static_assert(kModeBasic == FI_MR_BASIC && kModeBasic == 1);
static_assert(kModeVirtAddr == FI_MR_VIRT_ADDR);
static_assert(kModeAllocated == FI_MR_ALLOCATED);
static_assert(kModeProvKey == FI_MR_PROV_KEY);
static_assert(kModeEndpoint == FI_MR_ENDPOINT && kModeEndpoint == 0x200);
static_assert(kLastApiWithoutDmabuf == FI_VERSION(1, 19));  // S4

TEST(RegistrationPolicy, G1KernelReleaseIsReadAsMajorDotMinor) {
    struct Row {
        const char* release;
        bool readable;
        int major, minor;
    };
    const std::vector<Row> rows{
        {"5.12", true, 5, 12},       {"5.12.0-rc1", true, 5, 12},    {"6.1.0-18-amd64", true, 6, 1},
        {"10.0", true, 10, 0},       {"5.4-custom", true, 5, 4},     {"5", false, 0, 0},
        {"5.", false, 0, 0},         {"5.x", false, 0, 0},           {"", false, 0, 0},
        {"linux-5.12", false, 0, 0}, {"-5.12", false, 0, 0},         {"5.-12", false, 0, 0},
        {" 5.12", false, 0, 0},      {"99999999999.1", false, 0, 0},
    };
    for (const Row& row : rows) {
        SCOPED_TRACE(row.release);
        const auto got = parse_kernel_release(row.release);
        ASSERT_EQ(got.has_value(), row.readable);
        if (!got) continue;
        EXPECT_EQ(got->major, row.major);
        EXPECT_EQ(got->minor, row.minor);
    }
}

TEST(RegistrationPolicy, G1KernelTestIsExact) {
    struct Row {
        KernelVersion kernel;
        bool enough;
    };
    const std::vector<Row> rows{{{5, 11}, false}, {{5, 12}, true},  {{5, 13}, true}, {{6, 0}, true},
                                {{6, 11}, true},  {{4, 20}, false}, {{4, 12}, false}};
    for (const Row& row : rows)
        EXPECT_EQ(kernel_has_dmabuf(row.kernel), row.enough)
            << row.kernel.major << "." << row.kernel.minor;
}

TEST(RegistrationPolicy, G1NeedsEveryTerm) {
    const DmabufViability good{true, false, true, "5.12.0"};
    EXPECT_TRUE(dmabuf_viable(good));

    auto broken = good;
    broken.flag_known = false;
    EXPECT_FALSE(dmabuf_viable(broken)) << "flag unknown";
    broken = good;
    broken.disabled_by_user = true;
    EXPECT_FALSE(dmabuf_viable(broken)) << "OFI_NCCL_DISABLE_DMABUF";
    broken = good;
    broken.device_exports = false;
    EXPECT_FALSE(dmabuf_viable(broken)) << "device runtime";
    for (const char* release : {"5.11.22", "4.18.0", "garbage", ""}) {
        broken = good;
        broken.kernel_release = release;
        EXPECT_FALSE(dmabuf_viable(broken)) << release;
    }
}

DmabufSupport every_term_holds() {
    DmabufSupport in;
    in.caps = kCapHmem | kCapRma;
    in.api_version = 0x10014;
    in.viable = true;
    in.gdr = GdrState::supported;
    return in;
}

TEST(RegistrationPolicy, G2NeedsEveryTerm) {
    EXPECT_TRUE(dmabuf_supported(every_term_holds()));

    auto in = every_term_holds();
    in.caps = kCapRma;
    EXPECT_FALSE(dmabuf_supported(in)) << "FI_HMEM";
    for (const std::uint32_t version : {0x10006U, 0x10012U, 0x10013U}) {
        in = every_term_holds();
        in.api_version = version;
        EXPECT_FALSE(dmabuf_supported(in)) << "S4 " << version;
    }
    in = every_term_holds();
    in.api_version = 0x20000;
    EXPECT_TRUE(dmabuf_supported(in)) << "S4 2.0";
    in = every_term_holds();
    in.viable = false;
    EXPECT_FALSE(dmabuf_supported(in)) << "G1";
    for (const GdrState gdr : {GdrState::unknown, GdrState::unsupported}) {
        in = every_term_holds();
        in.gdr = gdr;
        EXPECT_FALSE(dmabuf_supported(in)) << "S6 " << static_cast<int>(gdr);
    }
}

TEST(RegistrationPolicy, G2IdRuleOfS3HoldsForEfaOnly) {
    struct Row {
        bool efa, attributes;
        std::uint16_t id;
        bool supported;
    };
    const std::vector<Row> rows{
        {true, true, 0xefa0, false}, {true, true, 0xefa1, false},  {true, true, 0xefa2, false},
        {true, true, 0xefa3, true},  {true, false, 0xefa3, false}, {true, false, 0, false},
        {false, true, 0xefa0, true}, {false, true, 0xefa2, true},  {false, false, 0, true},
    };
    for (const Row& row : rows) {
        auto in = every_term_holds();
        in.is_efa = row.efa;
        in.has_nic_attributes = row.attributes;
        in.nic_device_id = row.id;
        EXPECT_EQ(dmabuf_supported(in), row.supported)
            << "efa " << row.efa << " attributes " << row.attributes << " id " << row.id;
    }
}

/// The form with FI_RMA (S12). Kept as a table only: P7 says why it is not used.
bool need_own_key_with_rma_term(std::uint64_t caps, std::uint64_t mr_mode) {
    return (caps & kCapRma) != 0 && (mr_mode & kModeProvKey) == 0;
}

TEST(RegistrationPolicy, G3OwnKeyExactlyWhenTheProviderChoosesNone) {
    constexpr std::uint64_t kTagged = FI_TAGGED;
    constexpr std::uint64_t kBoth = FI_TAGGED | FI_RMA;
    struct Row {
        const char* what;
        std::uint64_t caps, mr_mode;
        bool ours, with_rma_term;
    };
    const std::vector<Row> rows{
        {"scalable with RMA", kBoth, 0, true, true},
        {"scalable without RMA: keys must be unique all the same (P7)", kTagged, 0, true, false},
        {"provider keys", kBoth, FI_MR_PROV_KEY, false, false},
        {"provider keys without RMA", kTagged, FI_MR_PROV_KEY, false, false},
        {"verbs", kBoth, FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_LOCAL, false,
         false},
        {"shm", kBoth, FI_MR_VIRT_ADDR, true, true},
        {"cxi with own keys", kBoth, FI_MR_ENDPOINT | FI_MR_ALLOCATED, true, true},
        {"basic mode is provider keys", kBoth, FI_MR_BASIC, false, true},
        {"basic mode with local", kBoth, FI_MR_BASIC | FI_MR_LOCAL, false, true},
    };
    for (const Row& row : rows) {
        SCOPED_TRACE(row.what);
        EXPECT_EQ(need_own_key(row.mr_mode), row.ours);
        EXPECT_EQ(need_own_key_with_rma_term(row.caps, row.mr_mode), row.with_rma_term);
    }
}

TEST(RegistrationPolicy, G3BasicModeIsWrittenOut) {
    constexpr std::uint64_t kMeaning = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    EXPECT_EQ(expanded_mr_mode(FI_MR_BASIC), kMeaning);
    EXPECT_EQ(expanded_mr_mode(FI_MR_BASIC | FI_MR_LOCAL), kMeaning | FI_MR_LOCAL);
    EXPECT_EQ(expanded_mr_mode(0), 0U);
    EXPECT_EQ(expanded_mr_mode(FI_MR_VIRT_ADDR), static_cast<std::uint64_t>(FI_MR_VIRT_ADDR));
}

TEST(RegistrationPolicy, G3KeySizeIsCheckedOnlyForOwnKeys) {
    std::vector<std::string> warnings;
    log::set_sink([&](log::Level level, unsigned long, const char*, int, const char* text) {
        if (level == log::Level::warn) warnings.emplace_back(text);
    });
    const auto wide = key_policy("alpha", 0, 8, 2);
    const auto equal = key_policy("alpha", 0, 2, 2);
    const auto provider_chooses = key_policy("alpha", FI_MR_PROV_KEY, 1, 2);
    EXPECT_TRUE(warnings.empty());
    const auto narrow = key_policy("beta", 0, 2, 4);
    log::set_sink({});

    ASSERT_TRUE(wide && equal && provider_chooses);
    EXPECT_TRUE(wide->own);
    EXPECT_EQ(wide->key_bytes, 8U);
    EXPECT_EQ(equal->key_bytes, 2U);
    EXPECT_FALSE(provider_chooses->own);
    ASSERT_FALSE(narrow);
    EXPECT_EQ(narrow.error().code, Errc::internal);
    EXPECT_EQ(narrow.error().provider_errno, EINVAL);
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_EQ(warnings[0], "NET/OFI Provider beta supports MR key size of 2, but 4 was requested");
}

}  // namespace
}  // namespace duofi::memory
