// The `duofi` command. Everything on a data path goes through a plugin's table that the loader
// opened.
#include "tools/duofi/cli.hpp"

int main(int argc, char** argv) {
    return duofi::tool::run_command_line(argc, argv);
}
