// Handles between processes, through /proc: what p2p contract 2.4 asks in nine steps.
// Units: common/local/segment_table
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <functional>
#include <random>

#include "common/local/segment_table.hpp"
#include "common/util/messages/local.hpp"
#include "tests/unit/local/exporter.hpp"
#include "tests/unit/local/forbidden_call.hpp"
#include "tests/unit/local/memory_facts.hpp"

namespace duofi::local {
namespace {

using test::Exporter;
using test::kNobody;
using test::kSomebody;
using test::reason;
constexpr std::size_t kMiB = std::size_t{1} << 20;
class OpenAcross : public testing::Test {
  protected:
    SegmentTable table_{{.serve_descriptors = false}};
};

// C-27: same address, one mapping, as many closes.
TEST_F(OpenAcross, SharesMemoryAndCounts) {
    Exporter exporter;
    const std::size_t before = test::open_descriptors();
    const auto first = table_.open(exporter.handle);
    ASSERT_TRUE(first) << first.error().place;
    const auto* word = static_cast<std::uint64_t*>(*first);
    EXPECT_EQ(*word, 4711u);
    ASSERT_TRUE(exporter.tell('w'));
    EXPECT_EQ(*word, 4712u);
    EXPECT_EQ(*table_.open(exporter.handle), *first);
    EXPECT_EQ(table_.size(), 1u);
    EXPECT_EQ(test::open_descriptors(), before) << "no descriptor is kept";
    EXPECT_EQ(table_.owner_alive(word), std::optional(true));
    EXPECT_TRUE(table_.close(*first));
    EXPECT_EQ(*word, 4712u);
    EXPECT_TRUE(table_.close(*first));
    EXPECT_FALSE(table_.close(*first));
    EXPECT_EQ(table_.size(), 0u);
    EXPECT_EQ(exporter.quit(), 0);
}

TEST_F(OpenAcross, InnerAddressesShareTheMapping) {
    Exporter exporter;
    IpcHandle inner = *decode(exporter.handle);
    inner.offset = 4096 + 24;
    const auto base = table_.open(exporter.handle);
    const auto inside = table_.open(encode(inner));
    ASSERT_TRUE(base && inside);
    EXPECT_EQ(static_cast<std::byte*>(*inside) - static_cast<std::byte*>(*base), 4120);
    EXPECT_EQ(table_.size(), 1u);
    EXPECT_TRUE(table_.close(*inside) && table_.close(*base));
    EXPECT_EQ(table_.size(), 0u);
}

// V-28: nothing that the exporter does makes the importer fault.
TEST_F(OpenAcross, ImportSurvivesFreeAndDeathOfTheExporter) {
    Exporter exporter;
    const auto opened = table_.open(exporter.handle);
    ASSERT_TRUE(opened);
    ASSERT_TRUE(exporter.tell('f'));
    EXPECT_EQ(table_.owner_alive(*opened), std::optional(false));
    std::memset(*opened, 0x11, 2 * kMiB);
    exporter.child.kill();
    std::memset(*opened, 0x22, 2 * kMiB);
    EXPECT_EQ(static_cast<unsigned char*>(*opened)[kMiB], 0x22);
    EXPECT_TRUE(table_.close(*opened));
}

TEST_F(OpenAcross, NamesWhatTheExporterDid) {
    Exporter freed;
    ASSERT_TRUE(freed.tell('f'));
    EXPECT_STREQ(reason(table_.open(freed.handle)), messages::kExporterClosed);
    Exporter ended;
    ASSERT_TRUE(ended.tell('e'));
    EXPECT_STREQ(reason(table_.open(ended.handle)), messages::kExporterClosed);
    Exporter dead;
    dead.child.kill();
    EXPECT_STREQ(reason(table_.open(dead.handle)), messages::kExporterGone);
    EXPECT_EQ(table_.size(), 0u);
}

// V-27: a zombie is dead, whoever still holds its number.
TEST_F(OpenAcross, ZombiesAreGone) {
    Exporter exporter;
    ::kill(exporter.child.pid(), SIGKILL);
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(exporter.child.pid()), &info, WEXITED | WNOWAIT), 0);
    EXPECT_STREQ(reason(table_.open(exporter.handle)), messages::kExporterGone);
}

// V-34: without process descriptors the age is looked at before and after.
TEST_F(OpenAcross, WorksWherePidfdIsForbidden) {
    Exporter alive, dead;
    dead.child.kill();
    EXPECT_EQ(test::in_child([&] {
                  if (!test::forbid_pidfd_open()) return 77;
                  SegmentTable table({.serve_descriptors = false});
                  const auto opened = table.open(alive.handle);
                  if (!opened || *static_cast<std::uint64_t*>(*opened) != 4711 || !table.close(*opened)) return 1;
                  if (std::strcmp(reason(table.open(dead.handle)), messages::kExporterGone) != 0) return 2;
                  IpcHandle forged = *decode(alive.handle);
                  --forged.start_time;
                  return table.open(encode(forged)) ? 3 : 0;
              }),
              0);
}

