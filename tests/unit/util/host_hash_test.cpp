// Which node a rank is on: C-6.
// Units: util/host_hash.
#include "common/util/host_hash.hpp"

#include <gtest/gtest.h>

namespace duofi {
namespace {

TEST(HostHash, hash_of_strings_is_that_of_the_callers) {  // C-6
    EXPECT_EQ(string_hash(""), 5381U);
    EXPECT_EQ(string_hash("a"), 5381U * 33 ^ 'a');
    EXPECT_EQ(string_hash("ab"), (5381U * 33 ^ 'a') * 33 ^ 'b');
    EXPECT_EQ(string_hash("\xff"), 5381U * 33 ^ 0xffU) << "bytes are unsigned";
}

TEST(HostHash, a_given_host_name_replaces_the_real_one) {  // C-6
    EXPECT_EQ(host_text("node-7"), "node-7");
    EXPECT_GT(host_text("").size(), 36U) << "host name and boot id";
}

}  // namespace
}  // namespace duofi
