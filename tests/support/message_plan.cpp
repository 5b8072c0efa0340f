#include "tests/support/message_plan.hpp"

#include <algorithm>
#include <bit>
#include <deque>
#include <map>
#include <memory>
#include <random>

#include "tests/support/memory_buffer.hpp"

namespace duofi::test {
namespace {

constexpr int kUntouched = 0x3C3C3C3C;
constexpr int kOffersBeforeReceiver = 200;  // isend calls before any receive exists

struct Slot {
    Slot(const Comm& comm, std::size_t bytes, std::size_t offset)
        : buffer(bytes, offset), mr(comm, buffer.data(), std::max<std::size_t>(bytes, 1)) {}
    MemoryBuffer buffer;
    Registration mr;
};
using SlotPtr = std::unique_ptr<Slot>;

// Buffers of one direction, made when first needed, used again. Those of small messages are small: most of the time of the
// bodies went into clearing megabytes.
class SlotPool {
  public:
    explicit SlotPool(const Comm& comm) : comm_(comm) {}
    SlotPtr take(std::size_t bytes) {
        const std::size_t room = std::bit_ceil(std::max(bytes, kSmallest));
        std::deque<SlotPtr>& free = free_[room];
        if (free.empty()) return std::make_unique<Slot>(comm_, room, made_++ % 8);
        SlotPtr slot = std::move(free.front());
        free.pop_front();
        return slot;
    }
    void give(SlotPtr slot) { free_[slot->buffer.size()].push_back(std::move(slot)); }

  private:
    static constexpr std::size_t kSmallest = 4096;
    const Comm& comm_;
    std::size_t made_ = 0;
    std::map<std::size_t, std::deque<SlotPtr>> free_;
};

struct Pending {
    void* request = nullptr;
    std::size_t first = 0;  // index of the send, or of the first part
    std::vector<SlotPtr> slots;
};

class PlanRun {
  public:
    PlanRun(Rank& rank, const Comm& send, const Comm& recv, const Plan& plan, int from)
        : rank_(rank),
          send_(send),
          recv_(recv),
          plan_(plan),
          from_(from),
          match_(match_plan(plan)),
          send_slots_(send),
          recv_slots_(recv),
          random_(
              static_cast<std::uint32_t>(plan.seed * 31 + static_cast<std::uint64_t>(rank.index))) {
        for (const RecvSpec& spec : plan_.recvs)
            parts_.insert(parts_.end(), spec.begin(), spec.end());
        if (!plan_.sending) next_send_ = sends_done_ = plan_.sends.size();
        if (!plan_.receiving) next_recv_ = recvs_done_ = plan_.recvs.size();
        part_of_send_.resize(plan_.sends.size());
        for (std::size_t i = 0; i < match_.size(); ++i) part_of_send_[match_[i]] = i;
    }

    void run() {
        if (plan_.lead == Lead::sender_first) offer_sends();
        if (plan_.lead == Lead::receiver_first) fill_receives();
        Deadline idle(kStepPatience);
        while (sends_done_ < plan_.sends.size() || recvs_done_ < plan_.recvs.size()) {
            bool moved = coin() && offer_recv();
            moved = (coin() && offer_send()) || moved;
            moved = test_some() || moved;
            if (moved) {
                moved_on();
                idle = Deadline(kStepPatience);
                continue;
            }
            require(
                !idle.passed(),
                "no progress: {} of {} sends done, {} posted; {} of {} receives done, {} posted",
                sends_done_, plan_.sends.size(), next_send_, recvs_done_, plan_.recvs.size(),
                next_recv_);
            relax();
        }
    }

  private:
    bool coin() { return plan_.lead != Lead::free || (random_() & 1U) != 0; }

    std::uint64_t seed(int sender, std::size_t send) const {
        return plan_.seed * 1'000'003 + static_cast<std::uint64_t>(sender) * 7'919'000 + send;
    }

    Part part_for(Slot& slot, int bytes, int tag) const {
        if (bytes == 0 && plan_.null_when_empty) return {nullptr, 0, tag, nullptr};
        return {slot.buffer.data(), bytes, tag, slot.mr.handle()};
    }

    bool offer_send() {
        if (next_send_ == plan_.sends.size() ||
            static_cast<int>(sends_.size()) >= plan_.send_window) {
            return false;
        }
        if (!waiting_send_) {
            waiting_send_ = send_slots_.take(static_cast<std::size_t>(plan_.sends[next_send_].bytes));
            fill_pattern(waiting_send_->buffer.data(),
                         static_cast<std::size_t>(plan_.sends[next_send_].bytes),
                         seed(rank_.index, next_send_));
        }
        const SendSpec& spec = plan_.sends[next_send_];
        void* request = try_send(send_, part_for(*waiting_send_, spec.bytes, spec.tag));
        if (request == nullptr) return false;
        Pending pending{request, next_send_++, {}};
        pending.slots.push_back(std::move(waiting_send_));
        sends_.push_back(std::move(pending));
        return true;
    }

    bool offer_recv() {
        if (next_recv_ == plan_.recvs.size() ||
            static_cast<int>(recvs_.size()) >= plan_.recv_window) {
            return false;
        }
        const RecvSpec& spec = plan_.recvs[next_recv_];
        Pending pending{nullptr, next_part_, {}};
        std::vector<Part> parts;
        for (const PartSpec& part : spec) {
            SlotPtr slot = recv_slots_.take(static_cast<std::size_t>(part.bytes));
            slot->buffer.poison(static_cast<std::size_t>(part.bytes));
            parts.push_back(part_for(*slot, part.bytes, part.tag));
            pending.slots.push_back(std::move(slot));
        }
        pending.request = try_recv(recv_, parts);
        if (pending.request == nullptr) {
            for (SlotPtr& slot : pending.slots) recv_slots_.give(std::move(slot));
            return false;
        }
        next_part_ += spec.size();
        ++next_recv_;
        recvs_.push_back(std::move(pending));
        return true;
    }

