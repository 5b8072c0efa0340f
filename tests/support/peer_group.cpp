#include "tests/support/peer_group.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <thread>

#include "tests/support/log_capture.hpp"
#include "tests/support/rank_run.hpp"

extern char** environ;

namespace duofi::test {
namespace {

struct Child {
    pid_t pid = -1;
    bool ended = false;
    int status = 0;
};

Rank make_rank(int index, const GroupOptions& options, RankChannel& channel) {
    Rank rank;
    rank.index = index;
    rank.count = options.ranks;
    rank.mode = options.mode;
    rank.channel = &channel;
    rank.args = options.args;
    rank.timeout = options.timeout;
    return rank;
}

std::string steps(const RankChannel& channel) {
    std::string text;
    for (int i = 0; i < channel.ranks(); ++i) text += fmt::format("\n  rank {}: {}", i, channel.step(i));
    return text;
}

std::string own_program() {
    std::array<char, 4096> path{};
    const ssize_t n = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
    require(n > 0, "no path of the test program");
    return {path.data(), static_cast<std::size_t>(n)};
}

std::vector<std::string> environment_of(const GroupOptions& options) {
    std::vector<std::string> words;
    for (char** at = environ; *at != nullptr; ++at) {
        const std::string word = *at;
        if (options.env.count(word.substr(0, word.find('='))) == 0) words.push_back(word);
    }
    for (const auto& [name, value] : options.env) {
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

Child start(const std::string& body, const Rank& rank, const GroupOptions& options) {
    std::vector<std::string> words;
    const auto index = static_cast<std::size_t>(rank.index);
    if (index < options.prefixes.size()) words = options.prefixes[index];
    words.push_back(own_program());
    for (std::string& word : rank_command_line(body, rank)) words.push_back(std::move(word));
    std::vector<std::string> env = environment_of(options);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, rank.channel->fd(), kChannelDescriptor);
    Child child;
    const int rc = ::posix_spawnp(&child.pid, words[0].c_str(), &actions, nullptr,
                                  pointers(words).data(), pointers(env).data());
    ::posix_spawn_file_actions_destroy(&actions);
    require(rc == 0, "cannot start {}: {}", words[0], std::strerror(rc));
    return child;
}

bool reap(std::vector<Child>& children) {
    bool all = true;
    for (Child& child : children) {
        if (!child.ended) child.ended = ::waitpid(child.pid, &child.status, WNOHANG) == child.pid;
        all = all && child.ended;
    }
    return all;
}

void pause_briefly() {
    timespec t{0, 2 * kMillisecond};
    ::nanosleep(&t, nullptr);
}

void judge(int rank, const Child& child, const GroupOptions& options) {
    const auto end = options.ends.count(rank) != 0 ? options.ends.at(rank) : RankEnd::normal;
    const int code = options.exit_codes.count(rank) != 0 ? options.exit_codes.at(rank) : 0;
    if (end == RankEnd::any) return;
    if (end == RankEnd::killed) {
        EXPECT_TRUE(WIFSIGNALED(child.status)) << "rank " << rank << " was to be killed";
        return;
    }
    if (WIFSIGNALED(child.status)) {
        ADD_FAILURE() << "rank " << rank << " died of signal " << WTERMSIG(child.status);
    } else {
        EXPECT_EQ(WEXITSTATUS(child.status), code) << "exit code of rank " << rank;
    }
}

void run_processes(const std::string& body, const GroupOptions& options, RankChannel& channel) {
    std::vector<Child> children;
    for (int i = 0; i < options.ranks; ++i) {
        children.push_back(start(body, make_rank(i, options, channel), options));
    }
    const Deadline deadline(options.timeout);
    bool told = false;
    while (!reap(children)) {
        for (int i = 0; i < options.ranks; ++i) {
            const Child& child = children[static_cast<std::size_t>(i)];
            // A rank that crashed must not make the others wait for their deadline.
            if (child.ended && WIFSIGNALED(child.status) && options.ends.count(i) == 0) channel.break_group();
        }
        if (deadline.passed() && !told) {
            ADD_FAILURE() << body << " did not end in time; last steps:" << steps(channel);
            for (const Child& child : children) {
                if (!child.ended) ::kill(child.pid, SIGKILL);
            }
            told = true;
        }
        pause_briefly();
    }
    if (told) return;
    for (int i = 0; i < options.ranks; ++i) judge(i, children[static_cast<std::size_t>(i)], options);
}

void run_threads(const std::string& name, RankBody body, const GroupOptions& options,
                 RankChannel& channel) {
    std::atomic<int> running{options.ranks};
    std::vector<std::thread> threads;
    for (int i = 0; i < options.ranks; ++i) {
        threads.emplace_back([&, i] {
            Rank rank = make_rank(i, options, channel);
            run_body(body, rank);
            running.fetch_sub(1);
        });
    }
    const Deadline deadline(options.timeout);
    while (running.load() > 0) {
        if (deadline.passed()) {
            // Threads cannot be ended from outside: report and leave the process.
            std::fprintf(stderr, "%s did not end in time; last steps:%s\n%s", name.c_str(),
                         steps(channel).c_str(), log_capture::dump().c_str());
            std::abort();
        }
        pause_briefly();
    }
    for (std::thread& thread : threads) thread.join();
    fail_on_unexpected_warnings();
    if (testing::Test::HasFailure()) {
        std::fprintf(stderr, "log of the plugin:\n%s", log_capture::dump().c_str());
    }
}

}  // namespace

void run_group(const std::string& body, const GroupOptions& plain) {
    GroupOptions options = plain;
    options.timeout = patience(plain.timeout);
    const RankBody function = find_rank_body(body);
    require(function != nullptr, "no rank body '{}'", body);
    RankChannel channel = RankChannel::create(options.ranks);
    if (options.mode == RankMode::processes) return run_processes(body, options, channel);
    log_capture::reset();
    run_threads(body, function, options, channel);
}

}  // namespace duofi::test
