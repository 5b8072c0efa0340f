// Who a rank is: C-6, C-7, T-12.
// Units: p2p/transport/peer_info.
#include "p2p/transport/peer_info.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/p2p/transport/rank_team.hpp"
#include "tests/unit/util/log_lines.hpp"

namespace duofi::p2p::test {
namespace {

TEST(PeerInfo, text_of_a_process_is_its_pid_and_namespace) {  // C-7
    const std::string pid = std::to_string(::getpid());
    EXPECT_EQ(pid_text().rfind(pid + "pid:[", 0), 0U) << pid_text();
}

TEST(PeerInfo, a_forked_child_is_another_process) {  // T-12
    const std::string mine = pid_text();
    const pid_t child = ::fork();
    if (child == 0) ::_exit(pid_text() == mine ? 1 : 0);
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST(PeerInfo, threads_share_host_and_process_and_communicators_differ) {
    std::uint64_t hosts[2], processes[2];
    for (int round : {0, 1}) {
        Team team(2, "host");
        ASSERT_TRUE(team.whole());
        const auto& infos = team.comm(0).peer_info;
        EXPECT_EQ(infos[0].hostHash, infos[1].hostHash);
        EXPECT_EQ(infos[0].pidHash, infos[1].pidHash);
        EXPECT_NE(infos[0].comm, infos[1].comm);
        EXPECT_EQ(infos[1].rank, 1);
        for (int rank : {0, 1}) EXPECT_EQ(team.comm(rank).peer_info[0].hostHash, infos[0].hostHash);
        hosts[round] = infos[0].hostHash;
        processes[round] = infos[0].pidHash;
    }
    EXPECT_NE(hosts[0], hosts[1]) << "the hash of the communicator is part of it";
    EXPECT_NE(processes[0], processes[1]);
}

TEST(PeerInfo, named_hosts_keep_ranks_apart) {
    duofi::test::LogLines lines;
    Team team(2, "host", [](int rank, CommunicatorOptions& options) {
        options.settings.nccl_hostid = rank == 0 ? "left" : "right";
        options.timeout = 2 * kSecond;
    });
    ASSERT_TRUE(team.whole());
    EXPECT_NE(team.comm(0).peer_info[0].hostHash, team.comm(0).peer_info[1].hostHash);
    team.run([](int, Communicator& communicator) {
        const Status connected = communicator.connect_all();
        ASSERT_FALSE(connected);
        EXPECT_TRUE(connected.error().code == Errc::internal ||
                    connected.error().code == Errc::remote);
    });
    EXPECT_FALSE(lines.with("No transport found between devices 0 and 0").empty()) << lines.dump();
}

}  // namespace
}  // namespace duofi::p2p::test
