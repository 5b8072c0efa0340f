// Command line of `duofi`.
#pragma once

namespace duofi::tool {

/// Parses, runs one sub-command, returns the exit code of the process.
int run_command_line(int argc, char** argv);

}  // namespace duofi::tool
