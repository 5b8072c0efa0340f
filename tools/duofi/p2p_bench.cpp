#include "tools/duofi/p2p_bench.hpp"

#include <fmt/core.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <new>
#include <thread>

#include "common/bootstrap/local_spawn.hpp"
#include "tools/duofi/p2p_peers.hpp"
#include "tools/duofi/p2p_ranks.hpp"

namespace duofi::tool {
namespace {

constexpr std::array<std::size_t, 9> kSizes{8,       64,      4096,     65536,   262144,
                                            1 << 20, 2 << 20, 16 << 20, 64 << 20};
constexpr std::size_t kLargestPingPong = 4096;
constexpr std::size_t kWarmUp = 8 << 20;
constexpr std::size_t kMostRounds = 1000;
constexpr Nanoseconds kLimit = 60 * kSecond;

/// What the two ranks and their parent share. Words that both ranks write stand apart.
struct Board {
    alignas(128) std::atomic<std::uint64_t> ping{0};
    alignas(128) std::atomic<std::uint64_t> pong{0};
    alignas(128) std::atomic<std::uint32_t> failed{0};
    std::array<char, 256> text{};
    std::array<std::array<double, kMostRounds>, kSizes.size()> own{}, yardstick{};
};

class SharedBoard {
  public:
    SharedBoard()
        : memory_(::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                         -1, 0)) {
        if (memory_ != MAP_FAILED) new (memory_) Board;
    }
    ~SharedBoard() {
        if (memory_ != MAP_FAILED) ::munmap(memory_, sizeof(Board));
    }
    SharedBoard(const SharedBoard&) = delete;
    SharedBoard& operator=(const SharedBoard&) = delete;
    [[nodiscard]] Board* get() const {
        return memory_ == MAP_FAILED ? nullptr : static_cast<Board*>(memory_);
    }

  private:
    void* memory_;
};

/// A CPU of its own for each rank, where there are two to choose from.
void pin(int rank) {
    cpu_set_t allowed;
    if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < 2) return;
    int wanted = rank;
    for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &allowed) || wanted-- > 0) continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        (void)::sched_setaffinity(0, sizeof one, &one);
        return;
    }
}

/// Rounds first..first+count-1.
struct Rounds {
    int first = 0, count = 0;
};

/// One rank of one pair.
class Runner {
  public:
    Runner(int rank, Board& board, const Rounds& rounds, double seconds)
        : rank_(rank),
          board_(board),
          rounds_(rounds),
          seconds_(seconds),
          tx_(kSizes.back(), std::byte{1}),
          rx_(kSizes.back(), std::byte{2}) {}
    Outcome<void> run(std::uint16_t port);

  private:
    Outcome<void> row(std::size_t index, int round);
    Outcome<double> messages(std::size_t bytes, unsigned count);
    Outcome<double> counter(unsigned count);
    [[nodiscard]] double copies(std::size_t bytes, unsigned count);
    Outcome<unsigned> agree(unsigned count);

    int rank_;
    Board& board_;
    Rounds rounds_;
    double seconds_;
    std::uint64_t turn_ = 0;
    P2pRank p2p_;
    std::vector<std::byte> tx_, rx_;
};

/// ns of one message: rank 0 sends, rank 1 answers, with the same bytes up to kLargestPingPong,
/// with one byte beyond.
Outcome<double> Runner::messages(std::size_t bytes, unsigned count) {
    const bool ping_pong = bytes <= kLargestPingPong;
    const std::size_t back = ping_pong ? bytes : 1;
    const Nanoseconds start = now_ns();
    for (unsigned i = 0; i < count; ++i) {
        if (rank_ == 0)
            if (auto sent = p2p_.send(tx_.data(), bytes, 1); !sent) return failed(sent.error());
        if (auto got = p2p_.receive(rx_.data(), rank_ == 0 ? back : bytes, 1 - rank_); !got)
            return failed(got.error());
        if (rank_ == 1)
            if (auto sent = p2p_.send(tx_.data(), back, 0); !sent) return failed(sent.error());
    }
    return static_cast<double>(now_ns() - start) / count / (ping_pong ? 2 : 1);
}

