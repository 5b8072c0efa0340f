#include "p2p/transport/thread_bootstrap.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

namespace duofi::p2p {
namespace {

/// Queues from every rank to every rank.
class Hub {
  public:
    explicit Hub(int size)
        : size_(size), queues_(static_cast<std::size_t>(size) * static_cast<std::size_t>(size)) {}

    [[nodiscard]] int size() const noexcept { return size_; }

    void put(int from, int to, Message message) {
        {
            const std::lock_guard lock(mutex_);
            queue(from, to).push_back(std::move(message));
        }
        changed_.notify_all();
    }

    Result<Message> take(int from, int to, const Deadline& deadline) {
        std::unique_lock lock(mutex_);
        std::deque<Message>& waiting = queue(from, to);
        const auto until =
            std::chrono::steady_clock::now() + std::chrono::nanoseconds(deadline.remaining());
        if (!changed_.wait_until(lock, until, [&] { return !waiting.empty(); }))
            return fail(Errc::timed_out, "receive");
        Message message = std::move(waiting.front());
        waiting.pop_front();
        return message;
    }

  private:
    std::deque<Message>& queue(int from, int to) {
        return queues_[static_cast<std::size_t>(from) * static_cast<std::size_t>(size_) +
                       static_cast<std::size_t>(to)];
    }

    const int size_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::deque<Message>> queues_;
};

class ThreadBootstrap final : public Bootstrap {
  public:
    ThreadBootstrap(std::shared_ptr<Hub> messages, std::shared_ptr<Hub> gathers, int rank)
        : messages_(std::move(messages)), gathers_(std::move(gathers)), rank_(rank) {}

    int rank() const noexcept override { return rank_; }
    int size() const noexcept override { return messages_->size(); }

    Status all_gather(std::span<const std::byte> mine, std::span<std::byte> all,
                      const char* /*name*/, const Deadline& deadline) override {
        if (all.size() != mine.size() * static_cast<std::size_t>(size()))
            return fail(Errc::invalid_argument, "all_gather");
        for (int peer = 0; peer < size(); ++peer)
            gathers_->put(rank_, peer, {MessageType::user, {mine.begin(), mine.end()}});
        for (int peer = 0; peer < size(); ++peer) {
            DUOFI_ASSIGN(const Message block, gathers_->take(peer, rank_, deadline));
            if (block.bytes.size() != mine.size()) return fail(Errc::invalid_usage, "all_gather");
            std::ranges::copy(block.bytes,
                              all.subspan(static_cast<std::size_t>(peer) * mine.size()).begin());
        }
        return {};
    }

    Status send(int peer, MessageType type, std::span<const std::byte> data, const char* /*name*/,
                const Deadline& /*deadline*/) override {
        if (!known(peer) || data.size() > kMaxMessageBytes)
            return fail(Errc::invalid_argument, "send");
        messages_->put(rank_, peer, {type, {data.begin(), data.end()}});
        return {};
    }

    Result<Message> receive(int peer, const char* /*name*/, const Deadline& deadline) override {
        if (!known(peer)) return fail(Errc::invalid_argument, "receive");
        return messages_->take(peer, rank_, deadline);
    }

  private:
    [[nodiscard]] bool known(int peer) const noexcept { return peer >= 0 && peer < size(); }

    std::shared_ptr<Hub> messages_, gathers_;
    int rank_;
};

}  // namespace

std::vector<std::unique_ptr<Bootstrap>> thread_bootstraps(int size) {
    auto messages = std::make_shared<Hub>(size);
    auto gathers = std::make_shared<Hub>(size);
    std::vector<std::unique_ptr<Bootstrap>> ends;
    for (int rank = 0; rank < size; ++rank)
        ends.push_back(std::make_unique<ThreadBootstrap>(messages, gathers, rank));
    return ends;
}

}  // namespace duofi::p2p
