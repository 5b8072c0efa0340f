// Bodies by name, the command line of a process rank, and what happens around a body.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/support/log_capture.hpp"
#include "tests/support/peer_group.hpp"
#include "tests/support/rank_crew.hpp"
#include "tests/support/rank_run.hpp"

namespace duofi::test {
namespace {

std::map<std::string, RankBody>& bodies() {
    static auto* known = new std::map<std::string, RankBody>;
    return *known;
}

constexpr const char* kBodyOption = "--rank-body=";

}  // namespace

bool register_rank_body(const char* name, RankBody body) {
    return bodies().emplace(name, body).second;
}

RankBody find_rank_body(const std::string& name) {
    const auto found = bodies().find(name);
    return found == bodies().end() ? nullptr : found->second;
}

int Rank::number(const std::string& key, int otherwise) const {
    const auto found = args.find(key);
    return found == args.end() ? otherwise : std::atoi(found->second.c_str());
}

std::string Rank::text(const std::string& key, const std::string& otherwise) const {
    const auto found = args.find(key);
    return found == args.end() ? otherwise : found->second;
}

void run_body(RankBody body, Rank& rank) {
    SCOPED_TRACE(fmt::format("rank {} of {}", rank.index, rank.count));
    try {
        body(rank);
    } catch (const std::exception& error) {
        ADD_FAILURE() << "step '" << rank.channel->step(rank.index) << "': " << error.what();
        rank.channel->break_group();
    }
}

void fail_on_unexpected_warnings() {
    for (const std::string& text : log_capture::unexpected_warnings()) {
        ADD_FAILURE() << "unexpected warning: " << text;
    }
}

std::vector<std::string> rank_command_line(const std::string& body, const Rank& rank) {
    std::vector<std::string> words = {kBodyOption + body, fmt::format("--rank={}", rank.index),
                                      fmt::format("--ranks={}", rank.count),
                                      fmt::format("--rank-timeout={}", rank.timeout / kSecond)};
    for (const auto& [key, value] : rank.args)
        words.push_back(fmt::format("--arg:{}={}", key, value));
    return words;
}

int run_rank_of_command_line(int argc, char** argv) {
    Rank rank;
    std::string name;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const std::string value = word.substr(std::min(word.size(), word.find('=') + 1));
        if (word.rfind(kBodyOption, 0) == 0) {
            name = value;
        } else if (word.rfind("--rank=", 0) == 0) {
            rank.index = std::atoi(value.c_str());
        } else if (word.rfind("--ranks=", 0) == 0) {
            rank.count = std::atoi(value.c_str());
        } else if (word.rfind("--rank-timeout=", 0) == 0) {
            rank.timeout = std::atoi(value.c_str()) * kSecond;
        } else if (word.rfind("--arg:", 0) == 0) {
            rank.args[word.substr(6, word.find('=') - 6)] = value;
        }
    }
    if (name.empty()) return -1;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    int one = 1;
    testing::InitGoogleTest(&one, argv);
    RankChannel channel = RankChannel::attach(kChannelDescriptor);
    rank.channel = &channel;
    if (name == kCrewBody) return serve_in_crew(rank);
    const RankBody body = find_rank_body(name);
    require(body != nullptr, "no rank body '{}'", name);
    run_body(body, rank);
    fail_on_unexpected_warnings();
    if (!testing::UnitTest::GetInstance()->Failed()) return 0;
    channel.break_group();
    std::fprintf(stderr, "rank %d log of the plugin:\n%s", rank.index, log_capture::dump().c_str());
    return 1;
}

}  // namespace duofi::test
