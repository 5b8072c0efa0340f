// The `duofi` command. Everything on a data path goes through a plugin's table that the loader
// opened.
#include <cstdio>

#include "tools/duofi/cli.hpp"
#include "tools/duofi/output.hpp"

int main(int argc, char** argv) {
    using namespace duofi::tool;
    const int code = run_command_line(argc, argv);
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    complain("the results cannot be written to the standard output");
    return code == kOk ? kFailedCheck : code;
}