    void offer_sends() {
        for (int i = 0; i < kOffersBeforeReceiver; ++i) {
            offer_send();
            test_one(sends_, true);
            relax();
        }
        rank_.barrier();
    }

    void fill_receives() {
        const Deadline deadline(kStepPatience);
        while (next_recv_ < plan_.recvs.size() &&
               static_cast<int>(recvs_.size()) < plan_.recv_window) {
            offer_recv();
            require(!deadline.passed(), "a window of receives could not be posted");
        }
        rank_.barrier();
    }

    bool test_some() {
        bool moved = test_one(recvs_, false);
        return test_one(sends_, true) || moved;
    }

    // The oldest, the newest or any request: callers test in every order.
    bool test_one(std::deque<Pending>& list, bool is_send) {
        if (list.empty()) return false;
        const std::size_t at = (random_() & 3U) != 0 ? 0 : random_() % list.size();
        std::array<int, NCCL_NET_MAX_RECVS + 8> sizes;
        sizes.fill(kUntouched);
        const bool ask = !plan_.sometimes_no_sizes || (random_() & 7U) != 0;
        const char* what = is_send ? "test of a send" : "test of a receive";
        if (!test_once(send_.net(), list[at].request, ask ? sizes.data() : nullptr, what)) return false;
        Pending pending = std::move(list[at]);
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
        if (is_send) {
            finish_send(pending, sizes, ask);
        } else {
            finish_recv(pending, sizes, ask);
        }
        return true;
    }

    template <typename Sizes>
    void check_untouched(const Sizes& sizes, std::size_t from) {
        for (std::size_t i = from; i < sizes.size(); ++i) {
            require(sizes[i] == kUntouched, "test wrote size {} of a request with {} parts", i,
                    from);
        }
    }

    template <typename Sizes>
    void finish_send(Pending& pending, const Sizes& sizes, bool asked) {
        const int bytes = plan_.sends[pending.first].bytes;
        const int fitting = std::min(bytes, parts_[part_of_send_[pending.first]].bytes);
        if (asked) {
            require(sizes[0] == bytes || sizes[0] == fitting, "send {} of {} bytes reported {}",
                    pending.first, bytes, sizes[0]);
            check_untouched(sizes, 1);
        }
        send_slots_.give(std::move(pending.slots[0]));
        ++sends_done_;
    }

    template <typename Sizes>
    void finish_recv(Pending& pending, const Sizes& sizes, bool asked) {
        if (asked) check_untouched(sizes, pending.slots.size());
        for (std::size_t i = 0; i < pending.slots.size(); ++i) {
            const std::size_t part = pending.first + i;
            const std::size_t send = match_[part];
            const int posted = parts_[part].bytes;
            const int size = std::min(plan_.sends[send].bytes, posted);
            require(!asked || sizes[i] == size,
                    "part {} (send {} of {} bytes into {}) reported {}, not {}", part, send,
                    plan_.sends[send].bytes, posted, sizes[i], size);
            const MemoryBuffer& buffer = pending.slots[i]->buffer;
            const auto bad =
                first_mismatch(buffer.data(), static_cast<std::size_t>(size), seed(from_, send));
            require(!bad, "part {} (send {}, {} bytes, tag {}) differs at byte {}", part, send,
                    size, parts_[part].tag, bad.value_or(0));
            require(buffer.guards_intact(static_cast<std::size_t>(posted)),
                    "part {} wrote outside {} bytes", part, posted);
            recv_slots_.give(std::move(pending.slots[i]));
        }
        ++recvs_done_;
    }

    Rank& rank_;
    const Comm& send_;
    const Comm& recv_;
    const Plan& plan_;
    int from_;
    std::vector<std::size_t> match_;
    std::vector<PartSpec> parts_;
    std::vector<std::size_t> part_of_send_;
    SlotPool send_slots_;
    SlotPool recv_slots_;
    SlotPtr waiting_send_;
    std::deque<Pending> sends_;
    std::deque<Pending> recvs_;
    std::size_t next_send_ = 0, next_recv_ = 0, next_part_ = 0, sends_done_ = 0, recvs_done_ = 0;
    std::minstd_rand random_;
};

}  // namespace

std::vector<std::size_t> match_plan(const Plan& plan) {
    std::map<int, std::deque<std::size_t>> by_tag;
    for (std::size_t i = 0; i < plan.sends.size(); ++i) by_tag[plan.sends[i].tag].push_back(i);
    std::vector<std::size_t> match;
    for (const RecvSpec& recv : plan.recvs) {
        for (const PartSpec& part : recv) {
            auto& queue = by_tag[part.tag];
            require(!queue.empty(), "plan: no send for a part with tag {}", part.tag);
            match.push_back(queue.front());
            queue.pop_front();
        }
    }
    require(match.size() == plan.sends.size(), "plan: {} sends, {} parts", plan.sends.size(),
            match.size());
    return match;
}

void run_plan(Rank& rank, const Comm& send, const Comm& recv, const Plan& plan, int from) {
    PlanRun(rank, send, recv, plan, from).run();
}

}  // namespace duofi::test
