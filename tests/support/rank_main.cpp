// Entry of every test program whose ranks may be processes.
#include <gtest/gtest.h>

#include "tests/support/peer_group.hpp"

int main(int argc, char** argv) {
    if (const int code = duofi::test::run_rank_of_command_line(argc, argv); code >= 0) return code;
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
