#include "tests/support/peer_group.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "tests/support/log_capture.hpp"
#include "tests/support/rank_process.hpp"
#include "tests/support/rank_run.hpp"

namespace duofi::test {

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

std::string steps_of(const RankChannel& channel) {
    std::string text;
    for (int i = 0; i < channel.ranks(); ++i)
        text += fmt::format("\n  rank {}: {}", i, channel.step(i));
    return text;
}

namespace {

void judge(int rank, const RankProcess& child, const GroupOptions& options) {
    const auto end = options.ends.count(rank) != 0 ? options.ends.at(rank) : RankEnd::normal;
    const int code = options.exit_codes.count(rank) != 0 ? options.exit_codes.at(rank) : 0;
    if (end == RankEnd::any) return;
    if (end == RankEnd::killed) {
        EXPECT_TRUE(child.killed_by_signal()) << "rank " << rank << " was to be killed";
        return;
    }
    if (child.killed_by_signal()) {
        ADD_FAILURE() << "rank " << rank << " died of signal " << child.signal_number();
    } else {
        EXPECT_EQ(child.exit_code(), code) << "exit code of rank " << rank;
    }
}

void run_processes(const std::string& body, const GroupOptions& options, RankChannel& channel) {
    std::vector<RankProcess> children;
    for (int i = 0; i < options.ranks; ++i) {
        children.push_back(RankProcess::start(rank_command_line(body, make_rank(i, options, channel)), options.env,
                                              options.prefix_of(i), channel.fd()));
    }
    const Deadline deadline(options.timeout);
    bool told = false;
    while (!all_ended(children)) {
        for (int i = 0; i < options.ranks; ++i) {
            const RankProcess& child = children[static_cast<std::size_t>(i)];
            // A rank that crashed must not make the others wait for their deadline.
            if (child.killed_by_signal() && options.ends.count(i) == 0) channel.break_group();
        }
        if (deadline.passed() && !told) {
            ADD_FAILURE() << body << " did not end in time; last steps:" << steps_of(channel);
            for (RankProcess& child : children) child.kill();
            told = true;
        }
        pause_briefly();
    }
    if (told) return;
    for (int i = 0; i < options.ranks; ++i)
        judge(i, children[static_cast<std::size_t>(i)], options);
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
                         steps_of(channel).c_str(), log_capture::dump().c_str());
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
