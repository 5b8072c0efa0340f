#include "tests/support/rank_process.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <ctime>

#include "tests/support/failure.hpp"
#include "tests/support/rank_run.hpp"

extern char** environ;

namespace duofi::test {
namespace {

std::string own_program() {
    std::array<char, 4096> path{};
    const ssize_t n = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
    require(n > 0, "no path of the test program");
    return {path.data(), static_cast<std::size_t>(n)};
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& changes) {
    std::vector<std::string> words;
    for (char** at = environ; *at != nullptr; ++at) {
        const std::string word = *at;
        if (changes.count(word.substr(0, word.find('='))) == 0) words.push_back(word);
    }
    for (const auto& [name, value] : changes) {
        if (value != kUnset) words.push_back(fmt::format("{}={}", name, value));
    }
    return words;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> out;
    for (std::string& word : words) out.push_back(word.data());
    out.push_back(nullptr);
    return out;
}

}  // namespace

RankProcess RankProcess::start(std::vector<std::string> words,
                               const std::map<std::string, std::string>& env,
                               const std::vector<std::string>& prefix, int channel_fd) {
    words.insert(words.begin(), own_program());
    words.insert(words.begin(), prefix.begin(), prefix.end());
    std::vector<std::string> variables = environment_with(env);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, channel_fd, kChannelDescriptor);
    RankProcess process;
    const int rc = ::posix_spawnp(&process.pid_, words[0].c_str(), &actions, nullptr,
                                  pointers(words).data(), pointers(variables).data());
    ::posix_spawn_file_actions_destroy(&actions);
    require(rc == 0, "cannot start {}: {}", words[0], std::strerror(rc));
    return process;
}

bool RankProcess::ended() {
    if (!ended_) ended_ = ::waitpid(pid_, &status_, WNOHANG) == pid_;
    return ended_;
}

void RankProcess::kill() {
    if (!ended_) ::kill(pid_, SIGKILL);
}

bool RankProcess::killed_by_signal() const {
    return ended_ && WIFSIGNALED(status_);
}
int RankProcess::signal_number() const {
    return WTERMSIG(status_);
}
int RankProcess::exit_code() const {
    return WEXITSTATUS(status_);
}

bool all_ended(std::vector<RankProcess>& processes) {
    bool all = true;
    for (RankProcess& process : processes) all = process.ended() && all;
    return all;
}

void pause_briefly() {
    timespec t{0, 2 * kMillisecond};
    ::nanosleep(&t, nullptr);
}

}  // namespace duofi::test
