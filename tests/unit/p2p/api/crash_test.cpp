// A rank is killed at some point of its life: the others end within a second and keep nothing.
// V-29, V-31. Units: p2p/transport/exchange, p2p/transport/communicator.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "p2p/operations.hpp"
#include "tests/support/failure.hpp"
#include "tests/unit/p2p/api/processes.hpp"

namespace duofi::p2p::test {
namespace {

constexpr int kRanks = 3;

/// When the victim ends.
struct Fate {
    int victim = 0;
    int exchange = 0;      ///< at this call of the exchange; 0: not there
    int microseconds = 0;  ///< this long after it has connected
    bool before_tear_down = false;
};

/// Seen by all processes of a run.
struct Board {
    std::atomic<Nanoseconds> death{0};
    std::atomic<int> through{0};  ///< survivors that have seen all they had to see
    std::array<std::atomic<int>, kRanks> pids{};
};

[[noreturn]] void die(Board& board) {
    board.death = now_ns();
    ::raise(SIGKILL);
    std::abort();
}

/// Counts the calls of an exchange and dies at one of them.
class FatalBootstrap final : public Bootstrap {
  public:
    FatalBootstrap(Bootstrap& inner, int fatal, Board& board)
        : inner_(inner), left_(fatal), board_(board) {}
    int rank() const noexcept override { return inner_.rank(); }
    int size() const noexcept override { return inner_.size(); }
    bool can_repeat() const noexcept override { return inner_.can_repeat(); }
    int lost_rank() const noexcept override { return inner_.lost_rank(); }
    Status all_gather(std::span<const std::byte> mine, std::span<std::byte> all, const char* name,
                      const Deadline& deadline) override {
        count();
        return inner_.all_gather(mine, all, name, deadline);
    }
    Status send(int peer, MessageType type, std::span<const std::byte> data, const char* name,
                const Deadline& deadline) override {
        count();
        return inner_.send(peer, type, data, name, deadline);
    }
    Result<Message> receive(int peer, const char* name, const Deadline& deadline) override {
        count();
        return inner_.receive(peer, name, deadline);
    }

