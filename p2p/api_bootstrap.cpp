// The ready-made means of exchange of p2p/p2p.h.
#include <memory>
#include <string>
#include <utility>

#include "common/abi/boundary.hpp"
#include "common/bootstrap/tcp_store.hpp"
#include "common/util/fork_mark.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/p2p.hpp"
#include "p2p/api_comm.hpp"
#include "p2p/transport/store_bootstrap.hpp"
#include "p2p/transport/thread_bootstrap.hpp"

namespace duofi::p2p {
namespace {

constexpr int kMostThreads = 1024;

/// The exchange over a store that it owns. In a forked child, whose parent owns the connection and
/// the serving thread, it refuses all calls and ends without a word.
class TcpBootstrap final : public Bootstrap {
  public:
    explicit TcpBootstrap(bootstrap::Session session)
        : session_(std::move(session)), inner_(store_bootstrap(*session_.store, "p2p")) {}
    /// The serving rank leaves last: others may not have fetched their last messages yet.
    ~TcpBootstrap() override {
        if (fork_mark_.in_child()) {
            static_cast<void>(session_.store.release());
            static_cast<void>(session_.server.release());
            return;
        }
        const Deadline deadline(kFarewell);
        bool all_here = session_.store->set(leave_key(rank()), {}, deadline).has_value();
        for (int peer = 1; session_.server && all_here && peer < size(); ++peer)
            all_here = session_.store->get(leave_key(peer), deadline).has_value();
    }

    int rank() const noexcept override { return inner_->rank(); }
    int size() const noexcept override { return inner_->size(); }
    bool can_repeat() const noexcept override { return inner_->can_repeat(); }
    void end_waits_on(const std::uint32_t* word) noexcept override { inner_->end_waits_on(word); }
    int lost_rank() const noexcept override { return inner_->lost_rank(); }
    Status all_gather(std::span<const std::byte> mine, std::span<std::byte> all, const char* name,
                      const Deadline& deadline) override {
        DUOFI_TRY(check_usable(name));
        return inner_->all_gather(mine, all, name, deadline);
    }
    Status send(int peer, MessageType type, std::span<const std::byte> data, const char* name,
                const Deadline& deadline) override {
        DUOFI_TRY(check_usable(name));
        return inner_->send(peer, type, data, name, deadline);
    }
    Result<Message> receive(int peer, const char* name, const Deadline& deadline) override {
        DUOFI_TRY(check_usable(name));
        return inner_->receive(peer, name, deadline);
    }

  private:
    static constexpr Nanoseconds kFarewell = 10 * kSecond;
    [[nodiscard]] Status check_usable(const char* name) const {
        if (!fork_mark_.in_child()) return {};
        log::warn(NCCL_INIT | NCCL_P2P, messages::kP2pForkedChild, name);
        return fail(Errc::invalid_usage, "exchange");
    }
    static std::string leave_key(int rank) { return "p2pleave/" + std::to_string(rank); }

    ForkMark fork_mark_;
    bootstrap::Session session_;
    std::unique_ptr<Bootstrap> inner_;
};

Status tcp(const char* host, int port, int rank, int size, int timeout_ms,
           duofiP2pBootstrap* bootstrap) {
    adopt_logger(nullptr);
    if (host == nullptr || bootstrap == nullptr)
        return bad_argument("duofiP2pBootstrapTcp", "an argument is NULL");
    if (port < 1 || port > 65535 || size < 1 || rank < 0 || rank >= size || timeout_ms < 0)
        return bad_argument("duofiP2pBootstrapTcp", "port, rank, size or time out of range");
    bootstrap::LaunchFacts facts;
    facts.rank = rank;
    facts.size = size;
    facts.root_host = host;
    facts.root_port = static_cast<std::uint16_t>(port);
    DUOFI_ASSIGN(bootstrap::Session session,
                 bootstrap::open_session(facts, Deadline(timeout_ms * kMillisecond)));
    *bootstrap = as_functions(*std::make_unique<TcpBootstrap>(std::move(session)).release());
    return {};
}

Status threads(int size, duofiP2pBootstrap* bootstraps) {
    adopt_logger(nullptr);
    if (bootstraps == nullptr || size < 1 || size > kMostThreads)
        return bad_argument("duofiP2pBootstrapThreads", "size out of range, or an argument is NULL");
    int rank = 0;
    for (std::unique_ptr<Bootstrap>& end : thread_bootstraps(size))
        bootstraps[rank++] = as_functions(*end.release());
    return {};
}

Status free_ready_made(duofiP2pBootstrap* bootstrap) {
    if (bootstrap == nullptr) return {};
    Bootstrap* ours = ready_made(*bootstrap);
    if (ours == nullptr) return bad_argument("duofiP2pBootstrapFree", "not a ready-made bootstrap");
    delete ours;
    *bootstrap = {};
    return {};
}

}  // namespace
}  // namespace duofi::p2p

extern "C" {

using duofi::abi::entry;

ncclResult_t duofiP2pBootstrapTcp(const char* host, int port, int rank, int size, int timeoutMs,
                                  duofiP2pBootstrap* bootstrap) {
    constexpr decltype(&duofiP2pBootstrapTcp) call = entry<&duofi::p2p::tcp>;
    return call(host, port, rank, size, timeoutMs, bootstrap);
}

ncclResult_t duofiP2pBootstrapThreads(int size, duofiP2pBootstrap* bootstraps) {
    constexpr decltype(&duofiP2pBootstrapThreads) call = entry<&duofi::p2p::threads>;
    return call(size, bootstraps);
}

ncclResult_t duofiP2pBootstrapFree(duofiP2pBootstrap* bootstrap) {
    constexpr decltype(&duofiP2pBootstrapFree) call = entry<&duofi::p2p::free_ready_made>;
    return call(bootstrap);
}
}
