// The kernel check that belongs to libnccom (net contract 1.6, step 1).
#include "common/loader/fork_check.hpp"

#include <gtest/gtest.h>

namespace duofi::loader {
namespace {

TEST(ForkCheck, wants_5_14_or_the_variable) {
    EXPECT_TRUE(fork_safe("5.14.0", false));
    EXPECT_TRUE(fork_safe("6.1.0-13-amd64", false));
    EXPECT_TRUE(fork_safe("10.0", false));
    EXPECT_FALSE(fork_safe("5.13.19-generic", false));
    EXPECT_FALSE(fork_safe("4.18.0-372.el8", false));
    EXPECT_FALSE(fork_safe("unknown", false));
    EXPECT_TRUE(fork_safe("4.18.0", true));
}

TEST(ForkCheck, warns_word_for_word) {
    EXPECT_EQ(fork_warning("5.10.0-26"),
              "Linux kernel 5.10 requires setting FI_EFA_FORK_SAFE=1 environment variable.  "
              "Multi-node support will be disabled.\nPlease restart with FI_EFA_FORK_SAFE=1 set.");
}

}  // namespace
}  // namespace duofi::loader
