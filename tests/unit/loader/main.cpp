// The loader reads LD_LIBRARY_PATH once, at the start of a process: make a folder, name it there,
// start again. The program also carries a table of its own, which the STATIC_PLUGIN forms must find
// (L-7): v8, because no mock has that symbol and the program's would stand in for the mock's own.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "common/abi/net_v8.h"
#include "tests/unit/loader/plugin_directory.hpp"

namespace {

ncclResult_t two_devices(int* count) {
    *count = 2;
    return ncclSuccess;
}

ncclResult_t ready(ncclDebugLogger_t) {
    return ncclSuccess;
}

ncclNet_v8_t program_table() {
    ncclNet_v8_t table{};
    table.name = "InProgram";
    table.init = ready;
    table.devices = two_devices;
    return table;
}

int start_again(char** argv) {
    std::array<char, 64> folder{"/tmp/duofi-loader-test-XXXXXX"};
    if (::mkdtemp(folder.data()) == nullptr) {
        std::perror("mkdtemp");
        return 1;
    }
    ::setenv(duofi::loader::test::kFolderVariable, folder.data(), 1);
    ::setenv("LD_LIBRARY_PATH", folder.data(), 1);
    ::execv("/proc/self/exe", argv);
    std::perror("execv");
    return 1;
}

}  // namespace

extern "C" {
__attribute__((visibility("default"))) extern const ncclNet_v8_t ncclNetPlugin_v8;
const ncclNet_v8_t ncclNetPlugin_v8 = program_table();
}

namespace duofi::loader::test {

bool is_mapped(const std::string& module) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
        if (line.find("/" + module + ".so") != std::string::npos) return true;
    return false;
}

}  // namespace duofi::loader::test

int main(int argc, char** argv) {
    const auto folder = duofi::loader::test::search_folder();
    if (folder.empty()) return start_again(argv);
    ::testing::InitGoogleTest(&argc, argv);
    const int result = RUN_ALL_TESTS();
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    return result;
}
