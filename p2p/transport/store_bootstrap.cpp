#include "p2p/transport/store_bootstrap.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/bootstrap/tcp_store.hpp"

namespace duofi::p2p {
namespace {

class StoreBootstrap final : public Bootstrap {
  public:
    StoreBootstrap(bootstrap::Store& store, std::string prefix)
        : store_(store), prefix_(std::move(prefix)) {
        sent_.resize(static_cast<std::size_t>(store.size()));
        received_.resize(static_cast<std::size_t>(store.size()));
    }

    int rank() const noexcept override { return store_.rank(); }
    int size() const noexcept override { return store_.size(); }
    // A get that gives up writes a warning, and the store tells of lost ranks by itself.
    bool can_repeat() const noexcept override { return false; }
    void end_waits_on(const std::uint32_t* word) noexcept override {
        if (auto* tcp = dynamic_cast<bootstrap::TcpStore*>(&store_)) tcp->end_waits_on(word);
    }
    int lost_rank() const noexcept override {
        const auto* tcp = dynamic_cast<const bootstrap::TcpStore*>(&store_);
        return tcp == nullptr ? -1 : tcp->dead_rank();
    }

    Status all_gather(std::span<const std::byte> mine, std::span<std::byte> all, const char* name,
                      const Deadline& deadline) override {
        if (all.size() != mine.size() * static_cast<std::size_t>(size()))
            return fail(Errc::invalid_argument, "all_gather");
        DUOFI_ASSIGN(const std::vector<bootstrap::Bytes> blocks,
                     store_.gather(fmt::format("{}/{}", prefix_, name), mine, deadline));
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            if (blocks[i].size() != mine.size()) return fail(Errc::invalid_usage, "all_gather");
            std::ranges::copy(blocks[i], all.subspan(i * mine.size()).begin());
        }
        return {};
    }

    Status send(int peer, MessageType type, std::span<const std::byte> data, const char* /*name*/,
                const Deadline& deadline) override {
        if (!known(peer) || data.size() > kMaxMessageBytes)
            return fail(Errc::invalid_argument, "send");
        bootstrap::Bytes value(sizeof(type) + data.size());
        std::memcpy(value.data(), &type, sizeof(type));
        if (!data.empty()) std::memcpy(value.data() + sizeof(type), data.data(), data.size());
        std::uint64_t& number = sent_[static_cast<std::size_t>(peer)];
        DUOFI_TRY(store_.set(key(rank(), peer, number), value, deadline));
        ++number;
        return {};
    }

    Result<Message> receive(int peer, const char* /*name*/, const Deadline& deadline) override {
        if (!known(peer)) return fail(Errc::invalid_argument, "receive");
        std::uint64_t& number = received_[static_cast<std::size_t>(peer)];
        DUOFI_ASSIGN(const bootstrap::Bytes value, store_.get(key(peer, rank(), number), deadline));
        ++number;
        Message message;
        if (value.size() < sizeof(message.type)) return fail(Errc::remote, "receive");
        std::memcpy(&message.type, value.data(), sizeof(message.type));
        message.bytes.assign(value.begin() + sizeof(message.type), value.end());
        return message;
    }

  private:
    [[nodiscard]] bool known(int peer) const noexcept { return peer >= 0 && peer < size(); }
    [[nodiscard]] std::string key(int from, int to, std::uint64_t number) const {
        return fmt::format("{}/{}>{}/{}", prefix_, from, to, number);
    }

    bootstrap::Store& store_;
    std::string prefix_;
    std::vector<std::uint64_t> sent_, received_;  ///< per peer, messages so far
};

}  // namespace

std::unique_ptr<Bootstrap> store_bootstrap(bootstrap::Store& store, std::string prefix) {
    return std::make_unique<StoreBootstrap>(store, std::move(prefix));
}

}  // namespace duofi::p2p
