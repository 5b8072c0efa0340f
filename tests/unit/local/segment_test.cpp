// Units: common/local/segment
#include "common/local/segment.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "common/local/pages.hpp"
#include "common/util/messages/local.hpp"
#include "tests/support/failure.hpp"
#include "tests/unit/local/child.hpp"
#include "tests/unit/local/paused_call.hpp"

namespace duofi::local {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

UniqueFd duplicate(int fd) { return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 0)); }

class SegmentTest : public testing::Test {
  protected:
    Segment make(std::size_t bytes, std::uint32_t generation = 7) {
        auto made = Segment::create({.bytes = bytes}, self_, generation);
        EXPECT_TRUE(made);
        return std::move(*made);
    }
    IpcHandle handle(const Segment& segment) {
        auto made = segment.handle(0, HandleKind::memfd, self_);
        EXPECT_TRUE(made);
        return *made;
    }
    const char* refusal(UniqueFd fd, const IpcHandle& handle) {
        const auto imported = Segment::import(std::move(fd), handle);
        if (imported) return "accepted";
        EXPECT_EQ(imported.error().code, Errc::invalid_argument);
        return imported.error().place;
    }
    HostIdentity self_ = read_host_identity();
};

// C-10, C-27
TEST_F(SegmentTest, IsRoundedAlignedAndZero) {
    for (const std::size_t bytes : {std::size_t{1}, 2 * kMiB, 2 * kMiB + 1, 10 * kMiB}) {
        const Segment segment = make(bytes);
        EXPECT_EQ(segment.bytes(), (bytes + 2 * kMiB - 1) / (2 * kMiB) * 2 * kMiB);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(segment.data()) % (2 * kMiB), 0u);
        for (std::size_t at = 0; at < segment.bytes(); at += 4096) ASSERT_EQ(segment.data()[at], std::byte{0});
        EXPECT_TRUE(segment.owned());
        EXPECT_TRUE(segment.contains(segment.data() + segment.bytes() - 1));
        EXPECT_FALSE(segment.contains(segment.data() + segment.bytes())) << "the control page";
    }
}

