// Units: common/local/segment_table
#include "common/local/segment_table.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

#include "common/util/messages/local.hpp"
#include "tests/unit/local/child.hpp"
#include "tests/unit/local/memory_facts.hpp"

namespace duofi::local {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

using test::mapped;

class SegmentTableTest : public testing::Test {
  protected:
    std::byte* allocate(std::size_t bytes = 2 * kMiB) {
        const auto made = table_.allocate({.bytes = bytes, .tag = 5});
        EXPECT_TRUE(made);
        return static_cast<std::byte*>(*made);
    }
    const char* refusal(std::span<const std::byte> handle, Errc code = Errc::invalid_argument) {
        const auto opened = table_.open(handle);
        if (opened) return "accepted";
        EXPECT_EQ(opened.error().code, code);
        return opened.error().place;
    }
    SegmentTable table_{{.serve_descriptors = false}};
};

TEST_F(SegmentTableTest, FreesWhatItAllocated) {
    std::byte* memory = allocate();
    const auto found = table_.find(memory + 4711);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->base, memory);
    EXPECT_EQ(found->bytes, 2 * kMiB);
    EXPECT_EQ(found->tag, 5);
    EXPECT_TRUE(found->owned);
    EXPECT_EQ(found->uses, 0u);
    EXPECT_TRUE(table_.free(memory));
    EXPECT_FALSE(mapped(memory));
    EXPECT_EQ(table_.size(), 0u);
    EXPECT_FALSE(table_.find(memory));
}

// C-27
TEST_F(SegmentTableTest, FreeOfNothingSucceedsAndOfStrangersFails) {
    EXPECT_TRUE(table_.free(nullptr));
    std::byte* memory = allocate();
    int here = 0;
    for (void* stranger : {static_cast<void*>(&here), static_cast<void*>(memory + 1)}) {
        const Status freed = table_.free(stranger);
        ASSERT_FALSE(freed);
        EXPECT_EQ(freed.error().code, Errc::invalid_argument);
    }
    EXPECT_TRUE(table_.free(memory));
    EXPECT_FALSE(table_.free(memory)) << "twice";
}

// C-27
TEST_F(SegmentTableTest, ExportsTheSameHandleAgain) {
    std::byte* memory = allocate();
    const auto first = table_.export_handle(memory);
    const auto second = table_.export_handle(memory);
    ASSERT_TRUE(first && second);
    EXPECT_EQ(*first, *second);
    const auto inside = table_.export_handle(memory + 12345);
    ASSERT_TRUE(inside);
    EXPECT_EQ(decode(*inside)->offset, 12345u);
    EXPECT_FALSE(table_.export_handle(nullptr));
    EXPECT_FALSE(table_.export_handle(memory + 2 * kMiB)) << "the control page";
    EXPECT_TRUE(table_.free(memory));
    EXPECT_FALSE(table_.export_handle(memory));
}

// C-27: step 2 of opening.
TEST_F(SegmentTableTest, OpensItsOwnHandlesInPlaceAndCounts) {
    std::byte* memory = allocate();
    const auto handle = *table_.export_handle(memory + 64);
    EXPECT_EQ(*table_.open(handle), memory + 64);
    EXPECT_EQ(*table_.open(handle), memory + 64);
    EXPECT_EQ(table_.size(), 1u) << "no new mapping";
    EXPECT_TRUE(table_.free(memory));
    EXPECT_TRUE(mapped(memory)) << "still open";
    EXPECT_TRUE(table_.close(memory + 64));
    memory[64] = std::byte{1};
    EXPECT_TRUE(table_.close(memory + 64));
    EXPECT_FALSE(mapped(memory));
    const Status closed = table_.close(memory + 64);
    ASSERT_FALSE(closed);
    EXPECT_EQ(closed.error().code, Errc::invalid_argument);
}

