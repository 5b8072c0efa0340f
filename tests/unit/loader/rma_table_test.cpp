// Tables of every version seen in the newest form: what is passed on, what is dropped, what is
// answered without a call (rma contract 1.3, 2.4 to 2.7).
#include "common/loader/rma_table.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/loader/rma_entries.hpp"

namespace duofi::loader::test {
namespace {

const void* raw_of(int version) {
    switch (version) {
        case 13:
            return &k13;
        case 14:
            return &k14;
        case 15:
            return &k15;
        default:
            return &k16;
    }
}

class Versions : public ::testing::TestWithParam<int> {
  protected:
    int version() const { return GetParam(); }
    RmaTable table() const { return {raw_of(version()), version()}; }
    using Numbers = std::vector<std::uint64_t>;
    static void expect(const char* entry, const Numbers& numbers,
                       const std::vector<const void*>& pointers) {
        EXPECT_EQ(seen.entry, entry);
        EXPECT_EQ(seen.numbers, numbers);
        EXPECT_EQ(seen.pointers, pointers);
    }
};

TEST_P(Versions, set_up_calls_reach_their_slots) {
    EXPECT_STREQ(table().name(), ("V" + std::to_string(version())).c_str());
    void* out = nullptr;
    EXPECT_EQ(table().init(&out, 99, nullptr), ncclSuccess);
    expect("init", {99}, {});
    int count = 0;
    table().devices(&count);
    EXPECT_EQ(count, 3);
    ncclNetProperties_v12_t given{};
    table().properties(2, &given);
    expect("getProperties", {2}, {});
    EXPECT_EQ(given.speed, 7);
    char handle[128];
    table().listen(as_pointer(1), 4, handle, &out);
    expect("listen", {4}, {as_pointer(1), handle});
    void* handles[2] = {};
    table().connect(as_pointer(1), handles, 2, 1, as_pointer(3), &out);
    expect("connect", {2, 1}, {as_pointer(1), handles, as_pointer(3)});
    EXPECT_EQ(out, as_pointer(0x30));
    table().close_listen(as_pointer(3));
    expect("closeListen", {}, {as_pointer(3)});
    table().close_coll(as_pointer(4));
    expect("closeColl", {}, {as_pointer(4)});
    table().finalize(as_pointer(5));
    expect("finalize", {}, {as_pointer(5)});
}

TEST_P(Versions, contexts_and_registrations) {
    ncclRmaConfig_v16_t config{6, 5, 4};
    void* out = nullptr;
    table().create_context(as_pointer(1), &config, &out);
    expect("createContext", version() == 13 ? Numbers{0, 0, 6, 0, 5} : Numbers{6, 5, 4},
           {as_pointer(1)});
    EXPECT_EQ(out, as_pointer(0x40));
    table().reg_mr_sym(as_pointer(1), as_pointer(2), 100, NCCL_PTR_HOST, 3, &out);
    expect("regMrSym", {100, 1, 3}, {as_pointer(1), as_pointer(2)});
    EXPECT_EQ(out, as_pointer(0x50));
    table().reg_mr_sym_dma_buf(as_pointer(1), as_pointer(2), 100, NCCL_PTR_CUDA, 64, 9, 3, &out);
    expect("regMrSymDmaBuf", {100, 2, 64, 9, 3}, {as_pointer(1), as_pointer(2)});
    EXPECT_EQ(out, as_pointer(0x60));
    table().dereg_mr_sym(as_pointer(1), as_pointer(6));
    expect("deregMrSym", {}, {as_pointer(1), as_pointer(6)});
    table().destroy_context(as_pointer(7));
    expect("destroyContext", {}, {as_pointer(7)});
}

TEST_P(Versions, data_calls_drop_what_the_version_does_not_know) {
    const RmaPut put{3, 10, as_pointer(1), 20, 30, as_pointer(2), 5, 1};
    const std::vector<const void*> pointers{as_pointer(9), as_pointer(1), as_pointer(2)};
    void* request = nullptr;
    Numbers expected{3, 10, 20, 30, 5};
    Numbers with_flags = expected;
    if (version() >= 15) with_flags.push_back(1);
    table().iput(as_pointer(9), put, &request);
    expect("iput", with_flags, pointers);
    EXPECT_EQ(request, as_pointer(0x70));
    table().iget(as_pointer(9), {3, 10, as_pointer(1), 20, 30, as_pointer(2), 5, 1}, &request);
    expect("iget", with_flags, pointers);
    EXPECT_EQ(request, as_pointer(0x72));
    table().iput_signal(as_pointer(9), put, {40, as_pointer(4), 50, NCCL_NET_SIGNAL_OP_ADD, false},
                        &request);
    Numbers signal = expected;
    signal.insert(signal.end(), {40, 50, NCCL_NET_SIGNAL_OP_ADD});
    if (version() >= 14) signal.push_back(0);
    if (version() >= 15) signal.push_back(1);
    expect("iputSignal", signal, {as_pointer(9), as_pointer(1), as_pointer(2), as_pointer(4)});
    EXPECT_EQ(request, as_pointer(0x71));
    table().iflush(as_pointer(9), 3, as_pointer(8), 5, &request);
    expect("iflush", {3, 5}, {as_pointer(9), as_pointer(8)});
}

TEST_P(Versions, results_come_back) {
    int done = 0;
    EXPECT_EQ(table().test(as_pointer(1), as_pointer(2), &done), ncclRemoteError);
    expect("test", {}, {as_pointer(1), as_pointer(2)});
    EXPECT_EQ(done, 1);
    EXPECT_EQ(table().progress(as_pointer(3)), ncclInternalError);
    expect("progress", {}, {as_pointer(3)});
    bool has_error = false;
    EXPECT_EQ(table().query_last_error(as_pointer(3), &has_error), ncclSuccess);
    EXPECT_TRUE(has_error);
}

TEST_P(Versions, properties_of_the_group_are_false_before_v16) {
    seen = {};
    ncclRmaProperties_v16_t given{true};
    EXPECT_EQ(table().rma_properties(as_pointer(1), &given), ncclSuccess);
    EXPECT_EQ(given.flushesAllPutsOnAnySignal, version() == 16);
    EXPECT_EQ(seen.entry, version() == 16 ? "getRmaProperties" : "");
}

INSTANTIATE_TEST_SUITE_P(Rma, Versions, ::testing::Values(13, 14, 15, 16));

TEST(RmaTableTest, empty_optional_entries_are_answered_here) {
    ncclRma_v16_t bare = k16;
    bare.iflush = nullptr;
    bare.rmaProgress = nullptr;
    bare.queryLastError = nullptr;
    bare.regMrSymDmaBuf = nullptr;
    const RmaTable table(&bare);
    void* out = nullptr;
    bool has_error = true;
    EXPECT_EQ(table.iflush(nullptr, 0, nullptr, 0, &out), ncclInvalidUsage);  // L-24
    EXPECT_EQ(table.reg_mr_sym_dma_buf(nullptr, nullptr, 1, 2, 0, 0, 0, &out), ncclInvalidUsage);
    EXPECT_EQ(table.progress(nullptr), ncclSuccess);
    EXPECT_EQ(table.query_last_error(nullptr, &has_error), ncclSuccess);
    EXPECT_FALSE(has_error);
}

TEST(RmaTableTest, versions_that_nobody_knows_make_no_view) {
    EXPECT_FALSE(RmaTable(&k16, 17));
    EXPECT_FALSE(RmaTable(&k13, 12));
    EXPECT_FALSE(RmaTable());
    EXPECT_TRUE(RmaTable(&k14, 14));
    EXPECT_EQ(RmaTable().finalize(nullptr), ncclInternalError);
}

}  // namespace
}  // namespace duofi::loader::test