/// ns of one way of a counter.
Outcome<double> Runner::counter(unsigned count) {
    std::atomic<std::uint64_t>& mine = rank_ == 0 ? board_.pong : board_.ping;
    std::atomic<std::uint64_t>& theirs = rank_ == 0 ? board_.ping : board_.pong;
    const Deadline deadline(kLimit);
    const Nanoseconds start = now_ns();
    for (unsigned i = 0; i < count; ++i) {
        ++turn_;
        if (rank_ == 0) theirs.store(turn_, std::memory_order_release);
        for (unsigned looks = 1; mine.load(std::memory_order_acquire) != turn_; ++looks) {
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
            if (looks % 65536 == 0 && (deadline.passed() || board_.failed.load() != 0))
                return failed(fmt::format("rank {}: the other rank stopped counting", rank_));
        }
        if (rank_ == 1) theirs.store(turn_, std::memory_order_release);
    }
    return static_cast<double>(now_ns() - start) / count / 2;
}

double Runner::copies(std::size_t bytes, unsigned count) {
    const Nanoseconds start = now_ns();
    for (unsigned i = 0; i < count; ++i) {
        std::memcpy(rx_.data(), tx_.data(), bytes);
        asm volatile("" ::: "memory");  // every one of them is made
    }
    return static_cast<double>(now_ns() - start) / count;
}

/// Rank 0's number of repetitions, known to both.
Outcome<unsigned> Runner::agree(unsigned count) {
    const auto done =
        rank_ == 0 ? p2p_.send(&count, sizeof count, 1) : p2p_.receive(&count, sizeof count, 0);
    if (!done) return failed(done.error());
    return count;
}

Outcome<void> Runner::row(std::size_t index, int round) {
    const std::size_t bytes = kSizes[index];
    const auto at = static_cast<std::size_t>(round);
    // The first message connects, and each page of the buffers between the ranks costs a fault when it is first touched.
    const auto pass = static_cast<unsigned>(std::clamp<std::size_t>(kWarmUp / bytes, 1, 4096));
    if (const auto warm = messages(bytes, pass); !warm) return failed(warm.error());
    const auto probe = messages(bytes, bytes >= (16u << 20) ? 1 : 8);
    if (!probe) return failed(probe.error());
    const double wanted = seconds_ * 1e9 / std::max(*probe, 20.0);
    const auto count = agree(static_cast<unsigned>(std::clamp(wanted, 3.0, 1e6)));
    if (!count) return failed(count.error());
    const bool ping_pong = bytes <= kLargestPingPong;
    for (int half = 0; half < 2; ++half) {  // the order alternates from round to round
        if ((half + round) % 2 == 0) {
            const auto own = messages(bytes, *count);
            if (!own) return failed(own.error());
            if (rank_ == 0) board_.own[index][at] = *own;
        } else if (ping_pong) {
            const auto raw = counter(*count);
            if (!raw) return failed(raw.error());
            if (rank_ == 0) board_.yardstick[index][at] = *raw;
        } else if (rank_ == 0) {
            board_.yardstick[index][at] = copies(bytes, *count);
        }
    }
    return {};
}

Outcome<void> Runner::run(std::uint16_t port) {
    pin(rank_);
    auto opened = P2pRank::open(rank_, 2, port, kLimit);
    if (!opened) return failed(opened.error());
    p2p_ = std::move(*opened);
    for (int round = rounds_.first; round < rounds_.first + rounds_.count; ++round)
        for (std::size_t index = 0; index < kSizes.size(); ++index)
            if (auto done = row(index, round); !done) return done;
    return p2p_.close();
}

