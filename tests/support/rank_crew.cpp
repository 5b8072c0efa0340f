#include "tests/support/rank_crew.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "tests/support/log_capture.hpp"
#include "tests/support/rank_run.hpp"

namespace duofi::test {
namespace {

constexpr Nanoseconds kFarewell = patience(20 * kSecond);  // ends of processes, with leak checks

}  // namespace

void RankCrew::start() {
    channel_ = std::make_unique<RankChannel>(RankChannel::create(options_.ranks));
    for (int i = 0; i < options_.ranks; ++i) {
        processes_.push_back(RankProcess::start(rank_command_line(kCrewBody, make_rank(i, options_, *channel_)),
                                                options_.env, options_.prefix_of(i), channel_->fd()));
    }
}

void RankCrew::discard() {
    for (RankProcess& process : processes_) process.kill();
    while (!all_ended(processes_)) pause_briefly();
    processes_.clear();
    channel_.reset();
}

void RankCrew::run(const std::string& body) {
    require(find_rank_body(body) != nullptr, "no rank body '{}'", body);
    if (!channel_) start();
    channel_->post_order(body);
    const Deadline deadline(patience(options_.timeout));
    while (!channel_->all_reported() && !channel_->broken()) {
        const bool left = std::any_of(processes_.begin(), processes_.end(),
                                      [](RankProcess& p) { return p.ended(); });
        if (left) break;
        if (deadline.passed()) {
            ADD_FAILURE() << body << " did not end in time; last steps:" << steps_of(*channel_);
            return discard();
        }
        pause_briefly();
    }
    if (channel_->all_reported() && !channel_->broken()) return;
    // The failed rank ends by itself and has told why; the others see a broken group.
    channel_->break_group();
    const Deadline farewell(kFarewell);
    while (!all_ended(processes_) && !farewell.passed()) pause_briefly();
    std::string ends;
    for (RankProcess& process : processes_) {
        if (!process.ended())
            ends += " still there,";
        else if (process.killed_by_signal())
            ends += fmt::format(" signal {},", process.signal_number());
        else
            ends += fmt::format(" exit {},", process.exit_code());
    }
    ADD_FAILURE() << body << " failed; ranks:" << ends;
    discard();
}

void RankCrew::dismiss() {
    if (!channel_) return;
    channel_->post_order("");
    const Deadline farewell(kFarewell);
    while (!all_ended(processes_) && !farewell.passed()) pause_briefly();
    for (RankProcess& process : processes_) {
        if (!process.ended()) {
            ADD_FAILURE() << "a rank of " << options_.ranks << " does not end";
        } else if (process.killed_by_signal()) {
            ADD_FAILURE() << "a rank of " << options_.ranks << " died at its end of signal "
                          << process.signal_number();
        } else {
            EXPECT_EQ(process.exit_code(), 0) << "a rank of " << options_.ranks << " at its end";
        }
    }
    discard();
}

int serve_in_crew(Rank& rank) {
    for (std::uint32_t number = 0;;) {
        const std::string name = rank.channel->wait_order(number);
        if (name.empty()) return 0;
        log_capture::reset();
        rank.step("");
        run_body(find_rank_body(name), rank);
        fail_on_unexpected_warnings();
        if (testing::UnitTest::GetInstance()->Failed()) {
            rank.channel->break_group();
            std::fprintf(stderr, "rank %d log of the plugin:\n%s", rank.index,
                         log_capture::dump().c_str());
            return 1;
        }
        rank.channel->report(rank.index, number);
    }
}

}  // namespace duofi::test
