// What the store knows and whom it answers, without sockets.
#include "common/bootstrap/store_table.hpp"

#include <gtest/gtest.h>

namespace duofi::bootstrap {
namespace {

using wire::Op;
using wire::State;

class Table : public ::testing::Test {
  protected:
    Answers ask(int rank, Op op, const std::string& key, const std::string& value = {}) {
        wire::Request request;
        request.id = ++id_;
        request.op = op;
        request.key = key;
        request.value.assign(as_value(value).begin(), as_value(value).end());
        Answers answers;
        table_.handle(rank, std::move(request), answers);
        return answers;
    }
    StoreTable table_{3};
    std::uint32_t id_ = 0;
};

TEST_F(Table, a_get_waits_for_the_set) {
    EXPECT_TRUE(ask(1, Op::get, "k").empty());
    const Answers answers = ask(0, Op::set, "k", "v");
    ASSERT_EQ(answers.size(), 2U);
    EXPECT_EQ(answers[0].first, 1);
    EXPECT_EQ(answers[0].second.id, 1U);
    EXPECT_EQ(as_text(answers[0].second.value), "v");
    EXPECT_EQ(answers[1].first, 0);
    EXPECT_EQ(as_text(ask(2, Op::get, "k").front().second.value), "v");
}

TEST_F(Table, a_barrier_opens_with_the_last_rank_and_can_be_used_again) {
    for (int round = 0; round < 2; ++round) {
        EXPECT_TRUE(ask(2, Op::barrier, "b").empty());
        EXPECT_TRUE(ask(0, Op::barrier, "b").empty());
        EXPECT_EQ(ask(1, Op::barrier, "b").size(), 3U);
    }
}

TEST_F(Table, a_rank_that_gave_up_is_not_inside_any_more) {
    EXPECT_TRUE(ask(0, Op::barrier, "b").empty());
    EXPECT_EQ(ask(0, Op::set, "k", "v").size(), 1U);
    EXPECT_TRUE(ask(1, Op::barrier, "b").empty());
    EXPECT_TRUE(ask(2, Op::barrier, "b").empty()) << "rank 0 left it when its next call came";
    EXPECT_EQ(ask(0, Op::barrier, "b").size(), 3U);
}

TEST_F(Table, a_lost_rank_fails_all_waits_now_and_later) {
    EXPECT_TRUE(ask(0, Op::get, "k").empty());
    EXPECT_TRUE(ask(1, Op::barrier, "b").empty());
    Answers answers;
    table_.lose(2, answers);
    ASSERT_EQ(answers.size(), 2U);
    for (const auto& answer : answers) {
        EXPECT_EQ(answer.second.state, State::peer_gone);
        EXPECT_EQ(answer.second.rank, 2);
    }
    EXPECT_EQ(ask(0, Op::get, "k").front().second.state, State::peer_gone);
    EXPECT_EQ(ask(0, Op::barrier, "b").front().second.state, State::peer_gone);
    EXPECT_EQ(table_.lost_rank(), 2);
}

TEST_F(Table, values_outlive_the_rank_that_set_them) {
    EXPECT_EQ(ask(2, Op::set, "k", "v").size(), 1U);
    Answers answers;
    table_.lose(2, answers);
    EXPECT_EQ(ask(0, Op::get, "k").front().second.state, State::ok);
}

TEST_F(Table, a_farewell_fails_barriers_but_not_gets) {
    EXPECT_TRUE(ask(0, Op::barrier, "b").empty());
    EXPECT_TRUE(ask(1, Op::get, "k").empty());
    const Answers answers = ask(2, Op::farewell, "");
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_EQ(answers[0].first, 0);
    EXPECT_EQ(answers[0].second.rank, 2);
    EXPECT_TRUE(table_.has_left(2));
    EXPECT_EQ(ask(0, Op::set, "k", "v").size(), 2U);
}

}  // namespace
}  // namespace duofi::bootstrap
