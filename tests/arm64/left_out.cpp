// Cases that ask for more than qemu-user gives. In every test program of the cross build; each such case is skipped with
// its reason where EMULATED_BY is set (cmake/arm64.cmake), and runs on a machine that is arm64 indeed.
#include <errno.h>
#include <fnmatch.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/arm64/left_out.hpp"

namespace duofi::test {
namespace {

std::string full_name(const ::testing::TestInfo& info) {
    return std::string(info.test_suite_name()) + "." + info.name();
}

bool matches(const LeftOut& entry, const std::string& name) {
    return ::fnmatch(entry.cases, name.c_str(), 0) == 0;
}

bool here(const LeftOut& entry) { return std::string(entry.program) == program_invocation_short_name; }

class Skipper final : public ::testing::EmptyTestEventListener {
    // An entry that names nothing any more must go.
    void OnTestProgramStart(const ::testing::UnitTest& all) override {
        for (const LeftOut& entry : kLeftOut)
            if (here(entry) && !names_a_case(entry, all)) {
                std::fprintf(stderr, "tests/arm64/left_out.hpp: %s has no %s\n", entry.program, entry.cases);
                std::exit(1);
            }
    }
    // A skip that is noted before the body runs keeps it from running.
    void OnTestStart(const ::testing::TestInfo& info) override {
        for (const LeftOut& entry : kLeftOut)
            if (here(entry) && matches(entry, full_name(info))) GTEST_SKIP() << "qemu-user: " << entry.reason;
    }

    static bool names_a_case(const LeftOut& entry, const ::testing::UnitTest& all) {
        for (int s = 0; s < all.total_test_suite_count(); ++s) {
            const ::testing::TestSuite& suite = *all.GetTestSuite(s);
            for (int i = 0; i < suite.total_test_count(); ++i)
                if (matches(entry, full_name(*suite.GetTestInfo(i)))) return true;
        }
        return false;
    }
};

[[maybe_unused]] const bool kListens = [] {
    if (std::getenv("EMULATED_BY") != nullptr)
        ::testing::UnitTest::GetInstance()->listeners().Append(new Skipper);
    return true;
}();

}  // namespace
}  // namespace duofi::test
