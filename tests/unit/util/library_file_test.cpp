// Which file loaded code came from.
#include "common/util/library_file.hpp"

#include <gtest/gtest.h>
#include <gnu/libc-version.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <memory>

namespace duofi {
namespace {

int in_the_program = 0;

[[nodiscard]] std::string resolved(const std::string& path) {
    char text[PATH_MAX];
    return ::realpath(path.c_str(), text) != nullptr ? text : "";
}

TEST(LibraryFile, of_our_own_code_is_the_program) {
    char self[PATH_MAX] = {};
    ASSERT_GT(::readlink("/proc/self/exe", self, sizeof(self) - 1), 0);
    EXPECT_EQ(resolved(library_file(&in_the_program)), self);
    EXPECT_EQ(resolved(library_file(reinterpret_cast<const void*>(&library_file))), self);
}

TEST(LibraryFile, of_the_c_library_is_its_own) {
    const std::string file = library_file(reinterpret_cast<const void*>(&::gnu_get_libc_version));  // no sanitizer takes it
    EXPECT_NE(file.find("libc.so"), std::string::npos) << file;
}

TEST(LibraryFile, of_other_memory_is_unknown) {
    EXPECT_EQ(library_file(nullptr), "");
    const auto heap = std::make_unique<int>();
    EXPECT_EQ(library_file(heap.get()), "");
    const int on_the_stack = 0;
    EXPECT_EQ(library_file(&on_the_stack), "");
}

}  // namespace
}  // namespace duofi
