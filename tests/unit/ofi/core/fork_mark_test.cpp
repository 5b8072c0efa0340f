// A child knows that it is one (architecture 4.14).
#include "common/util/fork_mark.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace duofi {
namespace {

/// Exit status of a forked child that runs `body`.
int in_child(const std::function<int()>& body) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(body());
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ForkMark, IsSeenInTheChildOnly) {
    const ForkMark mark;
    EXPECT_FALSE(mark.in_child());
    EXPECT_EQ(in_child([&] { return mark.in_child() ? 17 : 3; }), 17);
    EXPECT_FALSE(mark.in_child());
}

TEST(ForkMark, IsSeenInAGrandchild) {
    const ForkMark mark;
    EXPECT_EQ(in_child([&] { return in_child([&] { return mark.in_child() ? 17 : 3; }); }), 17);
}

TEST(ForkMark, AMarkOfTheChildItselfIsFresh) {
    EXPECT_EQ(in_child([] {
                  const ForkMark mark;
                  return mark.in_child() ? 3 : 17;
              }),
              17);
}

TEST(ForkMark, TakesNoMemoryAlong) {
    for (int i = 0; i < 100000; ++i) {  // more than a process may map at once
        const ForkMark mark;
        ASSERT_FALSE(mark.in_child());
    }
}

}  // namespace
}  // namespace duofi
