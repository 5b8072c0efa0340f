// Discovery in processes that never used libfabric before: it reads FI_PROVIDER once per process.
// The test program itself must not touch libfabric. User-reports A4, A9, A21.
#include <gtest/gtest.h>

#include "tests/support/scoped_env.hpp"
#include "tests/unit/ofi/discovery/child_process.hpp"
#include "tests/unit/ofi/discovery/discovery_report.hpp"

namespace duofi::test {
namespace {

TEST(FreshProcess, TellsWhatItTookAndLeft) {
    const ChildResult result = run_in_child([] { return discovery_report(Settings{}); });
    ASSERT_TRUE(result.ok) << result.text;
    EXPECT_TRUE(has_line(result.text, "info", "NET/OFI Selected provider is ")) << result.text;
    EXPECT_TRUE(has_line(result.text, "info", "NET/OFI Left out provider shm")) << result.text;
    EXPECT_TRUE(lines_of(result.text, "warn").empty()) << result.text;
}

TEST(FreshProcess, TheLibrarysOwnFilterIsSeenThrough) {
    for (const char* value : {"tpc", "efa", "^tcp,net,shm,sockets,udp,psm2,psm,ofi_rxm,ofi_rxd"}) {
        const ChildResult result = run_in_child([&] {
            const ScopedEnv filter("FI_PROVIDER", value);
            Settings settings;
            settings.fi_provider = value;
            return discovery_report(settings);
        });
        ASSERT_TRUE(result.ok) << result.text;
        if (std::string(value) == "efa" && !lines_of(result.text, "device").empty()) continue;
        EXPECT_TRUE(has_line(result.text, "error", "no_data 61")) << value << ": " << result.text;
        EXPECT_TRUE(has_line(result.text, "info", std::string("FI_PROVIDER=") + value))
            << result.text;
    }
}

TEST(FreshProcess, ProvidersNamedInTheLibrarysFilterAreTaken) {
    for (const char* value : {"shm", "sockets"}) {
        const ChildResult result = run_in_child([&] {
            const ScopedEnv filter("FI_PROVIDER", value);
            Settings settings;
            settings.fi_provider = value;
            return discovery_report(settings);
        });
        ASSERT_TRUE(result.ok) << result.text;
        EXPECT_TRUE(
            has_line(result.text, "info", std::string("Selected provider is ") + value + ","))
            << result.text;
    }
}

TEST(FreshProcess, TwoProcessesSeeTheSameList) {
    const ChildResult one = run_in_child([] { return discovery_report(Settings{}); });
    const ChildResult two = run_in_child([] { return discovery_report(Settings{}); });
    ASSERT_TRUE(one.ok && two.ok) << one.text << two.text;
    EXPECT_EQ(lines_of(one.text, "device"), lines_of(two.text, "device"));
    EXPECT_FALSE(device_names(one.text).empty());
}

}  // namespace
}  // namespace duofi::test