int run_rank(int rank, std::uint16_t port, Board& board, const Rounds& rounds, double seconds) {
    const auto done = Runner(rank, board, rounds, seconds).run(port);
    if (done) return kOk;
    if (board.failed.exchange(1) == 0)
        std::snprintf(board.text.data(), board.text.size(), "%s", done.error().c_str());
    return kFailedCheck;
}

Outcome<void> run_pair(P2pPair pair, Board& board, const Rounds& rounds, double seconds) {
    const auto port = bootstrap::free_port();
    if (!port) return failed(describe(port.error()));
    bootstrap::SpawnRequest request;
    request.size = pair == P2pPair::processes ? 2 : 1;
    request.timeout =
        kLimit + static_cast<Nanoseconds>(rounds.count * seconds * kSizes.size() * 20 * kSecond);
    const auto outcome = bootstrap::run_ranks(request, [&](int rank) {
        if (pair == P2pPair::processes) return run_rank(rank, *port, board, rounds, seconds);
        int second = kOk;
        std::thread other([&] { second = run_rank(1, *port, board, rounds, seconds); });
        const int first = run_rank(0, *port, board, rounds, seconds);
        other.join();
        return first != kOk ? first : second;
    });
    if (!outcome) return failed(describe(outcome.error()));
    if (outcome->ok()) return {};
    return failed(board.text[0] != '\0' ? board.text.data() : outcome->summary());
}

/// The other libraries' values by size, of one round more. One that fails is left out from then on.
void add_peers(std::vector<P2pPeer>& peers, double seconds, std::vector<P2pCost>& rows) {
    std::erase_if(peers, [&](const P2pPeer& peer) {
        const auto values = run_p2p_peer(peer, kSizes, seconds);
        if (!values) complain(peer.name + ": " + values.error());
        for (std::size_t index = 0; values && index < kSizes.size(); ++index) {
            auto& all = rows[index].peers_ns;
            auto found = std::ranges::find(all, peer.name,
                                           &std::pair<std::string, std::vector<double>>::first);
            if (found == all.end()) found = all.insert(found, {peer.name, {}});
            found->second.push_back((*values)[index]);
        }
        return !values;
    });
}

/// With other libraries a run of ours is one round, so that they take turns.
Outcome<void> run_rounds(P2pPair pair, Board& board, int rounds, double seconds,
                         std::vector<P2pCost>& rows) {
    std::vector<P2pPeer> peers;
    if (pair == P2pPair::processes) peers = find_p2p_peers();
    const int in_a_row = peers.empty() ? rounds : 1;
    for (int first = 0; first < rounds; first += in_a_row) {
        if (auto done = run_pair(pair, board, {first, in_a_row}, seconds); !done) return done;
        add_peers(peers, seconds, rows);
    }
    return {};
}

}  // namespace

Outcome<std::vector<P2pCost>> measure_p2p_cost(int rounds, double seconds) {
    rounds = std::min(rounds, static_cast<int>(kMostRounds));
    std::vector<P2pCost> rows;
    for (const P2pPair pair : {P2pPair::processes, P2pPair::threads}) {
        const SharedBoard shared;
        if (!shared.get()) return failed("no memory for the results");
        std::vector<P2pCost> of_pair;
        for (const std::size_t bytes : kSizes)
            of_pair.push_back({pair, bytes, bytes <= kLargestPingPong, {}, {}, {}});
        if (auto done = run_rounds(pair, *shared.get(), rounds, seconds, of_pair); !done)
            return failed("shared memory: " + done.error());
        for (std::size_t index = 0; index < kSizes.size(); ++index) {
            P2pCost& row = of_pair[index];
            const auto& own = shared.get()->own[index];
            const auto& yardstick = shared.get()->yardstick[index];
            row.own_ns.assign(own.begin(), own.begin() + rounds);
            row.yardstick_ns.assign(yardstick.begin(), yardstick.begin() + rounds);
            rows.push_back(std::move(row));
        }
    }
    return rows;
}

}  // namespace duofi::tool
