// What a killed process leaves in /dev/shm bears its number, which the next process may get.
#include <unistd.h>

#include <filesystem>

#include "tests/unit/net_plugin/sendrecv/fabric.hpp"

namespace duofi::net::comm_test {
namespace {

TEST(StaleRegion, of_an_earlier_process_with_our_number_is_an_error_or_nothing) {
    if (find_device("shm") == nullptr) GTEST_SKIP() << "no device of provider shm";
    LogLines log{duofi::log::Level::warn};
    const std::filesystem::path folder = "/dev/shm";
    const std::string mine = std::to_string(::getpid()) + ":";
    std::vector<std::filesystem::path> left;
    {
        Side live("shm");
        std::filesystem::path region;
        for (const auto& entry : std::filesystem::directory_iterator(folder))
            if (entry.path().filename().string().rfind(mine, 0) == 0) region = entry.path();
        if (region.empty()) GTEST_SKIP() << "this libfabric names its regions in another way";
        for (int domain = 0; domain < 4; ++domain) {
            for (int index = 0; index < 8; ++index) {
                const auto copy =
                    folder / (mine + std::to_string(domain) + ":" + std::to_string(index));
                if (std::filesystem::exists(copy)) continue;
                std::filesystem::copy_file(region, copy);
                left.push_back(copy);
            }
        }
        // As a caller that tries again: each try ends with an error or an endpoint, and the process
        // lives.
        for (int i = 0; i < 3; ++i) {
            try {
                Side next("shm");
                next.poll();
            } catch (const duofi::test::TestFailure&) {
                EXPECT_FALSE(log.all().empty()) << "an error without a line";
            }
        }
        Link link = connect(live, live);
        unsigned char data[8] = {1, 2, 3};
        unsigned char in[8] = {};
        (void)finish({send(*link.send.get(), data, 8, 1), receive(*link.recv.get(), in, 8, 1)});
        EXPECT_EQ(in[2], 3);
    }
    for (const auto& path : left) std::filesystem::remove(path);
}

}  // namespace
}  // namespace duofi::net::comm_test
