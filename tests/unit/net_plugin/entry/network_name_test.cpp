// The name that the caller compares with NCCL_NET before init (net contract 1.3).
#include "net_plugin/network_name.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "common/abi/net_v6.h"
#include "tests/support/scoped_env.hpp"

extern "C" ncclNet_v6_t ncclNetPlugin_v6;

namespace duofi::net {
namespace {

std::string name_for(const char* asked) {
    const duofi::test::ScopedEnv env(
        "NCCL_NET", asked != nullptr ? std::optional<std::string>(asked) : std::nullopt);
    return network_name();
}

TEST(NetworkName, is_ours_unless_an_alias_is_asked_for) {
    EXPECT_EQ(name_for(nullptr), "duofi");
    for (const char* asked : {"duofi", "DUOFI", "", "Socket", "IB", "OF", "OFI ", " OFI", "OFI2",
                              "AWS", "AWSLibfabric", "Libfabric2", "AWS  Libfabric"})
        EXPECT_EQ(name_for(asked), "duofi") << asked;
}

TEST(NetworkName, answers_to_the_aliases_in_any_case) {
    for (const char* asked : {"OFI", "ofi", "Ofi"}) EXPECT_EQ(name_for(asked), "OFI");
    for (const char* asked : {"Libfabric", "libfabric", "LIBFABRIC"})
        EXPECT_EQ(name_for(asked), "Libfabric");
    for (const char* asked : {"AWS Libfabric", "aws libfabric"})
        EXPECT_EQ(name_for(asked), "AWS Libfabric");
}

TEST(NetworkName, outlives_a_change_of_the_environment) {
    const char* name = nullptr;
    {
        const duofi::test::ScopedEnv env("NCCL_NET", "OFI");
        name = network_name();
    }
    EXPECT_STREQ(name, "OFI");
}

// The constructor of the table's file has run before main, as it has after dlopen and before init.
TEST(NetworkName, stands_in_the_table_at_load) {
    if (duofi::test::env_value("NCCL_NET"))
        GTEST_SKIP() << "NCCL_NET is set by the caller of this test";
    EXPECT_STREQ(ncclNetPlugin_v6.name, "duofi");
}

TEST(NetworkNameDeathTest, follows_the_variable_at_load) {
    GTEST_FLAG_SET(death_test_style,
                   "threadsafe");  // runs this program anew, constructors included
    const duofi::test::ScopedEnv env("NCCL_NET", "aws libfabric");
    EXPECT_EXIT(std::exit(std::string(ncclNetPlugin_v6.name) == "AWS Libfabric" ? 0 : 1),
                ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace duofi::net
