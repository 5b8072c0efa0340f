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

// The leftover of a killed process holds the name that this one would take; the next name is free.
class TakenNames : public testing::TestWithParam<int> {
  protected:
    Result<std::shared_ptr<ofi::Endpoint>> open(const ofi::EndpointHook& hook = {}) {
        auto domain = ofi::Domain::open(device_, settings_);
        if (!domain) return tl::unexpected(domain.error());
        return ofi::Endpoint::open(std::move(*domain), hook);
    }
    FakeFabric fabric_;
    LogLines log_;
    const Settings settings_;
    const ofi::DeviceInfo device_ = fabric_.device();
};

TEST_P(TakenNames, ArePassedOver) {
    for (const char* call : {"fi_endpoint", "fi_enable"}) {
        fabric_.fail_next(call, GetParam(), 5);
        int seen = 0;
        const auto endpoint = open([&](fid_ep*) {
            ++seen;
            return Status{};
        });
        ASSERT_TRUE(endpoint) << call;
        EXPECT_EQ(seen, std::string(call) == "fi_enable" ? 6 : 1) << "each new endpoint is looked at";
        EXPECT_EQ(fabric_.open_objects("ep"), 1);
    }
    EXPECT_TRUE(log_.all().empty()) << log_.dump();
}

TEST_P(TakenNames, WithoutEndAreAnError) {
    fabric_.fail_next("fi_enable", GetParam(), 1000);
    const auto endpoint = open();
    ASSERT_FALSE(endpoint);
    EXPECT_EQ(endpoint.error().provider_errno, -GetParam());
    ASSERT_EQ(log_.with("op=fi_enable").size(), 1U) << log_.dump();
    EXPECT_EQ(fabric_.open_objects(), 0);
}

TEST_P(TakenNames, TheValidationsOwnErrorIsFinal) {
    int seen = 0;
    const auto endpoint = open([&](fid_ep*) -> Status {
        ++seen;
        return fail(Errc::unsupported, "hook", -GetParam());
    });
    ASSERT_FALSE(endpoint);
    EXPECT_EQ(endpoint.error().code, Errc::unsupported);
    EXPECT_EQ(seen, 1);
    EXPECT_EQ(fabric_.open_objects(), 0);
}

INSTANTIATE_TEST_SUITE_P(Codes, TakenNames, testing::Values(-FI_EADDRINUSE, -FI_EBUSY),
                         [](const auto& tested) { return std::string(tested.param == -FI_EBUSY ? "busy" : "in_use"); });

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