// C-27: an address that no open returned is unknown.
TEST_F(SegmentTableTest, CloseNeedsAnOpen) {
    std::byte* memory = allocate();
    EXPECT_FALSE(table_.close(memory));
    EXPECT_FALSE(table_.close(nullptr));
    ASSERT_TRUE(table_.open(*table_.export_handle(memory + 64)));
    EXPECT_FALSE(table_.close(memory));
    EXPECT_FALSE(table_.close(memory + 65));
    EXPECT_TRUE(table_.close(memory + 64));
    EXPECT_FALSE(table_.close(memory + 64));
    EXPECT_TRUE(table_.free(memory));
}

// V-27: a handle of memory that was freed, also when the same size came back at the same address.
TEST_F(SegmentTableTest, RefusesReplayedHandles) {
    std::byte* memory = allocate();
    const auto stale = *table_.export_handle(memory);
    EXPECT_TRUE(table_.free(memory));
    EXPECT_STREQ(refusal(stale), messages::kHandleStale);
    std::byte* again = allocate();
    EXPECT_STREQ(refusal(stale), messages::kHandleStale);
    EXPECT_TRUE(table_.free(again));
}

TEST_F(SegmentTableTest, RefusesForgedHandlesOfItsOwnMemory) {
    std::byte* memory = allocate(4 * kMiB);
    IpcHandle forged = *decode(*table_.export_handle(memory));
    forged.bytes = 2 * kMiB;
    EXPECT_STREQ(refusal(encode(forged)), messages::kHandleBounds);
    forged.bytes = 64 * kMiB;
    EXPECT_STREQ(refusal(encode(forged)), messages::kHandleBounds);
    forged.bytes = 4 * kMiB;
    ++forged.nonce;
    EXPECT_STREQ(refusal(encode(forged)), messages::kHandleStale);
    IpcHandle raw;
    raw.kind = HandleKind::raw_pointer;
    EXPECT_STREQ(refusal(encode(raw)), messages::kHandleRaw);
    EXPECT_TRUE(table_.free(memory));
}

TEST_F(SegmentTableTest, RefusesOtherPidNamespaces) {
    std::byte* memory = allocate();
    IpcHandle foreign = *decode(*table_.export_handle(memory));
    ++foreign.pid_namespace;
    EXPECT_STREQ(refusal(encode(foreign), Errc::system), messages::kHandleNamespace);
    EXPECT_TRUE(table_.free(memory));
}

// T-13: raw pointers count as well.
TEST_F(SegmentTableTest, RetainedMemorySurvivesItsFree) {
    std::byte* memory = allocate();
    EXPECT_TRUE(table_.retain(memory + kMiB));
    EXPECT_TRUE(table_.free(memory));
    memory[0] = std::byte{1};
    EXPECT_EQ(table_.owner_alive(memory), std::optional(false));
    EXPECT_TRUE(table_.find(memory)->freed);
    EXPECT_TRUE(table_.release(memory));
    EXPECT_FALSE(mapped(memory));
    EXPECT_FALSE(table_.release(memory));
    EXPECT_FALSE(table_.retain(memory));
}

TEST_F(SegmentTableTest, ReleaseNeedsARetain) {
    std::byte* memory = allocate();
    const Status released = table_.release(memory);
    ASSERT_FALSE(released);
    EXPECT_STREQ(released.error().place, messages::kNotRetained);
    EXPECT_EQ(table_.owner_alive(memory), std::optional(true));
    EXPECT_TRUE(table_.free(memory));
}

TEST_F(SegmentTableTest, EndedExportsGiveDescriptorsBack) {
    std::byte* first = allocate();
    std::byte* second = allocate();
    const int fd = decode(*table_.export_handle(first))->fd;
    EXPECT_TRUE(table_.close_descriptors(first + 100));
    EXPECT_EQ(::fcntl(fd, F_GETFD), -1);
    const auto refused = table_.export_handle(first);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::invalid_usage);
    EXPECT_TRUE(table_.export_handle(second));
    EXPECT_FALSE(table_.close_descriptors(nullptr));
    int here = 0;
    EXPECT_FALSE(table_.close_descriptors(&here));
    first[kMiB] = std::byte{1};
    EXPECT_TRUE(table_.free(first));
    EXPECT_TRUE(table_.free(second));
}

