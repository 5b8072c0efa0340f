// Units: rma_plugin/entry, rma_plugin/listen_comm.
// connect and closeColl as the tables call them: every argument is checked, ctx is not looked at (C-2, C-3, C-4, C-9).
#include <cstring>

#include "rma_plugin/handle.hpp"
#include "tests/unit/rma_plugin/scripted_group.hpp"

namespace duofi::rma::unit {
namespace {

class EntryConnect : public ScriptedGroup {
  protected:
    void SetUp() override {
        settings.connect_timeout_s = 0.2;
        listen();
        handle = open_object(*listener);
        listener->handle = handle;
        for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
            write_handle(raw[rank], handles[rank]);
            pointers[rank] = raw[rank];
        }
    }
    void TearDown() override {
        end_object(*handle);
        ScriptedGroup::TearDown();
    }
    ncclResult_t connect_with(int nranks, int rank, void* listen_comm, void** coll) {
        return duofi::rma::connect(&pointers, pointers, nranks, rank, listen_comm, coll);
    }
    void refused(ncclResult_t expected, const char* line, int nranks = kRanks, int rank = kOwn) {
        void* coll = this;
        EXPECT_EQ(connect_with(nranks, rank, handle, &coll), expected) << line;
        EXPECT_EQ(coll, nullptr);
        EXPECT_EQ(log.with(line).size(), 1u) << log.dump();
        EXPECT_EQ(fake->sent_count(), 0u) << "nobody was asked";
    }
    ObjectHandle* handle = nullptr;
    std::byte raw[kRanks][kHandleBytes];
    void* pointers[kRanks];
};

TEST_F(EntryConnect, joins_and_closeColl_ends_it) {
    introduce(kLow);
    introduce(kHigh);
    void* coll = nullptr;
    ASSERT_EQ(connect_with(kRanks, kOwn, handle, &coll), ncclSuccess) << log.dump();
    std::memset(raw, 0, sizeof(raw));  // they are the caller's again (C-2)
    Group* made = find_object<Group>(coll);
    ASSERT_NE(made, nullptr);
    EXPECT_EQ(made->rank(), kOwn);
    EXPECT_EQ(made->instance, &instance) << "by way of the listen comm (C-3)";
    EXPECT_EQ(close_coll(coll), ncclSuccess);
    EXPECT_EQ(close_coll(coll), ncclInvalidArgument);
    EXPECT_EQ(close_coll(nullptr), ncclSuccess);
    EXPECT_EQ(said(kLow, MessageKind::rma_close).size(), 1u);
}

TEST_F(EntryConnect, ends_with_the_instance_if_the_caller_forgets_it) {
    introduce(kLow);
    introduce(kHigh);
    void* coll = nullptr;
    ASSERT_EQ(connect_with(kRanks, kOwn, handle, &coll), ncclSuccess) << log.dump();
    instance.end_all();
    EXPECT_EQ(find_object<Group>(coll), nullptr);
    EXPECT_EQ(said(kHigh, MessageKind::rma_close).size(), 1u);
}

TEST_F(EntryConnect, serves_one_connect_per_listen_comm) {
    introduce(kLow);
    introduce(kHigh);
    void* coll = nullptr;
    ASSERT_EQ(connect_with(kRanks, kOwn, handle, &coll), ncclSuccess);
    void* second = this;
    EXPECT_EQ(connect_with(kRanks, kOwn, handle, &second), ncclInvalidUsage);
    EXPECT_EQ(second, nullptr);
    EXPECT_EQ(close_coll(coll), ncclSuccess);
}

TEST_F(EntryConnect, tells_a_time_limit_as_remote_error) {
    introduce(kLow);
    void* coll = this;
    EXPECT_EQ(connect_with(kRanks, kOwn, handle, &coll), ncclRemoteError);
    EXPECT_EQ(coll, nullptr);
}

TEST_F(EntryConnect, refuses_ranks_that_do_not_fit) {
    struct Row {
        int nranks, rank;
    };
    for (const Row row : {Row{0, 0}, Row{-1, 0}, Row{3, 3}, Row{3, -1}, Row{65536, 0}}) {
        void* coll = this;
        EXPECT_EQ(connect_with(row.nranks, row.rank, handle, &coll), ncclInvalidArgument) << row.nranks;
        EXPECT_EQ(coll, nullptr);
    }
    EXPECT_EQ(log.with("accepted: nranks 1..65535").size(), 5u) << log.dump();
    EXPECT_FALSE(listener->used) << "the listen comm is as good as before";
}

TEST_F(EntryConnect, refuses_what_is_no_listen_comm) {
    void* coll = this;
    EXPECT_EQ(connect_with(kRanks, kOwn, nullptr, &coll), ncclInvalidArgument);
    EXPECT_EQ(coll, nullptr);
    EXPECT_EQ(connect_with(kRanks, kOwn, raw, &coll), ncclInvalidArgument);
    EXPECT_EQ(connect_with(kRanks, kOwn, handle, nullptr), ncclInvalidArgument);
    EXPECT_EQ(duofi::rma::connect(nullptr, nullptr, kRanks, kOwn, handle, &coll), ncclInvalidArgument);
}

TEST_F(EntryConnect, refuses_a_NULL_handle) {
    pointers[kHigh] = nullptr;
    refused(ncclInvalidArgument, "the handle of rank 2 is malformed");
}

TEST_F(EntryConnect, refuses_a_garbled_handle) {
    raw[kLow][0] ^= std::byte{1};
    refused(ncclInvalidArgument, "the handle of rank 0 is malformed");
}

TEST_F(EntryConnect, refuses_a_cut_handle) {
    std::memset(raw[kHigh] + 16, 0, kHandleBytes - 16);
    refused(ncclInvalidArgument, "the handle of rank 2 is malformed");
}

TEST_F(EntryConnect, refuses_a_handle_of_another_version) {
    raw[kLow][4] ^= std::byte{2};
    refused(ncclInvalidUsage, "the handle of rank 0 is of another version or provider");
}

TEST_F(EntryConnect, refuses_a_handle_of_another_provider) {
    ++handles[kHigh].provider;
    write_handle(raw[kHigh], handles[kHigh]);
    refused(ncclInvalidUsage, "the handle of rank 2 is of another version or provider");
}

TEST_F(EntryConnect, refuses_handles_that_do_not_hold_its_own_at_its_rank) {
    refused(ncclInvalidArgument, "the handle of rank 2 is not the one of this listen comm", kRanks, kHigh);
}

}  // namespace
}  // namespace duofi::rma::unit
