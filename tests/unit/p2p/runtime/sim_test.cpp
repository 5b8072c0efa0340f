// Units: p2p/runtime/sim p2p/runtime/sim_plan
#include "p2p/runtime/sim.hpp"

#include "common/util/clock.hpp"
#include "common/util/messages/p2p_runtime.hpp"
#include "tests/unit/p2p/runtime/runtime_fixture.hpp"

namespace duofi::p2p {
namespace {

TEST(SimPlan, ReadsWhatItsGrammarOffers) {
    const auto plan =
        parse_sim_plan(" base=unified; devices=4;far=0-3, 1-2;latency_us=5;fail=malloc:2,ipc_open:1:704,free:0 ;");
    ASSERT_TRUE(plan);
    EXPECT_TRUE(plan->unified);
    EXPECT_EQ(plan->devices, 4);
    EXPECT_EQ(plan->far, (std::vector<std::pair<int, int>>{{0, 3}, {1, 2}}));
    EXPECT_EQ(plan->copy_latency, 5 * kMicrosecond);
    const std::vector<SimFault> faults{{SimSlot::malloc, 2, static_cast<int>(Errc::system)},
                                       {SimSlot::ipc_open, 1, 704},
                                       {SimSlot::free, 0, static_cast<int>(Errc::system)}};
    EXPECT_EQ(plan->faults, faults);
    const auto empty = parse_sim_plan("");
    ASSERT_TRUE(empty);
    EXPECT_FALSE(empty->unified);
    EXPECT_TRUE(empty->faults.empty() && empty->far.empty());
}

TEST(SimPlan, RefusesTheRest) {
    for (const char* bad : {"base", "base=cuda", "devices=0", "devices=x", "devices=1000", "far=1", "far=1-", "far=a-b",
                            "fail=malloc", "fail=nothing:1", "fail=malloc:-1", "fail=malloc:1:0", "latency_us=-1",
                            "colour=red", "=", "fail=", "devices=4 5"}) {
        const auto plan = parse_sim_plan(bad);
        ASSERT_FALSE(plan) << bad;
        EXPECT_STREQ(plan.error().place, messages::kSimSyntax);
    }
}

class SimRuntime : public test::RuntimeTest {
  protected:
    void start(const char* plan) {
        Settings settings = test::runtime_settings_of("sim");
        settings.p2p_sim = plan;
        use(settings);
    }
    void TearDown() override { set_sim_plan(std::nullopt); }
};

TEST_F(SimRuntime, IsTheHostWithoutAPlan) {
    start("");
    EXPECT_TRUE(runtime::has(kRealIpc));
    const auto memory = runtime::allocate(1);
    p2pIpcHandle handle{};
    void* opened = nullptr;
    ASSERT_TRUE(memory && runtime::ipc_get(&handle, *memory) && runtime::ipc_open(&opened, handle));
    EXPECT_EQ(opened, *memory);
    EXPECT_TRUE(runtime::ipc_close(opened) && runtime::free(*memory));
    EXPECT_EQ(sim_calls(SimSlot::malloc), 1u);
    EXPECT_EQ(sim_calls(SimSlot::ipc_open), 1u);
}

TEST_F(SimRuntime, CanBeUnified) {
    start("base=unified");
    EXPECT_TRUE(runtime::has(kUnified));
    EXPECT_FALSE(runtime::has(kRealIpc));
}

TEST_F(SimRuntime, DevicesCanBeFarFromEachOther) {
    start("devices=4;far=0-3");
    EXPECT_EQ(*runtime::device_count(), 4);
    for (int a = 0; a < 4; ++a)
        for (int b = 0; b < 4; ++b)
            EXPECT_EQ(*runtime::can_access_peer(a, b), !((a == 0 && b == 3) || (a == 3 && b == 0))) << a << b;
}

TEST_F(SimRuntime, FailsAtTheCallThatWasNamed) {
    start("fail=malloc:2:8,memcpy:0");
    const auto first = runtime::allocate(1);
    const auto second = runtime::allocate(1);
    const auto third = runtime::allocate(1);
    ASSERT_TRUE(first && third);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Errc::no_memory);
    EXPECT_STREQ(second.error().place, messages::kSimFault);
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(runtime::copy(*first, *third, 1, CopyKind::automatic));
    set_sim_faults({});
    EXPECT_TRUE(runtime::copy(*first, *third, 1, CopyKind::automatic));
    set_sim_faults({{SimSlot::enable_peer_access, 1, kPeerAccessAlreadyEnabled}});
    EXPECT_TRUE(runtime::enable_peer_access(0)) << "704 is no failure";
    EXPECT_TRUE(runtime::free(*first) && runtime::free(*third));
}

TEST_F(SimRuntime, EverySlotThatHasANameCanFail) {
    start("");
    const auto memory = runtime::allocate(1);
    ASSERT_TRUE(memory);
    std::vector<SimFault> faults;
    for (std::size_t slot = 1; slot < kSimSlotNames.size(); ++slot)
        faults.push_back({static_cast<SimSlot>(slot), 0, static_cast<int>(Errc::timed_out)});
    set_sim_faults(faults);
    p2pIpcHandle handle{};
    void* opened = nullptr;
    const auto failed = [](const auto& result) { return !result && result.error().code == Errc::timed_out; };
    EXPECT_TRUE(failed(runtime::allocate(1)));
    EXPECT_TRUE(failed(runtime::free(*memory)));
    EXPECT_TRUE(failed(runtime::reserve(*memory, 1)));
    EXPECT_TRUE(failed(runtime::ipc_get(&handle, *memory)));
    EXPECT_TRUE(failed(runtime::ipc_open(&opened, handle)));
    EXPECT_TRUE(failed(runtime::ipc_close(*memory)));
    EXPECT_TRUE(failed(runtime::copy(*memory, *memory, 1, CopyKind::automatic)));
    EXPECT_TRUE(failed(runtime::can_access_peer(0, 0)));
    EXPECT_TRUE(failed(runtime::enable_peer_access(0)));
    EXPECT_TRUE(failed(runtime::remote_allocate(RelayAddress{}, 1)));
    EXPECT_TRUE(failed(runtime::remote_free(0)));
    set_sim_faults({});
    EXPECT_TRUE(runtime::free(*memory));
}

TEST_F(SimRuntime, CopiesCanBeSlow) {
    start("latency_us=3000");
    char from = 1, to = 0;
    const Nanoseconds begin = now_ns();
    EXPECT_TRUE(runtime::copy(&to, &from, 1, CopyKind::automatic));
    EXPECT_GE(now_ns() - begin, 3 * kMillisecond);
    EXPECT_EQ(to, 1);
}

TEST_F(SimRuntime, PlansOfTestsReplaceTheVariable) {
    SimPlan plan;
    plan.unified = true;
    plan.devices = 2;
    set_sim_plan(plan);
    start("base=host;devices=3");
    EXPECT_EQ(*runtime::device_count(), 2);
    EXPECT_TRUE(runtime::has(kUnified));
}

TEST_F(SimRuntime, BadPlansAndFailingInitsAreErrors) {
    Settings settings = test::runtime_settings_of("sim");
    settings.p2p_sim = "colour=red";
    EXPECT_FALSE(runtime::acquire(settings));
    EXPECT_EQ(log_.with("P2P DUOFI_P2P_SIM=\"colour=red\": accepted: ").size(), 1u) << log_.dump();
    settings.p2p_sim = "fail=init:1:8";
    const auto used = runtime::acquire(settings);
    ASSERT_FALSE(used);
    EXPECT_EQ(used.error().code, Errc::no_memory);
    EXPECT_EQ(runtime::installed(), nullptr);
}

}  // namespace
}  // namespace duofi::p2p
