// Does the caller want our RMA tables (L-3, L-4, L-6; architecture 2)?
#include "rma_plugin/adoption.hpp"

#include <gtest/gtest.h>

namespace duofi::rma {
namespace {

constexpr char kFile[] = "/usr/lib/librccl-rma-duofi.so";

TEST(Adoption, an_entry_may_name_the_library_in_many_ways) {
    for (const char* entry : {"/usr/lib/librccl-rma-duofi.so", "librccl-rma-duofi.so", "duofi",
                              "/elsewhere/librccl-rma-duofi.so", "libduofi-plugin.so", "/x/libnccl-rma-duofi.so"})
        EXPECT_TRUE(names_library(entry, kFile)) << entry;
}

TEST(Adoption, a_short_name_counts_under_both_prefixes) {
    EXPECT_TRUE(names_library("other", "/opt/librccl-rma-other.so"));
    EXPECT_TRUE(names_library("other", "/opt/libnccl-rma-other.so"));
    EXPECT_TRUE(names_library("other", "libnccl-rma-other.so"));
    for (const char* file : {"/opt/librccl-net-other.so", "/opt/librccl-rma-other.so.1", "/opt/librccl-rma-others.so",
                             "/opt/other/librccl-rma-x.so", "/opt/librccl-rma-an-other.so", ""})
        EXPECT_FALSE(names_library("other", file)) << file;
}

TEST(Adoption, a_file_of_any_name_is_known_by_it) {
    EXPECT_TRUE(names_library("/a/my.so", "/b/my.so"));
    EXPECT_TRUE(names_library("my.so", "/b/my.so"));
    EXPECT_FALSE(names_library("y.so", "/b/my.so"));
    EXPECT_FALSE(names_library("my.so/", "/b/my.so"));
}

TEST(Adoption, other_entries_are_for_others) {
    for (const char* entry : {"", ",", ",,,", "none", "NONE", "/", "libnccl-rma.so", "aws-ofi", "duof", "/opt/duofi/libx.so"})
        EXPECT_FALSE(names_library(entry, kFile)) << entry;
}

TEST(Adoption, one_entry_of_a_list_is_enough) {
    EXPECT_TRUE(names_library("aws-ofi,duofi", kFile));
    EXPECT_TRUE(names_library(",,duofi", kFile));
    EXPECT_TRUE(names_library("duofi,aws-ofi", kFile));
    EXPECT_TRUE(names_library("a,/usr/lib/librccl-rma-duofi.so,b", kFile));
    EXPECT_FALSE(names_library("aws-ofi,none", kFile));
}

TEST(Adoption, without_a_wish_the_tables_are_not_offered) {
    const Settings settings;
    EXPECT_NE(why_declined(settings, kFile).find("NCCL_RMA_PLUGIN"), std::string::npos);
    Settings others;
    others.nccl_rma_plugin = "aws-ofi";
    EXPECT_FALSE(why_declined(others, kFile).empty());
}

TEST(Adoption, the_callers_variable_asks_for_them) {
    Settings settings;
    settings.nccl_rma_plugin = "aws-ofi,duofi";
    EXPECT_EQ(why_declined(settings, kFile), "");
}

TEST(Adoption, our_variable_decides_against_everything_else) {
    Settings settings;
    settings.rma = true;
    EXPECT_EQ(why_declined(settings, kFile), "");
    settings.rma = false;
    settings.nccl_rma_plugin = "duofi";
    EXPECT_EQ(why_declined(settings, kFile), "DUOFI_RMA=0");
}

}  // namespace
}  // namespace duofi::rma
