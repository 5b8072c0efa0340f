// Operations of all kinds, types and sizes, chosen by a seed that all ranks share, and their
// results.
#include <algorithm>
#include <cstring>
#include <random>

#include "tests/integration/p2p_ranks.hpp"

namespace duofi::test {
namespace {

constexpr int kKinds = 6;
constexpr std::size_t kCounts[] = {0, 1, 7, 8, 9, 120, 1023, 4095, 4096, 4097, 20'000, 70'001};
constexpr duofiP2pDataType kTypes[] = {duofiP2pUint8, duofiP2pInt32, duofiP2pInt64, duofiP2pFloat32,
                                       duofiP2pFloat64};
constexpr duofiP2pRedOp kOps[] = {duofiP2pSum, duofiP2pMax, duofiP2pMin};

/// At most 12, so that the sum of 16 ranks fits the smallest type and is exact in all.
int value_of(int rank, std::size_t i, std::uint64_t salt) {
    return static_cast<int>((static_cast<std::size_t>(rank) * 7 + i * 5 + i / 251 + salt) % 13);
}

template <typename T>
class TypedRun {
  public:
    TypedRun(P2pMember& member, duofiP2pDataType type, std::mt19937_64& random)
        : member_(member), type_(type), size_(static_cast<std::size_t>(member.size())) {
        kind_ = static_cast<int>(random() % kKinds);
        op_ = kOps[random() % std::size(kOps)];
        count_ = kCounts[random() % std::size(kCounts)];
        shift_ = random() % 16;
        root_ = static_cast<int>(random() % size_);
        salt_ = random() % 13;
        in_place_ = random() % 2 != 0;
    }
    void run() {
        const std::size_t all = count_ * size_;
        in_.assign(all * sizeof(T) + 16, 0);
        out_.assign(all * sizeof(T) + 16, 0);
        switch (kind_) {
            case 0:
                return reduce();
            case 1:
                return gather();
            case 2:
                return scatter();
            case 3:
                return broadcast();
            case 4:
                return all_to_all();
            default:
                return around();
        }
    }

  private:
    [[nodiscard]] int me() const { return member_.rank(); }
    std::uint8_t* input() { return in_.data() + shift_; }
    std::uint8_t* output() { return out_.data() + (shift_ + 5) % 16; }
    static void put(std::uint8_t* at, std::size_t i, int value) {
        const T typed = static_cast<T>(value);
        std::memcpy(at + i * sizeof(T), &typed, sizeof typed);
    }
    void fill(std::uint8_t* at, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) put(at, i, value_of(me(), i, salt_));
    }
    [[nodiscard]] int reduced(std::size_t i) const {
        int result = value_of(0, i, salt_);
        for (int rank = 1; rank < member_.size(); ++rank) {
            const int other = value_of(rank, i, salt_);
            result = op_ == duofiP2pSum   ? result + other
                     : op_ == duofiP2pMax ? std::max(result, other)
                                          : std::min(result, other);
        }
        return result;
    }
    template <typename Expected>
    void check(ncclResult_t result, const char* call, const std::uint8_t* at, std::size_t count,
               Expected expected) {
        member_.require_success(result, call);
        for (std::size_t i = 0; i < count; ++i) {
            T value;
            std::memcpy(&value, at + i * sizeof(T), sizeof value);
            require(value == static_cast<T>(expected(i)),
                    "rank {}: {} of {} elements of type {}, op {}, shift {}: element {} is {}, "
                    "expected {}",
                    me(), call, count_, static_cast<int>(type_), static_cast<int>(op_), shift_, i,
                    static_cast<double>(value), expected(i));
        }
    }

    void reduce() {
        std::uint8_t* from = in_place_ ? output() : input();
        fill(from, count_);
        check(duofiP2pAllReduce(from, output(), count_, type_, op_, member_.comm()), "all-reduce",
              output(), count_, [&](std::size_t i) { return reduced(i); });
    }
    void gather() {
        std::uint8_t* own = output() + static_cast<std::size_t>(me()) * count_ * sizeof(T);
        std::uint8_t* from = in_place_ ? own : input();
        fill(from, count_);
        check(duofiP2pAllGather(from, output(), count_, type_, member_.comm()), "all-gather",
              output(), count_ * size_, [&](std::size_t i) {
                  return value_of(static_cast<int>(i / count_), i % count_, salt_);
              });
    }
    void scatter() {
        const std::size_t first = static_cast<std::size_t>(me()) * count_;
        fill(input(), count_ * size_);
        std::uint8_t* to = in_place_ ? input() + first * sizeof(T) : output();
        check(duofiP2pReduceScatter(input(), to, count_, type_, op_, member_.comm()),
              "reduce-scatter", to, count_, [&](std::size_t i) { return reduced(first + i); });
    }
    void broadcast() {
        std::uint8_t* from = in_place_ ? output() : input();
        fill(from, count_);
        check(duofiP2pBroadcast(from, output(), count_, type_, root_, member_.comm()), "broadcast",
              output(), count_, [&](std::size_t i) { return value_of(root_, i, salt_); });
    }
    void all_to_all() {
        fill(input(), count_ * size_);
        check(duofiP2pAllToAll(input(), output(), count_, type_, member_.comm()), "all-to-all",
              output(), count_ * size_, [&](std::size_t i) {
                  const std::size_t from = i / count_;
                  return value_of(static_cast<int>(from),
                                  static_cast<std::size_t>(me()) * count_ + i % count_, salt_);
              });
    }
    void around() {
        const int size = member_.size(), previous = (me() + size - 1) % size;
        fill(input(), count_);
        check(duofiP2pSendRecv(input(), count_, (me() + 1) % size, output(), count_, previous,
                               type_, member_.comm()),
              "sendrecv", output(), count_,
              [&](std::size_t i) { return value_of(previous, i, salt_); });
    }

    P2pMember& member_;
    duofiP2pDataType type_;
    std::size_t size_;
    int kind_, root_;
    duofiP2pRedOp op_;
    std::size_t count_, shift_;
    std::uint64_t salt_;
    bool in_place_;
    std::vector<std::uint8_t> in_, out_;
};

}  // namespace

void run_seeded_operations(P2pMember& member, std::uint64_t seed, int operations) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < operations; ++i) {
        const duofiP2pDataType type = kTypes[random() % std::size(kTypes)];
        switch (type) {
            case duofiP2pUint8:
                TypedRun<std::uint8_t>(member, type, random).run();
                break;
            case duofiP2pInt32:
                TypedRun<std::int32_t>(member, type, random).run();
                break;
            case duofiP2pInt64:
                TypedRun<std::int64_t>(member, type, random).run();
                break;
            case duofiP2pFloat32:
                TypedRun<float>(member, type, random).run();
                break;
            case duofiP2pFloat64:
                TypedRun<double>(member, type, random).run();
                break;
        }
    }
}

}  // namespace duofi::test
