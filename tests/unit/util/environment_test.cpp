// Writes into the process environment, and the page that documents it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "common/util/settings_table.hpp"

namespace duofi {
namespace {

class Environment : public testing::Test {
  protected:
    void SetUp() override { forget(); }
    void TearDown() override { forget(); }
    static void forget() {
        for (const char* name : {"DUOFI_TEST_A", "DUOFI_TEST_B", "DUOFI_TEST_C"}) ::unsetenv(name);
    }
};

TEST_F(Environment, AddsOnlyWhatIsMissing) {
    ::setenv("DUOFI_TEST_A", "mine", 1);
    const std::array<EnvironmentDefault, 3> wanted{
        {{"DUOFI_TEST_A", "1"}, {"DUOFI_TEST_B", "2"}, {"DUOFI_TEST_C", ""}}};
    EXPECT_EQ(set_environment_defaults(wanted), 2u);
    EXPECT_EQ(environment_value("DUOFI_TEST_A"), "mine");
    EXPECT_EQ(environment_value("DUOFI_TEST_B"), "2");
    EXPECT_EQ(environment_value("DUOFI_TEST_C"), "");
    EXPECT_NE(environment_value("PATH"), std::nullopt);
    EXPECT_EQ(set_environment_defaults(wanted), 0u);
}

TEST_F(Environment, OneVariable) {
    EXPECT_TRUE(set_environment_default("DUOFI_TEST_A", "x"));
    EXPECT_FALSE(set_environment_default("DUOFI_TEST_A", "y"));
    EXPECT_EQ(environment_value("DUOFI_TEST_A"), "x");
    EXPECT_EQ(environment_value("DUOFI_TEST_B"), std::nullopt);
}

TEST_F(Environment, DefaultsForAWhileAreGoneAfterwards) {
    ::setenv("DUOFI_TEST_A", "mine", 1);
    const std::array<EnvironmentDefault, 2> wanted{{{"DUOFI_TEST_A", "1"}, {"DUOFI_TEST_B", "2"}}};
    bool ran = false;
    with_environment_defaults(wanted, [&] {
        ran = true;
        EXPECT_EQ(environment_value("DUOFI_TEST_A"), "mine");
        EXPECT_EQ(environment_value("DUOFI_TEST_B"), "2");
    });
    EXPECT_TRUE(ran);
    EXPECT_EQ(environment_value("DUOFI_TEST_A"), "mine");
    EXPECT_EQ(environment_value("DUOFI_TEST_B"), std::nullopt);
    EXPECT_THROW(with_environment_defaults(wanted, [] { throw 1; }), int);
    EXPECT_EQ(environment_value("DUOFI_TEST_B"), std::nullopt);
    with_environment_defaults({}, [&] { ran = false; });
    EXPECT_FALSE(ran);
}

TEST_F(Environment, OrdinaryWritesWorkAfterwards) {
    ASSERT_TRUE(set_environment_default("DUOFI_TEST_A", "x"));
    EXPECT_EQ(::setenv("DUOFI_TEST_B", "later", 1), 0);
    EXPECT_EQ(::setenv("DUOFI_TEST_A", "changed", 1), 0);
    EXPECT_EQ(environment_value("DUOFI_TEST_A"), "changed");
    EXPECT_EQ(environment_value("DUOFI_TEST_B"), "later");
    EXPECT_EQ(::unsetenv("DUOFI_TEST_A"), 0);
    EXPECT_EQ(environment_value("DUOFI_TEST_A"), std::nullopt);
}

TEST_F(Environment, EmptyProcessEnvironment) {
    char** before = environ;
    environ = nullptr;
    EXPECT_TRUE(set_environment_default("DUOFI_TEST_A", "x"));
    EXPECT_EQ(environment_value("DUOFI_TEST_A"), "x");
    environ = before;
}

// A value that another thread has read stays readable, and its reads go on, while we write.
TEST_F(Environment, ReadersAreNotDisturbed) {
    ::setenv("DUOFI_TEST_A", "steady", 1);
    std::atomic<bool> stop{false};
    std::atomic<long> reads{0};
    std::atomic<bool> wrong{false};
    std::thread reader([&] {
        while (!stop.load()) {
            const char* value = std::getenv("DUOFI_TEST_A");
            if (value == nullptr || std::string_view(value) != "steady") wrong = true;
            ++reads;
        }
    });
    while (reads.load() == 0) std::this_thread::yield();
    EXPECT_TRUE(set_environment_default("DUOFI_TEST_B", "x"));
    EXPECT_TRUE(set_environment_default("DUOFI_TEST_C", "x"));
    const long so_far = reads.load();
    while (reads.load() < so_far + 100) std::this_thread::yield();
    stop = true;
    reader.join();
    EXPECT_FALSE(wrong.load());
}

TEST_F(Environment, ProcessEnvironmentIsWhatLoadSettingsReads) {
    ASSERT_EQ(::setenv("OFI_NCCL_CQ_SIZE", "77", 1), 0);
    const auto settings = load_settings();
    ::unsetenv("OFI_NCCL_CQ_SIZE");
    ASSERT_TRUE(settings);
    EXPECT_EQ(settings->cq_size, 77u);
}

TEST(EnvironmentPage, EqualsTheTable) {
    std::ifstream file(DUOFI_ENVIRONMENT_PAGE);
    std::stringstream page;
    page << file.rdbuf();
    const std::string made = settings_markdown();
    if (page.str() != made) std::ofstream("environment.md") << made;
    EXPECT_EQ(page.str(), made) << "the page as it should be is in ./environment.md of the test; "
                                << "copy it to " << DUOFI_ENVIRONMENT_PAGE;
}

TEST(EnvironmentPage, NamesEveryRow) {
    const std::string page = settings_markdown();
    for (const SettingDescriptor& row : setting_table())
        EXPECT_NE(page.find("| `" + std::string(row.name) + "` |"), std::string::npos) << row.name;
}

}  // namespace
}  // namespace duofi
