// One-sided operations need orders that are granted, not only asked for (rma contract 5.7).
#include "common/ofi/requirements.hpp"

#include <gtest/gtest.h>
#include <rdma/fi_endpoint.h>

namespace duofi::ofi {
namespace {

class Order : public ::testing::Test {
  protected:
    [[nodiscard]] std::string refused(std::uint64_t sending, std::uint64_t receiving) const {
        InfoPtr info = make_hints(needs, "net", true);
        info->ep_attr->max_msg_size = SIZE_MAX;
        info->domain_attr->mr_mode = 0;
        info->mode = 0;
        info->tx_attr->msg_order = sending;
        info->rx_attr->msg_order = receiving;
        return why_refused(*info, needs);
    }
    Requirements needs = one_sided_requirements(Settings{});
};

TEST_F(Order, is_needed_by_one_sided_operations) {
    EXPECT_STREQ(needs.purpose, "one-sided");
    EXPECT_TRUE(needs.order_required);
    EXPECT_EQ(needs.msg_order, FI_ORDER_SAS | FI_ORDER_SAW);
    EXPECT_EQ(needs.required_caps, FI_MSG | FI_RMA);
    EXPECT_EQ(needs.required_caps & FI_ATOMIC, 0u) << "a provider gives up its order when atomics are asked for";
}

TEST_F(Order, of_what_is_needed_or_more_is_fine) {
    EXPECT_EQ(refused(needs.msg_order, needs.msg_order), "");
    EXPECT_EQ(refused(~std::uint64_t{0}, needs.msg_order | FI_ORDER_WAW), "");
}

TEST_F(Order, that_is_missing_is_named) {
    const std::uint64_t all = needs.msg_order;
    EXPECT_EQ(refused(all & ~FI_ORDER_SAW, all), "does not grant order FI_ORDER_SAW");
    EXPECT_EQ(refused(all, all & ~FI_ORDER_SAS), "does not grant order FI_ORDER_SAS") << "both directions count";
    const std::string both = refused(0, all);
    EXPECT_EQ(both, "does not grant order FI_ORDER_SAW | FI_ORDER_SAS");
}

TEST_F(Order, that_nobody_insists_on_may_be_missing) {
    needs = tagged_requirements(Settings{});
    EXPECT_NE(needs.msg_order, 0u);
    EXPECT_FALSE(needs.order_required);
    EXPECT_EQ(refused(0, 0), "");
}

TEST_F(Order, is_one_of_several_reasons) {
    InfoPtr info = make_hints(needs, "net", false);
    info->caps = FI_MSG;
    info->ep_attr->max_msg_size = SIZE_MAX;
    info->tx_attr->msg_order = 0;
    const std::string why = why_refused(*info, needs);
    EXPECT_NE(why.find("lacks FI_RMA"), std::string::npos) << why;
    EXPECT_NE(why.find("; does not grant order"), std::string::npos) << why;
}

}  // namespace
}  // namespace duofi::ofi
