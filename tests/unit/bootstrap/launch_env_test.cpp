// Rank facts from options and launchers, in their order (ecosystem 4.2).
#include "common/bootstrap/launch_env.hpp"

#include <gtest/gtest.h>

#include <map>

#include "tests/unit/bootstrap/log_capture.hpp"

namespace duofi::bootstrap::test {
namespace {

using Variables = std::map<std::string, std::string>;

Result<LaunchFacts> facts(const Variables& variables, const ExplicitFacts& given = {}) {
    return launch_facts(given, [&](const char* name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        if (found == variables.end()) return std::nullopt;
        return found->second;
    });
}

const Variables kTorchrun{{"RANK", "5"},
                          {"WORLD_SIZE", "8"},
                          {"LOCAL_RANK", "1"},
                          {"MASTER_ADDR", "n0"},
                          {"MASTER_PORT", "29500"}};
const Variables kOpenMpi{{"OMPI_COMM_WORLD_RANK", "3"},
                         {"OMPI_COMM_WORLD_SIZE", "4"},
                         {"OMPI_COMM_WORLD_LOCAL_RANK", "2"}};
const Variables kSlurm{{"SLURM_PROCID", "6"}, {"SLURM_NTASKS", "7"}, {"SLURM_LOCALID", "0"}};
const Variables kPmi{{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}};

void expect(const Result<LaunchFacts>& found, Launcher source, int rank, int size, int local) {
    ASSERT_TRUE(found);
    EXPECT_EQ(found->source, source);
    EXPECT_EQ(found->rank, rank);
    EXPECT_EQ(found->size, size);
    EXPECT_EQ(found->local_rank, local);
}

TEST(LaunchEnv, knows_each_launcher) {
    expect(facts(kTorchrun), Launcher::torchrun, 5, 8, 1);
    expect(facts(kOpenMpi), Launcher::open_mpi, 3, 4, 2);
    expect(facts(kSlurm), Launcher::slurm, 6, 7, 0);
    expect(facts(kPmi), Launcher::pmi, 1, 2, 1);
    expect(facts({}), Launcher::none, 0, 1, 0);
}

TEST(LaunchEnv, takes_the_root_with_every_launcher) {
    const auto torchrun = facts(kTorchrun);
    ASSERT_TRUE(torchrun);
    EXPECT_EQ(torchrun->root_host, "n0");
    EXPECT_EQ(torchrun->root_port, 29500);
    EXPECT_TRUE(torchrun->root_host_given);
    Variables slurm = kSlurm;
    slurm["MASTER_ADDR"] = "fe80::1";
    slurm["MASTER_PORT"] = "1";
    const auto found = facts(slurm);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->root_host, "fe80::1");
    EXPECT_EQ(found->root_port, 1);
    EXPECT_EQ(facts(kPmi)->root_port, 0);
    EXPECT_FALSE(facts(kPmi)->root_host_given);
}

TEST(LaunchEnv, precedence_is_options_torchrun_open_mpi_slurm_pmi) {
    Variables all = kPmi;
    all.insert(kSlurm.begin(), kSlurm.end());
    expect(facts(all), Launcher::slurm, 6, 7, 0);
    all.insert(kOpenMpi.begin(), kOpenMpi.end());
    expect(facts(all), Launcher::open_mpi, 3, 4, 2);
    all.insert(kTorchrun.begin(), kTorchrun.end());
    expect(facts(all), Launcher::torchrun, 5, 8, 1);
    ExplicitFacts given;
    given.rank = 2;
    given.size = 3;
    expect(facts(all, given), Launcher::options, 2, 3, 2);
    given.local_rank = 0;
    given.root_host = "here";
    given.root_port = 77;
    const auto options = facts(all, given);
    expect(options, Launcher::options, 2, 3, 0);
    EXPECT_EQ(options->root_host, "here");
    EXPECT_EQ(options->root_port, 77);
}

TEST(LaunchEnv, a_launcher_needs_rank_and_size) {
    expect(facts({{"RANK", "3"}}), Launcher::none, 0, 1, 0);
    expect(facts({{"WORLD_SIZE", "3"}, {"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}), Launcher::pmi, 0, 2,
           0);
}

TEST(LaunchEnv, single_options_override_the_launcher) {
    ExplicitFacts given;
    given.rank = 7;
    expect(facts(kTorchrun, given), Launcher::torchrun, 7, 8, 7);
}

TEST(LaunchEnv, names_the_source) {
    LogCapture capture;
    ASSERT_TRUE(facts(kOpenMpi));
    EXPECT_EQ(capture.count(log::Level::info, "rank facts from Open MPI: rank 3 of 4"), 1)
        << capture.all();
}

struct Bad {
    const char* name;
    const char* value;
};

TEST(LaunchEnv, refuses_bad_values_with_name_value_and_form) {
    for (const Bad& bad :
         {Bad{"RANK", ""}, Bad{"RANK", "abc"}, Bad{"RANK", "-1"}, Bad{"RANK", "8"},
          Bad{"RANK", "99999999999999999999"}, Bad{"WORLD_SIZE", "0"}, Bad{"WORLD_SIZE", "1x"},
          Bad{"LOCAL_RANK", "8"}, Bad{"MASTER_PORT", "0"}, Bad{"MASTER_PORT", "65536"},
          Bad{"MASTER_PORT", "http"}, Bad{"MASTER_ADDR", ""}}) {
        LogCapture capture;
        Variables variables = kTorchrun;
        variables[bad.name] = bad.value;
        const auto found = facts(variables);
        ASSERT_FALSE(found) << bad.name << "=" << bad.value;
        EXPECT_EQ(found.error().code, Errc::invalid_argument);
        EXPECT_EQ(capture.count(log::Level::warn, std::string(bad.name) + " is set to \"" +
                                                      bad.value + "\"; accepted: a"),
                  1)
            << capture.all();
    }
}

TEST(LaunchEnv, refuses_options_that_do_not_fit) {
    ExplicitFacts given;
    given.rank = 4;
    given.size = 4;
    EXPECT_FALSE(facts({}, given));
    given.size = 0;
    EXPECT_FALSE(facts({}, given));
    given = {};
    given.size = 2;
    EXPECT_FALSE(facts(kTorchrun, given)) << "torchrun's rank 5 is not below 2";
}

}  // namespace
}  // namespace duofi::bootstrap::test
