// The list of libraries as a pure function: net contract 1.1, 1.2; rma contract L-1 to L-4, L-6,
// L-7.
// Units: common/loader/candidates, common/loader/host_release.
#include "common/loader/candidates.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/abi/host_types.h"
#include "common/loader/host_policy.hpp"

namespace duofi::loader {
namespace {

using Attempts = std::vector<std::vector<std::string>>;

struct Row {
    const char* what;
    Host host;
    int release;
    std::optional<std::string> value;
    Attempts attempts;
};

constexpr int k2_20 = release_number(2, 20, 5);
constexpr int k2_22 = release_number(2, 22, 3);
constexpr int k2_26 = release_number(2, 26, 2);
constexpr int k2_27_3 = release_number(2, 27, 3);
constexpr int k2_27_5 = release_number(2, 27, 5);
constexpr int k2_28 = release_number(2, 28, 3);

Attempts attempts_of(const CandidateList& list) {
    Attempts attempts;
    for (const Candidate& entry : list.entries) attempts.push_back(entry.attempts);
    return attempts;
}

class NetCandidates : public ::testing::TestWithParam<Row> {};

TEST_P(NetCandidates, follow_net_contract_1_2) {
    const Row& row = GetParam();
    EXPECT_EQ(attempts_of(candidates(Flavour::net, row.host, row.release, row.value)), row.attempts)
        << row.what;
}

INSTANTIATE_TEST_SUITE_P(
    table_1_2, NetCandidates,
    ::testing::Values(
        Row{"2.20 unset", Host::nccl, k2_20, std::nullopt, {{"libnccl-net.so"}}},
        Row{"2.20 empty", Host::nccl, k2_20, "", {{"libnccl-net.so"}}},
        Row{"2.20 suffix only", Host::nccl, k2_20, "duofi", {{"libnccl-net-duofi.so"}}},
        Row{"2.20 a full name does not work",
            Host::nccl,
            k2_20,
            "libx.so",
            {{"libnccl-net-libx.so.so"}}},
        Row{"2.20 knows no list", Host::nccl, k2_20, "a,b", {{"libnccl-net-a,b.so"}}},
        Row{"2.20 knows no STATIC_PLUGIN",
            Host::nccl,
            k2_20,
            "static",
            {{"libnccl-net-static.so"}}},
        Row{"2.26 as given, then prefixed",
            Host::nccl,
            k2_26,
            "duofi",
            {{"duofi", "libnccl-net-duofi.so"}}},
        Row{"2.26 also a path is prefixed",
            Host::nccl,
            k2_26,
            "/a/libx.so",
            {{"/a/libx.so", "libnccl-net-/a/libx.so.so"}}},
        Row{"2.22 STATIC_PLUGIN",
            Host::nccl,
            k2_22,
            "STATIC_PLUGIN",
            {{"", "libnccl-net-STATIC_PLUGIN.so"}}},
        Row{"2.27.3 whole name as given only", Host::nccl, k2_27_3, "libx.so", {{"libx.so"}}},
        Row{"2.27.3 anything else prefixed only, also a path",
            Host::nccl,
            k2_27_3,
            "/a/libx.so,duofi",
            {{"libnccl-net-/a/libx.so.so"}, {"libnccl-net-duofi.so"}}},
        Row{"2.27.3 lib.so is too short",
            Host::nccl,
            k2_27_3,
            "lib.so",
            {{"libnccl-net-lib.so.so"}}},
        Row{"2.27.5 list",
            Host::nccl,
            k2_27_5,
            "duofi,libx.so,/p/y.so",
            {{"duofi", "libnccl-net-duofi.so"}, {"libx.so"}, {"/p/y.so"}}},
        Row{"2.27.5: none is a name",
            Host::nccl,
            k2_27_5,
            "none",
            {{"none", "libnccl-net-none.so"}}},
        Row{"2.28: none empties the list", Host::nccl, k2_28, "None", {}},
        Row{"2.28: none inside a list is a name",
            Host::nccl,
            k2_28,
            "none,a",
            {{"none", "libnccl-net-none.so"}, {"a", "libnccl-net-a.so"}}},
        Row{"empty value is an empty list", Host::rccl, kNewestRelease, "", {}},
        Row{"RCCL default", Host::rccl, kNewestRelease, std::nullopt, {{"librccl-net.so"}}},
        Row{"RCCL prefix",
            Host::rccl,
            kNewestRelease,
            "duofi",
            {{"duofi", "librccl-net-duofi.so"}}},
        Row{"empty items vanish",
            Host::rccl,
            kNewestRelease,
            ",,duofi,,",
            {{"duofi", "librccl-net-duofi.so"}}},
        Row{"blanks stay",
            Host::rccl,
            kNewestRelease,
            "a, b",
            {{"a", "librccl-net-a.so"}, {" b", "librccl-net- b.so"}}},
        Row{"lib without .so is short",
            Host::rccl,
            kNewestRelease,
            "libx",
            {{"libx", "librccl-net-libx.so"}}},
        Row{".so without lib is short",
            Host::rccl,
            kNewestRelease,
            "x.so",
            {{"x.so", "librccl-net-x.so.so"}}},
        Row{"lib.so counts as a library name", Host::rccl, kNewestRelease, "lib.so", {{"lib.so"}}},
        Row{"relative path", Host::rccl, kNewestRelease, "./x", {{"./x"}}},
        Row{"one letter of STATIC_PLUGIN",
            Host::rccl,
            kNewestRelease,
            "s",
            {{"", "librccl-net-s.so"}}},
        Row{"any case of STATIC_PLUGIN",
            Host::rccl,
            kNewestRelease,
            "sTaTiC_pL",
            {{"", "librccl-net-sTaTiC_pL.so"}}},
        Row{"longer than STATIC_PLUGIN is a name",
            Host::rccl,
            kNewestRelease,
            "STATIC_PLUGINS",
            {{"STATIC_PLUGINS", "librccl-net-STATIC_PLUGINS.so"}}},
        Row{"libnccom has one fixed name",
            Host::libnccom,
            kNewestRelease,
            "duofi",
            {{"libnccom-net.so"}}}));

std::string many(int count) {
    std::string value;
    for (int i = 0; i < count; ++i) value += "p" + std::to_string(i) + ",";
    return value;
}

TEST(Candidates, net_list_takes_14_and_says_13_net_contract_1_2) {
    const auto list = candidates(Flavour::net, Host::nccl, kNewestRelease, many(15));
    EXPECT_EQ(list.entries.size(), 14U);
    ASSERT_EQ(list.lines.size(), 2U);
    EXPECT_EQ(list.lines[0].subsystems, static_cast<unsigned long>(NCCL_ENV | NCCL_NET));
    EXPECT_EQ(list.lines[0].text, "NCCL_NET_PLUGIN set by environment to " + many(15));
    EXPECT_EQ(list.lines[1].text,
              "NCCL_NET_PLUGIN list contains more than 13 plugins, ignoring the rest");
    EXPECT_EQ(candidates(Flavour::net, Host::nccl, kNewestRelease, many(14)).lines.size(), 1U);
}

TEST(Candidates, names_of_255_bytes_are_skipped_net_contract_1_2) {
    const std::string fits(254, 'x');
    const std::string longer(255, 'y');
    const auto list =
        candidates(Flavour::net, Host::rccl, kNewestRelease, longer + "," + fits + ",z");
    ASSERT_EQ(list.entries.size(), 2U);
    EXPECT_EQ(list.entries[0].entry, fits);
    EXPECT_EQ(list.entries[0].attempts[0].size(), 254U);
    EXPECT_EQ(list.entries[0].attempts[1].size(), 254U) << "the buffer cuts the prefixed name";
    ASSERT_EQ(list.lines.size(), 2U);
    EXPECT_EQ(list.lines[1].text, "NCCL_NET_PLUGIN list contains a plugin name " + longer +
                                      " longer than 255 characters, ignoring it.");
}

TEST(Candidates, rma_list_L_1_L_2) {
    const auto unset = candidates(Flavour::rma, Host::nccl, kNewestRelease, std::nullopt);
    EXPECT_EQ(attempts_of(unset), (Attempts{{"libnccl-rma.so"}}));
    EXPECT_TRUE(unset.lines.empty());
    const auto rccl = candidates(Flavour::rma, Host::rccl, kNewestRelease, "duofi, x");
    EXPECT_EQ(attempts_of(rccl),
              (Attempts{{"duofi", "librccl-rma-duofi.so"}, {" x", "librccl-rma- x.so"}}));
    ASSERT_EQ(rccl.lines.size(), 1U);
    EXPECT_EQ(rccl.lines[0].text, "NCCL_RMA_PLUGIN set by environment to duofi, x");
    const auto full = candidates(Flavour::rma, Host::rccl, kNewestRelease, many(14));
    EXPECT_EQ(full.entries.size(), 13U);
    EXPECT_EQ(full.lines[1].text,
              "NCCL_RMA_PLUGIN list contains more than 13 plugins, ignoring the rest");
}

TEST(Candidates, rma_adopts_gin_then_net_L_3_L_4) {
    const OpenLibraries open{"libgin.so", "librccl-net-duofi.so"};
    const auto none = candidates(Flavour::rma, Host::rccl, kNewestRelease, "NONE", open);
    EXPECT_EQ(attempts_of(none), (Attempts{{"libgin.so"}, {"librccl-net-duofi.so"}}))
        << "none removes only what the variable or the default would add";
    EXPECT_EQ(none.entries[0].origin, Origin::gin_library);
    EXPECT_EQ(none.entries[1].origin, Origin::net_library);
    const auto unset = candidates(Flavour::rma, Host::rccl, kNewestRelease, std::nullopt, open);
    EXPECT_EQ(unset.entries.size(), 3U);
    EXPECT_EQ(unset.entries[0].origin, Origin::default_name);
}

TEST(Candidates, old_callers_have_no_rma_list) {
    EXPECT_TRUE(candidates(Flavour::rma, Host::nccl, release_number(2, 30, 4), "x", {"g", "n"})
                    .entries.empty());
}

TEST(Candidates, words_that_mean_the_program_L_7) {
    for (const char* word : {"s", "S", "static", "STATIC_PLUGIN", "Static_Plug"})
        EXPECT_TRUE(means_running_program(word)) << word;
    for (const char* word : {"", "duofi", "statics", "tatic", "STATIC_PLUGIN2"})
        EXPECT_FALSE(means_running_program(word)) << word;
}

TEST(ProbeOrder, follows_net_contract_1_4) {
    const auto order = [](Host host, int release) {
        const auto span = net_probe_order(host, release);
        return std::vector<int>(span.begin(), span.end());
    };
    using V = std::vector<int>;
    EXPECT_EQ(order(Host::nccl, release_number(2, 12, 12)), (V{5, 4}));
    EXPECT_EQ(order(Host::nccl, release_number(2, 18, 6)), (V{6, 5, 4}));
    EXPECT_EQ(order(Host::nccl, release_number(2, 19, 4)), (V{7, 6, 5}));
    EXPECT_EQ(order(Host::nccl, release_number(2, 23, 4)), (V{8, 7, 6, 5}));
    EXPECT_EQ(order(Host::nccl, release_number(2, 25, 1)), (V{9, 8, 7, 6, 5}));
    EXPECT_EQ(order(Host::nccl, release_number(2, 27, 7)), (V{10, 9, 8, 7, 6}));
    EXPECT_EQ(order(Host::nccl, release_number(2, 29, 7)), (V{11, 10, 9, 8, 7, 6}));
    EXPECT_EQ(order(Host::rccl, kNewestRelease), (V{12, 11, 10, 9, 8, 7, 6}));
    EXPECT_EQ(order(Host::libnccom, kNewestRelease), (V{6}));
}

TEST(ProbeOrder, follows_rma_contract_1_3) {
    const auto order = [](Host host, int release) {
        const auto span = rma_probe_order(host, release);
        return std::vector<int>(span.begin(), span.end());
    };
    using V = std::vector<int>;
    EXPECT_EQ(order(Host::nccl, kNewestRelease), (V{14, 13}));
    EXPECT_EQ(order(Host::nccl, kNewestRelease + 100), (V{16, 15, 14, 13}));
    EXPECT_EQ(order(Host::rccl, kNewestRelease), (V{16, 15, 14, 13}));
    EXPECT_TRUE(order(Host::libnccom, kNewestRelease).empty());
}

}  // namespace
}  // namespace duofi::loader
