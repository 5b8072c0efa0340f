// Handles between processes where /proc is closed: containers, exporters that are not dumpable (V-34).
// Units: common/local/segment_table common/local/fd_service
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "common/util/messages/local.hpp"
#include "tests/unit/local/exporter.hpp"

namespace duofi::local {
namespace {

using test::Child;
using test::Exporter;
using test::kNobody;
using test::kSomebody;
using test::reason;

// V-34: the fd service opens what /proc does not.
TEST(OpenThroughService, ServiceServesWhereProcIsClosed) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
    Exporter exporter(true, kNobody, false);
    EXPECT_EQ(decode(exporter.handle)->kind, HandleKind::memfd_service);
    EXPECT_EQ(test::in_child([&] {
                  if (::setresuid(kNobody, kNobody, kNobody) != 0) return 1;
                  SegmentTable table;
                  const auto opened = table.open(exporter.handle);
                  if (!opened) return 2;
                  return *static_cast<std::uint64_t*>(*opened) == 4711 && table.close(*opened) ? 0 : 3;
              }),
              0);
    EXPECT_EQ(test::in_child([&] {
                  if (::setresuid(kSomebody, kSomebody, kSomebody) != 0) return 1;
                  SegmentTable table;
                  const auto opened = table.open(exporter.handle);
                  return std::strcmp(reason(opened), messages::kServiceOtherUser) == 0 ? 0 : 2;
              }),
              0);
}

// V-34: a /proc that hides what it does not open says that there is no such file.
TEST(OpenThroughService, ServiceServesWhereProcHidesTheExporter) {
    constexpr int kCannot = 77;
    const int code = test::in_child([] {
        if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            ::mount("proc", "/proc", "proc", 0, "hidepid=2,gid=60001") != 0)
            return kCannot;
        Exporter exporter(true, kNobody, false);
        if (::setresuid(kNobody, kNobody, kNobody) != 0) return kCannot;
        SegmentTable table;
        const auto opened = table.open(exporter.handle);
        if (!opened) return 2;
        return *static_cast<std::uint64_t*>(*opened) == 4711 && table.close(*opened) ? exporter.quit() : 3;
    });
    if (code == kCannot) GTEST_SKIP() << "needs root for mounts";
    EXPECT_EQ(code, 0);
}

// V-34: containers with their own PID namespaces, one network or one directory in common.
class OtherNamespace : public testing::TestWithParam<bool> {};

TEST_P(OtherNamespace, HandlesGoThroughTheService) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root for a PID namespace";
    const std::string directory = testing::TempDir() + "fds_" + std::to_string(::getpid());
    std::filesystem::create_directory(directory);
    const char* place = GetParam() ? directory.c_str() : "";
    Child child([&](const Child::Line& line) {
        if (::unshare(CLONE_NEWPID) != 0) return 77;
        Child inner([&](const Child::Line&) { return test::exporter(line, true, place); });
        return inner.wait();
    });
    HandleBytes handle{};
    if (!child.line().receive(handle)) GTEST_SKIP() << "no PID namespaces here: " << child.wait();
    {
        SegmentTable table({.socket_dir = place});
        const auto opened = table.open(handle);
        ASSERT_TRUE(opened) << opened.error().place;
        EXPECT_EQ(*static_cast<std::uint64_t*>(*opened), 4711u);
        EXPECT_TRUE(table.close(*opened));
        SegmentTable elsewhere({.socket_dir = GetParam() ? "" : directory});
        EXPECT_STREQ(reason(elsewhere.open(handle)), messages::kServiceConnect) << "no common place";
    }
    child.line().send('q');
    EXPECT_EQ(child.wait(), 0);
    EXPECT_TRUE(std::filesystem::is_empty(directory));
    std::filesystem::remove_all(directory);
}

INSTANTIATE_TEST_SUITE_P(Meeting, OtherNamespace, testing::Bool());

}  // namespace
}  // namespace duofi::local
