// A case of the list in left_out.hpp must not run in the emulation; this one would fail.
#include <gtest/gtest.h>

#include <cstdlib>

namespace duofi::test {
namespace {

TEST(LeftOut, CasesOfTheListDoNotRun) { EXPECT_EQ(std::getenv("EMULATED_BY"), nullptr); }

}  // namespace
}  // namespace duofi::test