TEST_F(SegmentTest, IsSealedUnlinkedAndPrivate) {
    const Segment segment = make(2 * kMiB);
    struct stat status {};
    ASSERT_EQ(::fstat(segment.descriptor(), &status), 0);
    EXPECT_EQ(status.st_nlink, 0u);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
    EXPECT_EQ(static_cast<std::size_t>(status.st_size), segment.bytes() + kControlBytes);
    EXPECT_EQ(::ftruncate(segment.descriptor(), 4096), -1);
    EXPECT_EQ(errno, EPERM);
    EXPECT_EQ(::ftruncate(segment.descriptor(), 64 << 20), -1);
    EXPECT_EQ(errno, EPERM);
    EXPECT_EQ(::fcntl(segment.descriptor(), F_ADD_SEALS, F_SEAL_WRITE), -1);
    EXPECT_NE(::fcntl(segment.descriptor(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(SegmentTest, OnlyReservedPagesTakeMemory) {
    const auto blocks = [](const Segment& segment) {
        struct stat status {};
        ::fstat(segment.descriptor(), &status);
        return static_cast<std::size_t>(status.st_blocks) * 512;
    };
    auto segment = Segment::create({.bytes = 8 * kMiB, .reserve_bytes = 4096}, self_, 1);
    ASSERT_TRUE(segment);
    EXPECT_EQ(blocks(*segment), 4096 + kControlBytes);
    segment->data()[3 * kMiB] = std::byte{9};
    ASSERT_TRUE(segment->reserve(2 * kMiB, 2 * kMiB));
    EXPECT_EQ(blocks(*segment), 2 * kMiB + 4096 + kControlBytes);
    EXPECT_EQ(segment->data()[3 * kMiB], std::byte{9});
    EXPECT_FALSE(segment->reserve(8 * kMiB, 1));
    EXPECT_FALSE(segment->reserve(kMiB, 8 * kMiB));
    EXPECT_FALSE(segment->reserve(~std::size_t{0}, 2));
}

TEST_F(SegmentTest, RefusesImpossibleSizes) {
    for (const std::size_t bytes : {std::size_t{0}, (std::size_t{1} << 40) + 1, ~std::size_t{0}}) {
        const auto made = Segment::create({.bytes = bytes}, self_, 1);
        ASSERT_FALSE(made);
        EXPECT_EQ(made.error().code, Errc::invalid_argument);
    }
}

TEST_F(SegmentTest, ImportSharesTheMemoryAndOutlivesTheOwner) {
    auto owner = std::make_unique<Segment>(make(2 * kMiB));
    const IpcHandle ticket = handle(*owner);
    auto importer = Segment::import(duplicate(owner->descriptor()), ticket);
    ASSERT_TRUE(importer);
    EXPECT_NE(importer->data(), owner->data());
    EXPECT_FALSE(importer->owned());
    EXPECT_EQ(importer->key(), owner->key());
    EXPECT_EQ(owner->importers(), 1u);
    std::memcpy(owner->data() + 100, "hello", 6);
    EXPECT_STREQ(reinterpret_cast<const char*>(importer->data() + 100), "hello");
    EXPECT_TRUE(importer->owner_alive());
    owner->mark_dead();
    EXPECT_FALSE(importer->owner_alive());
    owner.reset();
    EXPECT_STREQ(reinterpret_cast<const char*>(importer->data() + 100), "hello");
    const auto exported = importer->handle(0, HandleKind::memfd, self_);
    ASSERT_FALSE(exported) << "an importer has no descriptor";
    EXPECT_STREQ(exported.error().place, messages::kSegmentNotExported);
}

// V-27: each kind of wrong descriptor has its own words.
TEST_F(SegmentTest, RefusesDescriptorsThatAreNotTheMemfdOfTheHandle) {
    const Segment segment = make(4 * kMiB);
    const Segment other = make(4 * kMiB);
    const IpcHandle ticket = handle(segment);
    int pipe_ends[2];
    ASSERT_EQ(::pipe(pipe_ends), 0);
    const UniqueFd read_end(pipe_ends[0]), write_end(pipe_ends[1]);
    EXPECT_STREQ(refusal(duplicate(read_end.get()), ticket), messages::kDescriptorKind);
    EXPECT_STREQ(refusal(UniqueFd(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC)), ticket), messages::kDescriptorKind);
    EXPECT_STREQ(refusal(UniqueFd(), ticket), messages::kDescriptorKind);
    EXPECT_STREQ(refusal(duplicate(other.descriptor()), ticket), messages::kDescriptorInode);
    IpcHandle forged = ticket;
    forged.bytes = 2 * kMiB;
    EXPECT_STREQ(refusal(duplicate(segment.descriptor()), forged), messages::kDescriptorSize);
    forged = ticket;
    forged.flags |= kHandleHugePages;
    EXPECT_STREQ(refusal(duplicate(segment.descriptor()), forged), messages::kDescriptorSize);
    EXPECT_EQ(segment.importers(), 0u);
}

// V-27: a file that its owner can shrink would fault in us.
TEST_F(SegmentTest, RefusesAnUnsealedMemfd) {
    const UniqueFd loose(::memfd_create("loose", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(::ftruncate(loose.get(), 2 * kMiB + kControlBytes), 0);
    struct stat status {};
    ASSERT_EQ(::fstat(loose.get(), &status), 0);
    IpcHandle forged = handle(make(2 * kMiB));
    forged.inode = static_cast<std::uint32_t>(status.st_ino);
    EXPECT_STREQ(refusal(duplicate(loose.get()), forged), messages::kDescriptorSeals);
    for (const int seal : {F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_SEAL}) {
        EXPECT_STREQ(refusal(duplicate(loose.get()), forged), messages::kDescriptorSeals);
        ASSERT_EQ(::fcntl(loose.get(), F_ADD_SEALS, seal), 0);
    }
    EXPECT_STREQ(refusal(duplicate(loose.get()), forged), messages::kControlPage) << "sealed, but not a segment";
}

// V-27, V-28: a file that shrinks while it is checked, and is sealed just in time to look right.
TEST_F(SegmentTest, RefusesAMemfdThatShrinksBetweenTheChecks) {
    constexpr int kNoFilter = 77;
    const int code = test::in_child([&] {
        const UniqueFd loose(::memfd_create("loose", MFD_CLOEXEC | MFD_ALLOW_SEALING));
        struct stat status {};
        if (::ftruncate(loose.get(), 2 * kMiB + kControlBytes) != 0 || ::fstat(loose.get(), &status) != 0) return 1;
        IpcHandle forged = handle(make(2 * kMiB));
        forged.inode = static_cast<std::uint32_t>(status.st_ino);
        UniqueFd mine = duplicate(loose.get());
        const test::PausedCall shrink(SYS_fcntl, F_GET_SEALS, [&] {
            (void)!::ftruncate(loose.get(), 0);
            ::fcntl(loose.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
        });
        if (!shrink) return kNoFilter;
        const auto imported = Segment::import(std::move(mine), forged);
        return !imported && std::strcmp(imported.error().place, messages::kDescriptorSize) == 0 ? 0 : 2;
    });
    if (code == kNoFilter) GTEST_SKIP() << "no filters that notify on this kernel";
    EXPECT_EQ(code, 0);
}

// V-27: the control page must agree in every field.
TEST_F(SegmentTest, RefusesHandlesThatTheControlPageContradicts) {
    const Segment segment = make(2 * kMiB);
    const IpcHandle good = handle(segment);
    for (const auto forge : {+[](IpcHandle& h) { ++h.nonce; }, +[](IpcHandle& h) { ++h.generation; },
                             +[](IpcHandle& h) { ++h.pid; }, +[](IpcHandle& h) { ++h.start_time; }}) {
        IpcHandle forged = good;
        forge(forged);
        EXPECT_STREQ(refusal(duplicate(segment.descriptor()), forged), messages::kControlPage);
    }
    EXPECT_STREQ(refusal(duplicate(segment.descriptor()), good), "accepted");
}

// V-28: a hole that a bad owner punches reads as zeros and does not fault.
TEST_F(SegmentTest, HolesNeverFaultInImporters) {
    const Segment owner = make(2 * kMiB);
    auto importer = Segment::import(duplicate(owner.descriptor()), handle(owner));
    ASSERT_TRUE(importer);
    std::memset(importer->data(), 0x55, importer->bytes());
    ASSERT_EQ(::fallocate(owner.descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                          static_cast<off_t>(owner.bytes() + kControlBytes)),
              0);
    for (std::size_t at = 0; at < importer->bytes(); at += 4096) ASSERT_EQ(importer->data()[at], std::byte{0});
    std::atomic<bool> over{false};
    std::thread puncher([&] {
        while (!over)
            (void)::fallocate(owner.descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                              static_cast<off_t>(owner.bytes() + kControlBytes));
    });
    for (int round = 0; round < 50; ++round) std::memset(importer->data(), round, importer->bytes());
    over = true;
    puncher.join();
    std::memset(importer->data(), 0x66, importer->bytes());
    EXPECT_EQ(owner.data()[kMiB], std::byte{0x66});
}

// V-32: limits are errors, not signals.
TEST_F(SegmentTest, LimitOfFileSizesIsAnError) {
    EXPECT_EQ(test::in_child([&] {
                  const rlimit small{kMiB, kMiB};
                  if (::setrlimit(RLIMIT_FSIZE, &small) != 0) return 1;
                  const auto made = Segment::create({.bytes = 2 * kMiB}, self_, 1);
                  if (made || made.error().code != Errc::no_memory) return 2;
                  return std::strcmp(made.error().place, messages::kSegmentFileLimit) == 0 ? 0 : 3;
              }),
              0);
}

TEST_F(SegmentTest, LimitOfDescriptorsIsAnError) {
    EXPECT_EQ(test::in_child([&] {
                  const rlimit none{3, 3};
                  if (::setrlimit(RLIMIT_NOFILE, &none) != 0) return 1;
                  const auto made = Segment::create({.bytes = 2 * kMiB}, self_, 1);
                  return !made && made.error().provider_errno == EMFILE ? 0 : 2;
              }),
              0);
}

TEST_F(SegmentTest, LimitOfAddressesIsAnError) {
    if (test::kSanitized) GTEST_SKIP() << "sanitizers need addresses without a limit";
    EXPECT_EQ(test::in_child([&] {
                  std::ifstream file("/proc/self/statm");
                  std::size_t pages = 0;
                  file >> pages;
                  const rlimit tight{pages * 4096 + 4 * kMiB, pages * 4096 + 4 * kMiB};
                  if (::setrlimit(RLIMIT_AS, &tight) != 0) return 1;
                  const auto made = Segment::create({.bytes = 64 * kMiB}, self_, 1);
                  return !made && made.error().code == Errc::no_memory ? 0 : 2;
              }),
              0);
}

TEST_F(SegmentTest, UsesExplicitHugePagesWhereThereAreEnough) {
    if (free_huge_pages() < 4) GTEST_SKIP() << "no free huge pages on this machine";
    auto owner = Segment::create({.bytes = 4 * kMiB, .huge_pages = true}, self_, 1);
    ASSERT_TRUE(owner) << owner.error().place;
    const IpcHandle ticket = handle(*owner);
    EXPECT_NE(ticket.flags & kHandleHugePages, 0);
    ASSERT_TRUE(owner->reserve(0, 4 * kMiB));
    auto importer = Segment::import(duplicate(owner->descriptor()), ticket);
    ASSERT_TRUE(importer) << importer.error().place;
    importer->data()[4 * kMiB - 1] = std::byte{1};
    EXPECT_EQ(owner->data()[4 * kMiB - 1], std::byte{1});
    IpcHandle forged = ticket;
    forged.flags = kHandleSealed;
    EXPECT_STREQ(refusal(duplicate(owner->descriptor()), forged), messages::kDescriptorSize);
}

TEST_F(SegmentTest, WithoutHugePagesItIsAnOrdinaryOne) {
    auto owner = Segment::create({.bytes = std::size_t{1} << 36, .huge_pages = true}, self_, 1);
    ASSERT_TRUE(owner) << owner.error().place;
    EXPECT_EQ(handle(*owner).flags, kHandleSealed);
}

// V-35: children do not inherit the mapping.
TEST_F(SegmentTest, IsNotMappedInChildren) {
    const Segment segment = make(2 * kMiB);
    segment.data()[0] = std::byte{1};
    EXPECT_EQ(test::in_child([&] {
                  unsigned char resident = 0;
                  return ::mincore(segment.data(), 4096, &resident) == -1 && errno == ENOMEM ? 0 : 1;
              }),
              0);
    EXPECT_EQ(segment.data()[0], std::byte{1});
}

}  // namespace
}  // namespace duofi::local
