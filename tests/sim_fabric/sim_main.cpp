#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/sim_fabric/sim_groups.hpp"
#include "tests/support/providers.hpp"

namespace duofi::test {
namespace {

bool full = false;

}  // namespace

bool full_tier() { return full; }

GroupOptions on_personality(const std::string& personality, int ranks, const std::map<std::string, std::string>& knobs) {
    const bool ideal = personality == "ideal";
    GroupOptions options;
    options.ranks = ranks;
    options.mode = RankMode::processes;
    options.env["FI_PROVIDER_PATH"] = DUOFI_SIM_FABRIC_DIR;
    options.env["FI_PROVIDER"] = ideal ? "duofisim" : provider_name("duofisim;" + personality);
    for (const auto& [name, value] : knobs) options.env["DUOFISIM_" + name] = value;
    options.args["personality"] = personality;
    options.args["full"] = full ? "1" : "0";
    return options;
}

}  // namespace duofi::test

int main(int argc, char** argv) {
    if (const int code = duofi::test::run_rank_of_command_line(argc, argv); code >= 0) return code;
    duofi::test::full = std::any_of(argv, argv + argc, [](const char* word) { return std::strcmp(word, "--full") == 0; });
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