TEST_F(SegmentTableTest, ReservesByAddress) {
    std::byte* memory = allocate(4 * kMiB);
    EXPECT_TRUE(table_.reserve(memory + kMiB, kMiB));
    EXPECT_FALSE(table_.reserve(memory + kMiB, 4 * kMiB));
    int here = 0;
    EXPECT_FALSE(table_.reserve(&here, 4));
    EXPECT_EQ(table_.find(memory)->uses, 0u);
    EXPECT_TRUE(table_.free(memory));
}

TEST_F(SegmentTableTest, ProbeTellsWhetherExportsCanWork) {
    EXPECT_TRUE(table_.probe());
    const SegmentTable blind({.serve_descriptors = false, .proc_root = testing::TempDir() + "no_proc"});
    const Status probed = blind.probe();
    ASSERT_FALSE(probed);
    EXPECT_STREQ(probed.error().place, messages::kProbeOpen);
    EXPECT_EQ(table_.size(), 0u);
}

// V-35: a child of the owner is told so, and the parent goes on.
TEST_F(SegmentTableTest, RefusesForkedChildren) {
    std::byte* memory = allocate();
    const auto handle = *table_.export_handle(memory);
    EXPECT_EQ(test::in_child([&] {
                  const auto told = [](const auto& result) {
                      return !result && result.error().code == Errc::invalid_usage &&
                             std::strcmp(result.error().place, messages::kForkedChild) == 0;
                  };
                  if (!told(table_.allocate({.bytes = 1}))) return 1;
                  if (!told(table_.free(memory))) return 2;
                  if (!told(table_.open(handle))) return 3;
                  if (!told(table_.close(memory))) return 4;
                  if (!told(table_.export_handle(memory))) return 5;
                  if (!told(table_.reserve(memory, 1))) return 6;
                  if (!told(table_.retain(memory)) || !told(table_.release(memory))) return 7;
                  if (!told(table_.free(nullptr))) return 9;
                  // The parent's mappings are not here, so nothing may look at them.
                  if (table_.find(memory) || table_.owner_alive(memory) || table_.size() != 0) return 10;
                  SegmentTable own;  // what a child makes itself works
                  const auto mine = own.allocate({.bytes = 1});
                  return mine && own.free(*mine) ? 0 : 8;
              }),
              0);
    memory[0] = std::byte{1};
    EXPECT_TRUE(table_.free(memory));
}

TEST(SegmentTable, DestructorInAChildTouchesNothing) {
    auto table = std::make_unique<SegmentTable>();
    const auto memory = table->allocate({.bytes = kMiB});
    ASSERT_TRUE(memory);
    ASSERT_TRUE(table->export_handle(*memory)) << "the fd service runs now";
    EXPECT_EQ(test::in_child([&] {
                  // The parent's mapping is not here, something else may be.
                  void* own = ::mmap(*memory, 4096, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
                  if (own != *memory) return 1;
                  *static_cast<char*>(own) = 1;
                  table.reset();
                  return mapped(own) && *static_cast<char*>(own) == 1 ? 0 : 2;
              }),
              0);
    EXPECT_TRUE(table->open(*table->export_handle(*memory)));
}

TEST_F(SegmentTableTest, ManyThreadsAtOnce) {
    constexpr int kThreads = 4, kRounds = 40;
    std::vector<std::thread> threads;
    std::atomic<int> failures{0};
    std::byte* shared = allocate();
    const auto handle = *table_.export_handle(shared);
    for (int t = 0; t < kThreads; ++t)
        threads.emplace_back([&] {
            for (int round = 0; round < kRounds; ++round) {
                const auto mine = table_.allocate({.bytes = kMiB});
                const auto opened = table_.open(handle);
                const bool good = mine && opened && *opened == shared && table_.retain(*mine) && table_.free(*mine) &&
                                  table_.release(*mine) && table_.close(*opened);
                failures += good ? 0 : 1;
            }
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(failures, 0);
    EXPECT_EQ(table_.size(), 1u);
    EXPECT_TRUE(table_.free(shared));
}

}  // namespace
}  // namespace duofi::local
