#include "common/util/version.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace duofi {
namespace {

TEST(Version, TextNamesPackageVersionAndRevision) {
    const std::string text = kVersionText;
    EXPECT_EQ(text, std::string(kPackageName) + " " + kVersion + " (revision " + kRevision + ")");
    EXPECT_EQ(std::string(kPackageName), "duofi");
    EXPECT_NE(std::string(kRevision), "");
}

// People look for it with `strings`. The text is put together here, so that only the constant
// matches.
TEST(Version, TextIsInTheFile) {
    std::ifstream file("/proc/self/exe", std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    EXPECT_NE(content.find(kVersionText), std::string::npos);
}

}  // namespace
}  // namespace duofi
