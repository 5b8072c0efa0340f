// Communicators over the runtimes of devices, with mock drivers (V-26): edges connect and go, kernels
// of CPUs stay away.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "tests/mocks/control.h"
#include "tests/unit/p2p/transport/net_nodes.hpp"
#include "tests/unit/util/log_lines.hpp"

namespace duofi::p2p::test {
namespace {

using duofi::test::LogLines;

MockControl* control_of(const char* library) {
    void* opened = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);  // stays
    if (opened == nullptr) return nullptr;
    return reinterpret_cast<MockControlFunction>(::dlsym(opened, DUOFI_MOCK_CONTROL))();
}

Team::Change over_mocks(bool several_processes = false) {
    return [=](int rank, CommunicatorOptions& options) {
        options.settings.cuda_library = DUOFI_MOCK_CUDA;
        options.settings.hip_library = DUOFI_MOCK_HIP;
        options.settings.neuron_library = DUOFI_MOCK_NEURON;
        options.settings.nccl_p2p_level = "SYS";  // the default depends on the maker of the CPU
        options.device = rank;
        options.buffer_bytes = {4096, 16384, 32768};
        if (several_processes) options.pid_salt = static_cast<std::uint64_t>(rank) + 1;
    };
}

class DeviceEdges : public testing::TestWithParam<std::pair<const char*, const char*>> {
  protected:
    void SetUp() override {
        control_ = control_of(GetParam().second);
        ASSERT_NE(control_, nullptr);
        *control_ = {};
        control_->devices = 2;
        control_->far_a = control_->far_b = -1;
    }
    MockControl* control_ = nullptr;
    LogLines lines_;
};

TEST_P(DeviceEdges, V26_ConnectAndGo) {
    Team team(2, GetParam().first, over_mocks());
    ASSERT_TRUE(team.whole()) << lines_.dump();
    team.connect_all();
    EXPECT_STREQ(team.rank(0).edge_text(1), "P2P/direct pointer");
    EXPECT_EQ(control_->blocks - 2 * (team.comm(0).channels.front().peers !=
                                      team.comm(0).channels.front().devPeers),
              4)
        << "one block per connector, and the mirrors";
    team.run([](int, Communicator& communicator) {
        Operations operations(communicator, kAllProtocols);
        char data[8] = {};
        const Status refused = operations.all_to_all(data, data + 4, 2);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, Errc::unsupported);
    });
    EXPECT_FALSE(lines_.with("kernels run on CPUs here").empty()) << lines_.dump();
    team.tear_down();
}

TEST_P(DeviceEdges, NothingStaysBehind) {
    {
        Team team(2, GetParam().first, over_mocks());
        ASSERT_TRUE(team.whole());
        team.connect_all();
        team.tear_down();
    }
    EXPECT_EQ(control_->blocks, 0);
    EXPECT_EQ(control_->contexts, 0);
    EXPECT_TRUE(lines_.with("were not freed").empty()) << lines_.dump();
}

INSTANTIATE_TEST_SUITE_P(Kinds, DeviceEdges,
                         testing::Values(std::pair("cuda", DUOFI_MOCK_CUDA),
                                         std::pair("hip", DUOFI_MOCK_HIP),
                                         std::pair("neuron", DUOFI_MOCK_NEURON)),
                         [](const auto& kind) { return kind.param.first; });

TEST(DeviceHandles, V25_UnifiedMemoryNeedsNone) {  // T-5
    const LogLines lines;
    ASSERT_NE(control_of(DUOFI_MOCK_NEURON), nullptr);
    Team team(2, "neuron", over_mocks(true));
    ASSERT_TRUE(team.whole());
    team.connect_all();
    EXPECT_STREQ(team.rank(0).edge_text(1), "P2P/IPC");
    team.tear_down();
}

TEST(DeviceHandles, V26_ADriverThatRefusesAHandleEndsTheSetUp) {
    const LogLines lines;
    ASSERT_NE(control_of(DUOFI_MOCK_CUDA), nullptr);
    Team team(2, "cuda", over_mocks(true));  // in truth they are one process
    ASSERT_TRUE(team.whole());
    team.run([](int, Communicator& communicator) { EXPECT_FALSE(communicator.connect_all()); });
    EXPECT_FALSE(lines.with("invalid device context").empty()) << lines.dump();
}

}  // namespace
}  // namespace duofi::p2p::test
