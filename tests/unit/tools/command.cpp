#include "tests/unit/tools/command.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace duofi::test {
namespace {

using Clock = std::chrono::steady_clock;

std::string text_of(const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

/// Calls `ready` until it is true or the time is over.
template <typename Ready>
bool until(int seconds, Ready&& ready) {
    const auto end = Clock::now() + std::chrono::seconds(seconds);
    while (!ready()) {
        if (Clock::now() > end) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
}

}  // namespace

Command::Command(const std::vector<std::string>& arguments,
                 const std::vector<std::pair<std::string, std::string>>& variables) {
    std::string folder = ::testing::TempDir() + "duofi_command_XXXXXX";
    if (!::mkdtemp(folder.data())) throw std::runtime_error("mkdtemp");
    folder_ = folder;
    std::vector<char*> argv{const_cast<char*>(DUOFI_COMMAND)};
    for (const std::string& argument : arguments)
        argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ != 0) return;
    for (const char* name : {"RANK", "WORLD_SIZE", "NCCL_NET_PLUGIN", "NCCL_DEBUG"})
        ::unsetenv(name);
    ::setenv("LD_LIBRARY_PATH", DUOFI_LIBRARY_PATH, 1);
    for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
    ::dup2(::open((folder_ + "/out").c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600), STDOUT_FILENO);
    ::dup2(::open((folder_ + "/err").c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600), STDERR_FILENO);
    ::execv(DUOFI_COMMAND, argv.data());
    ::_exit(127);
}

Command::~Command() {
    if (pid_ > 0) {
        ::kill(pid_, SIGTERM);  // the command ends its ranks and reaps them
        ::waitpid(pid_, nullptr, 0);
    }
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

Ended Command::wait(int seconds) {
    int status = 0;
    const bool ended = until(seconds, [&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; });
    Ended result{-1, text_of(folder_ + "/out"), text_of(folder_ + "/err")};
    if (!ended) return result;
    pid_ = -1;
    if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
    return result;
}

std::vector<pid_t> Command::children(std::size_t count, int seconds) const {
    std::vector<pid_t> pids;
    const std::string list =
        "/proc/" + std::to_string(pid_) + "/task/" + std::to_string(pid_) + "/children";
    until(seconds, [&] {
        pids.clear();
        std::ifstream file(list);
        for (pid_t pid = 0; file >> pid;) pids.push_back(pid);
        return pids.size() >= count;
    });
    return pids;
}

bool Command::printed(const std::string& text, int seconds) const {
    return until(seconds,
                 [&] { return text_of(folder_ + "/out").find(text) != std::string::npos; });
}

}  // namespace duofi::test