// V-27
TEST_F(OpenAcross, RefusesForgedHandles) {
    Exporter exporter;
    const IpcHandle good = *decode(exporter.handle);
    IpcHandle forged = good;
    forged.start_time -= 1;
    EXPECT_STREQ(reason(table_.open(encode(forged))), messages::kExporterReplaced) << "a pid that was used again";
    forged = good;
    forged.fd = 1 << 20;
    EXPECT_STREQ(reason(table_.open(encode(forged))), messages::kExporterClosed);
    forged = good;
    ++forged.inode;
    EXPECT_STREQ(reason(table_.open(encode(forged)), Errc::invalid_argument), messages::kDescriptorInode);
    forged = good;
    forged.bytes += 2 * kMiB;
    EXPECT_STREQ(reason(table_.open(encode(forged)), Errc::invalid_argument), messages::kDescriptorSize);
    forged = good;
    ++forged.generation;
    EXPECT_STREQ(reason(table_.open(encode(forged)), Errc::invalid_argument), messages::kControlPage);
    forged = good;
    forged.flags |= kHandleHugePages;
    EXPECT_STREQ(reason(table_.open(encode(forged)), Errc::invalid_argument), messages::kHandleHugePages);
    for (int fd = 0; fd < 3; ++fd) {  // whatever those are
        forged = good;
        forged.fd = fd;
        EXPECT_FALSE(table_.open(encode(forged)));
    }
    EXPECT_EQ(table_.size(), 0u);
    EXPECT_TRUE(table_.open(exporter.handle)) << "the true one still opens";
}

// V-27: as an ordinary user, with an exporter under another one.
TEST_F(OpenAcross, OtherUsersAreKeptOut) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to become two other users";
    Exporter exporter(false, kSomebody);
    EXPECT_EQ(test::in_child([&] {
                  if (::setresuid(kNobody, kNobody, kNobody) != 0) return 1;
                  SegmentTable table({.serve_descriptors = false});
                  return std::strcmp(reason(table.open(exporter.handle)), messages::kExporterForbidden) == 0 ? 0 : 2;
              }),
              0);
    // Root may open it and must not trust it.
    EXPECT_STREQ(reason(table_.open(exporter.handle), Errc::invalid_argument), messages::kDescriptorOwner);
}

// V-27
TEST_F(OpenAcross, ExportersThatAreNotDumpableAreClosed) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
    Exporter exporter(false, kNobody, false);
    EXPECT_EQ(test::in_child([&] {
                  if (::setresuid(kNobody, kNobody, kNobody) != 0) return 1;
                  SegmentTable table({.serve_descriptors = false});
                  return std::strcmp(reason(table.open(exporter.handle)), messages::kExporterForbidden) == 0 ? 0 : 2;
              }),
              0);
}

// V-27: handles with a right checksum and any content open nothing and harm nothing.
TEST_F(OpenAcross, RefusesRandomForgeries) {
    Exporter exporter;
    const IpcHandle good = *decode(exporter.handle);
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    for (int round = 0; round < 2000; ++round) {
        IpcHandle forged = good;
        std::array<std::function<void()>, 7> changes{
            [&] { forged.pid ^= 1U << random() % 16; },          [&] { forged.start_time ^= 1ULL << random() % 40; },
            [&] { forged.fd ^= 1 << random() % 12; },            [&] { forged.generation ^= 1U << random() % 32; },
            [&] { forged.nonce ^= 1ULL << random() % 64; },      [&] { forged.inode ^= 1U << random() % 32; },
            [&] { forged.bytes = (1 + random() % 100) * 2 * kMiB; }};
        for (std::size_t i = 0, n = 1 + random() % 3; i < n; ++i) changes[random() % changes.size()]();
        if (forged == good) continue;
        ASSERT_FALSE(table_.open(encode(forged))) << round;
    }
    EXPECT_EQ(table_.size(), 0u);
    EXPECT_EQ(exporter.quit(), 0);
}

// V-31: the importer's own descriptors and mappings come back, however it ends.
TEST_F(OpenAcross, KilledExportersLeaveNothing) {
    const auto names = [] {
        std::vector<std::string> found;
        for (const char* folder : {"/dev/shm", "/tmp"})
            for (const auto& entry : std::filesystem::directory_iterator(folder))
                if (entry.path().filename().string().starts_with("duofi-fd-")) found.push_back(entry.path().string());
        return found;
    };
    const auto names_before = names();
    const std::size_t before = test::open_descriptors();
    for (int round = 0; round < 10; ++round) {
        Exporter exporter(true);
        const auto opened = table_.open(exporter.handle);
        ASSERT_TRUE(opened);
        exporter.child.kill();
        std::memset(*opened, round, 2 * kMiB);
        ASSERT_TRUE(table_.close(*opened));
    }
    EXPECT_EQ(table_.size(), 0u);
    EXPECT_EQ(test::open_descriptors(), before);
    EXPECT_EQ(names(), names_before);
}

}  // namespace
}  // namespace duofi::local
