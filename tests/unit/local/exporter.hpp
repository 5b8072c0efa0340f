// A process that shares one segment, for tests of importers.
#pragma once

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/local/segment_table.hpp"
#include "tests/unit/local/child.hpp"

namespace duofi::test {

inline constexpr uid_t kNobody = 65534, kSomebody = 65533;

// Exports memory with a known first word, then does what it is told: 'w' write, 'f' free, 'e' end export, 'q' quit.
inline int exporter(const Child::Line& line, bool serve, const char* socket_dir = "") {
    local::SegmentTable table({.socket_dir = socket_dir, .serve_descriptors = serve});
    const auto memory = table.allocate({.bytes = 2 << 20});
    if (!memory) return 1;
    auto* word = static_cast<std::uint64_t*>(*memory);
    *word = 4711;
    const auto handle = table.export_handle(word);
    if (!handle || !line.send(*handle)) return 2;
    for (char order = 0; line.receive(order) && order != 'q'; line.ring()) {
        if (order == 'w') ++*word;
        if (order == 'f' && !table.free(*memory)) return 3;
        if (order == 'e' && !table.close_descriptors(*memory)) return 4;
    }
    return 0;
}

struct Exporter {
    explicit Exporter(bool serve = false, uid_t user = 0, bool dumpable = true, const char* socket_dir = "")
        : child([=](const Child::Line& line) {
              if (user != 0 && ::setresuid(user, user, user) != 0) return 90;
              if (::prctl(PR_SET_DUMPABLE, dumpable ? 1 : 0) != 0) return 91;
              return exporter(line, serve, socket_dir);
          }) {
        EXPECT_TRUE(child.line().receive(handle));
    }
    bool tell(char order) { return child.line().send(order) && child.line().heard(); }
    int quit() {
        child.line().send('q');
        return child.wait();
    }
    Child child;
    local::HandleBytes handle{};
};

inline const char* reason(const Result<void*>& result, Errc code = Errc::system) {
    if (result) return "accepted";
    EXPECT_EQ(result.error().code, code);
    return result.error().place;
}

}  // namespace duofi::test
