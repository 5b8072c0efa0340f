// Opening of domains, endpoints and packet pools where a call of the provider fails: an error, one warning,
// nothing left open.
#include "common/ofi/domain.hpp"
#include "common/ofi/packet.hpp"
#include "tests/unit/ofi/core/endpoint_fixture.hpp"

namespace duofi::test {
namespace {

struct FailingCall {
    const char* call;
    int mr_mode;
};

class OpenFails : public testing::TestWithParam<FailingCall> {};

TEST_P(OpenFails, GivesAnErrorAndLeavesNothing) {
    FakeFabric fabric;
    LogLines log;
    const Settings settings;
    const ofi::DeviceInfo device = fabric.device(GetParam().mr_mode);
    fabric.fail_next(GetParam().call, -FI_ENOMEM);
    auto domain = ofi::Domain::open(device, settings);
    if (domain) {
        auto endpoint = ofi::Endpoint::open(std::move(*domain));
        ASSERT_FALSE(endpoint);
        EXPECT_EQ(endpoint.error().code, Errc::no_memory);
        EXPECT_EQ(endpoint.error().provider_errno, FI_ENOMEM);
    } else {
        EXPECT_EQ(domain.error().code, Errc::no_memory);
    }
    domain = tl::unexpected(Error{});
    EXPECT_EQ(fabric.open_objects(), 0);
    const auto warnings = log.with("err=");
    ASSERT_EQ(warnings.size(), 1U) << log.dump();
    EXPECT_EQ(warnings[0].level, log::Level::warn);
}

INSTANTIATE_TEST_SUITE_P(
    Calls, OpenFails,
    testing::Values(FailingCall{"fi_fabric", 0}, FailingCall{"fi_domain", 0},
                    FailingCall{"fi_av_open", 0}, FailingCall{"fi_cq_open", 0},
                    FailingCall{"fi_endpoint", 0}, FailingCall{"fi_ep_bind", 0},
                    FailingCall{"fi_enable", 0}, FailingCall{"fi_getname", 0},
                    FailingCall{"fi_mr_regattr", FI_MR_LOCAL},
                    FailingCall{"fi_mr_bind", FI_MR_LOCAL | FI_MR_ENDPOINT},
                    FailingCall{"fi_mr_enable", FI_MR_LOCAL | FI_MR_ENDPOINT}),
    [](const auto& tested) { return std::string(tested.param.call); });

class PacketPools : public EndpointTest {};

TEST_F(PacketPools, RegisterTheirSlabsWhereTheProviderWantsIt) {
    open(fabric_.device(FI_MR_LOCAL));
    EXPECT_EQ(fabric_.open_objects("mr"), 1) << "one slab of receive packets";
    EXPECT_EQ(fabric_.enabled_regions(), 0);
    ofi::Peer& to = peer();
    ASSERT_TRUE(send(to, 1));
    EXPECT_EQ(fabric_.open_objects("mr"), 2);
    EXPECT_NE(fake_->sent()[0].descriptor, nullptr);
    const int before = fabric_.open_objects("mr");
    for (std::uint64_t i = 0; i < 200; ++i) {
        ASSERT_TRUE(send(to, i));
        poll();
    }
    EXPECT_EQ(fabric_.open_objects("mr"), before) << "packets are used again";
}

TEST_F(PacketPools, BindAndEnableTheirRegionsWithEndpointBoundRegistration) {
    open(fabric_.device(FI_MR_LOCAL | FI_MR_ENDPOINT));
    EXPECT_TRUE(endpoint_->domain().endpoint_bound_registration());
    EXPECT_EQ(fabric_.enabled_regions(), fabric_.open_objects("mr"));
    EXPECT_GE(fabric_.enabled_regions(), 1);
}

TEST_F(PacketPools, DoWithoutWhereTheProviderDoesNotCare) {
    open();
    ASSERT_TRUE(send(peer(), 1));
    EXPECT_EQ(fabric_.open_objects("mr"), 0);
    EXPECT_EQ(fake_->sent()[0].descriptor, nullptr);
}

TEST_F(PacketPools, AFailedRegistrationRefusesOneMessageOnly) {
    open(fabric_.device(FI_MR_LOCAL));
    ofi::Peer& to = peer();
    fabric_.fail_next("fi_mr_regattr", -FI_ENOMEM);
    EXPECT_FALSE(send(to, 1));
    EXPECT_FALSE(to.lost);
    EXPECT_TRUE(send(to, 2));
    EXPECT_EQ(values_to(*fake_, kRemote), std::vector<std::uint64_t>{2});
}

TEST_F(PacketPools, HoldHandshakesEvenWithoutEagerSends) {
    settings_.eager_max_size = -1;
    open();
    EXPECT_GE(endpoint_->max_message_payload(peer()), 128U);
}

}  // namespace
}  // namespace duofi::test
