// Net contract 4.3; reasons of refusal name each missing capability (A21).
#include "common/ofi/requirements.hpp"

#include <gtest/gtest.h>
#include <rdma/fi_endpoint.h>

namespace duofi::ofi {
namespace {

/// An entry that meets the tagged protocol's needs.
InfoPtr good_entry(const Requirements& needs) {
    InfoPtr info = make_hints(needs, "net", true);
    info->ep_attr->max_msg_size = SIZE_MAX;
    info->domain_attr->mr_mode = 0;
    info->mode = 0;
    return info;
}

TEST(Requirements, TaggedNeedsDemandNothingThatExcludesSameNodeOrTcpProviders) {
    const Requirements needs = tagged_requirements(Settings{});
    EXPECT_EQ(needs.required_caps, FI_MSG | FI_TAGGED);
    EXPECT_EQ(
        (needs.required_caps | needs.wanted_caps) & (FI_LOCAL_COMM | FI_REMOTE_COMM | FI_HMEM), 0U);
    EXPECT_EQ(needs.threading, FI_THREAD_SAFE);
    EXPECT_EQ(needs.mr_key_size, 2U);
}

TEST(Requirements, ProgressFollowsTheSetting) {
    Settings settings;
    EXPECT_EQ(tagged_requirements(settings).progress, FI_PROGRESS_UNSPEC);
    settings.progress_model = "AUTO";
    EXPECT_EQ(tagged_requirements(settings).progress, FI_PROGRESS_AUTO);
    settings.progress_model = "MANUAL";
    EXPECT_EQ(tagged_requirements(settings).progress, FI_PROGRESS_MANUAL);
}

TEST(Requirements, NeverAsksForMoreThanTheRunningLibraryHas) {
    Requirements needs;
    needs.api_version = FI_VERSION(99, 0);
    EXPECT_EQ(effective_api_version(needs), fi_version());
    needs.api_version = FI_VERSION(1, 6);
    EXPECT_EQ(effective_api_version(needs), FI_VERSION(1, 6));
    needs.api_version = 0;
    EXPECT_EQ(effective_api_version(needs), fi_version());
}

TEST(Requirements, HintsSayWhatIsNeeded) {
    const Requirements needs = tagged_requirements(Settings{});
    const InfoPtr hints = make_hints(needs, "tcp;ofi_rxm", true);
    ASSERT_TRUE(hints);
    EXPECT_STREQ(hints->fabric_attr->prov_name, "tcp;ofi_rxm");
    EXPECT_EQ(hints->caps, needs.required_caps | needs.wanted_caps);
    EXPECT_EQ(hints->ep_attr->type, FI_EP_RDM);
    EXPECT_EQ(hints->mode, FI_CONTEXT | FI_CONTEXT2);
    EXPECT_EQ(hints->tx_attr->msg_order, FI_ORDER_SAS);
    EXPECT_EQ(hints->domain_attr->mr_mode & FI_MR_ENDPOINT, FI_MR_ENDPOINT);
    EXPECT_EQ(make_hints(needs, "", false)->caps, needs.required_caps);
    EXPECT_EQ(make_hints(needs, "", false)->fabric_attr->prov_name, nullptr);
}

TEST(Requirements, AGoodEntryIsNotRefused) {
    const Requirements needs = tagged_requirements(Settings{});
    EXPECT_EQ(why_refused(*good_entry(needs), needs), "");
}

TEST(Requirements, EachReasonIsNamed) {
    Requirements needs = tagged_requirements(Settings{});
    needs.required_caps |= FI_RMA | FI_ATOMIC;
    needs.cq_data_size = 8;
    needs.msg_size_min = 1 << 20;
    const InfoPtr info = good_entry(needs);
    info->caps = FI_MSG;
    info->ep_attr->type = FI_EP_DGRAM;
    info->ep_attr->max_msg_size = 1400;
    info->mode = FI_MSG_PREFIX | FI_CONTEXT;
    info->domain_attr->mr_mode = FI_MR_RAW | FI_MR_VIRT_ADDR;
    info->domain_attr->cq_data_size = 4;
    EXPECT_EQ(
        why_refused(*info, needs),
        "lacks FI_RMA | FI_TAGGED | FI_ATOMIC; no FI_EP_RDM endpoint; demands mode FI_MSG_PREFIX; "
        "demands mr_mode FI_MR_RAW; carries 4 bytes of CQ data, 8 needed; "
        "largest message is 1400 bytes, 1048576 needed");
}

TEST(Requirements, BasicRegistrationMayComeBackSpelledOut) {
    Requirements needs = tagged_requirements(Settings{});
    needs.mr_mode = 1;  // P6
    const InfoPtr info = good_entry(needs);
    info->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    EXPECT_EQ(why_refused(*info, needs), "");
    info->domain_attr->mr_mode = 1;
    EXPECT_EQ(why_refused(*info, needs), "");
    info->domain_attr->mr_mode = FI_MR_ENDPOINT;
    EXPECT_EQ(why_refused(*info, needs), "demands mr_mode FI_MR_ENDPOINT");
}

TEST(Requirements, CapabilityNames) {
    EXPECT_EQ(capability_names(0), "");
    EXPECT_EQ(capability_names(FI_TAGGED | FI_MSG), "FI_MSG | FI_TAGGED");
    EXPECT_EQ(capability_names(1ULL << 45 | FI_SEND), "FI_SEND | 0x200000000000");
}

}  // namespace
}  // namespace duofi::ofi