  private:
    void count() {
        if (--left_ == 0) die(board_);
    }
    Bootstrap& inner_;
    int left_;
    Board& board_;
};

/// Works until something fails; the victim never returns from here.
Status work(Communicator& communicator, const Fate& fate, bool victim, Board& board) {
    DUOFI_TRY(communicator.connect_all());
    Operations operations(communicator, kAllProtocols);
    std::thread killer;
    if (victim && fate.microseconds != 0)
        killer = std::thread([&] {
            std::this_thread::sleep_for(std::chrono::microseconds(fate.microseconds));
            die(board);
        });
    std::vector<std::int32_t> data(20000, 1);
    for (int round = 0;; ++round) {
        if (victim && fate.before_tear_down && round == 20) die(board);
        if (fate.before_tear_down && round == 20) return communicator.tear_down();
        const std::size_t count = round % 2 == 0 ? data.size() : 10;
        const Status done = operations.ring({.kind = RingCollective::all_reduce,
                                             .type = DataType::int32,
                                             .input = data.data(),
                                             .output = data.data(),
                                             .count = count});
        if (!done) {
            if (killer.joinable()) killer.join();
            return done;
        }
    }
}

int survive(int rank, const Fate& fate, Board& board) {
    const int descriptors = open_descriptors();
    {
        auto meeting = meet(rank, kRanks);
        RANK_REQUIRE(meeting);
        RANK_REQUIRE(meeting->session.store->barrier("start", Deadline(20 * kSecond)));
        board.pids[static_cast<std::size_t>(rank)] = ::getpid();
        const bool victim = rank == fate.victim;
        FatalBootstrap exchange(*meeting->bootstrap, victim ? fate.exchange : 0, board);
        CommunicatorOptions options;
        options.settings.p2p_runtime = "host";
        options.timeout = 20 * kSecond;
        auto made = Communicator::create(exchange, options);
        Nanoseconds told = now_ns();
        if (made) {
            const Status ended = work(**made, fate, victim, board);
            told = now_ns();
            // The end of an aborted communicator is a success of its own.
            RANK_REQUIRE(!ended || (fate.before_tear_down && (*made)->comm().aborted()));
            static_cast<void>((*made)->tear_down());
            // The watch may need a moment when the store was quicker.
            const Deadline patience(kSecond);
            while ((*made)->comm().lost_rank() == -1 && !patience.passed())
                std::this_thread::yield();
            RANK_REQUIRE((*made)->comm().lost_rank() == fate.victim);
        }
        // Who leaves early looks dead to the others, and rank 0 takes the store along.
        ++board.through;
        const Deadline others(5 * kSecond);
        while (board.through != kRanks - 1 && !others.passed()) std::this_thread::yield();
        RANK_REQUIRE(board.death != 0);
        RANK_REQUIRE(told - board.death < duofi::test::patience(kSecond));
    }
    RANK_REQUIRE(segment_mappings() == 0);
    RANK_REQUIRE(open_descriptors() == descriptors);
    return 0;
}

/// Names of what outlives processes, or could: shared memory, temporary files, sockets.
std::vector<std::string> names_of_objects() {
    std::vector<std::string> names;
    std::error_code ignored;
    for (const char* folder : {"/dev/shm", "/tmp"})
        for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
            names.push_back(entry.path().filename());
    std::ifstream sockets("/proc/net/unix");
    for (std::string line; std::getline(sockets, line);)
        if (const std::size_t name = line.find('@'); name != std::string::npos)
            names.push_back(line.substr(name));
    std::ranges::sort(names);
    return names;
}

bool holds_number(const std::string& name, int number) {
    const std::string text = std::to_string(number);
    const std::size_t at = name.find(text);
    const std::size_t end = at + text.size();
    return number != 0 && at != std::string::npos && (at == 0 || std::isdigit(name[at - 1]) == 0) &&
           (end == name.size() || std::isdigit(name[end]) == 0);
}

/// New ones whose names hold the number of one of the ranks.
std::vector<std::string> left_behind(const Board& board, const std::vector<std::string>& before) {
    std::vector<std::string> found;
    for (const std::string& name : names_of_objects())
        for (const std::atomic<int>& pid : board.pids)
            if (holds_number(name, pid) && !std::ranges::binary_search(before, name))
                found.push_back(name);
    return found;
}

Fate random_fate(std::mt19937& random) {
    Fate fate;
    fate.victim = static_cast<int>(random() % kRanks);
    switch (random() % 3) {
        case 0:
            // One gather, then 2 sends and 2 receives per distance, then the barrier after
            // connecting.
            fate.exchange = 1 + static_cast<int>(random() % 9);
            break;
        case 1:
            fate.microseconds = 1 + static_cast<int>(random() % 5000);
            break;
        default:
            fate.before_tear_down = true;
    }
    return fate;
}

TEST(Crash, survivors_end_soon_and_keep_nothing) {  // V-29, V-31
    // Older processes with the same numbers may have left something.
    const std::vector<std::string> before = names_of_objects();
    void* page =
        ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(page, MAP_FAILED);
    const unsigned seed = full_tier() ? std::random_device{}() : 20240229U;
    std::mt19937 random(seed);
    const int rounds = full_tier() ? 200 : 15;
    for (int round = 0; round < rounds && !HasFailure(); ++round) {
        const Fate fate = random_fate(random);
        SCOPED_TRACE(testing::Message()
                     << "seed " << seed << " round " << round << " victim " << fate.victim
                     << " exchange " << fate.exchange << " us " << fate.microseconds);
        Board& board = *new (page) Board;
        run_processes(
            kRanks, [&](int rank) { return survive(rank, fate, board); }, fate.victim);
        EXPECT_EQ(left_behind(board, before), std::vector<std::string>{});
    }
    ::munmap(page, sizeof(Board));
}

}  // namespace
}  // namespace duofi::p2p::test
