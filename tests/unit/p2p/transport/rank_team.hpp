// Ranks that are threads of this test, each with a communicator. Main thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "p2p/transport/communicator.hpp"

namespace duofi::p2p::test {

/// Options of one rank: the runtime's name, 20 s of patience.
[[nodiscard]] CommunicatorOptions options_for(const std::string& runtime);

/// How the ranks of a team reach each other.
enum class Wiring { direct, ipc, relay };
[[nodiscard]] const char* name_of(Wiring wiring);

/// Changes the options so that rank 0 and rank 1 are wired like that; relays go over rank 2, and
/// ipc means that all ranks look like processes of their own.
void wire_as(Wiring wiring, bool read, int rank, CommunicatorOptions& options);

/// Runs `body(rank, bootstrap)` on a thread per rank; returns when all have ended.
void run_threads(int ranks, const std::function<void(int rank, Bootstrap& bootstrap)>& body);

/// One end of an exchange that keeps what was sent, and may change it first.
class RecordingBootstrap final : public Bootstrap {
  public:
    struct Sent {
        int peer = -1;
        Message message;
    };
    /// Sees every message before it leaves; false: it gets lost.
    using Tamper = std::function<bool(int from, int to, Message& message)>;

    RecordingBootstrap(std::unique_ptr<Bootstrap> inner, Tamper tamper)
        : inner_(std::move(inner)), tamper_(std::move(tamper)) {}
    [[nodiscard]] const std::vector<Sent>& sent() const { return sent_; }

    int rank() const noexcept override { return inner_->rank(); }
    int size() const noexcept override { return inner_->size(); }
    Status all_gather(std::span<const std::byte> mine, std::span<std::byte> all, const char* name,
                      const Deadline& deadline) override {
        return inner_->all_gather(mine, all, name, deadline);
    }
    Status send(int peer, MessageType type, std::span<const std::byte> data, const char* name,
                const Deadline& deadline) override;
    Result<Message> receive(int peer, const char* name, const Deadline& deadline) override {
        return inner_->receive(peer, name, deadline);
    }

  private:
    std::unique_ptr<Bootstrap> inner_;
    Tamper tamper_;
    std::vector<Sent> sent_;
};

/// Communicators of all ranks, made at the same time. Test failures where one could not be made;
/// then it is NULL.
class Team {
  public:
    using Change = std::function<void(int rank, CommunicatorOptions& options)>;
    Team(int ranks, const std::string& runtime, const Change& change = {},
         const RecordingBootstrap::Tamper& tamper = {});
    ~Team();
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    [[nodiscard]] bool whole() const;
    [[nodiscard]] Communicator& rank(int index) { return *ranks_[static_cast<std::size_t>(index)]; }
    [[nodiscard]] ncclComm& comm(int index) { return rank(index).comm(); }
    [[nodiscard]] RecordingBootstrap& bootstrap(int index) {
        return *ends_[static_cast<std::size_t>(index)];
    }
    [[nodiscard]] int size() const { return static_cast<int>(ranks_.size()); }
    /// `body` on a thread per rank.
    void run(const std::function<void(int rank, Communicator& communicator)>& body);
    /// Every rank: connect_all, which must work.
    void connect_all();
    /// tear_down of all, at the same time.
    void tear_down();

  private:
    std::vector<std::unique_ptr<RecordingBootstrap>> ends_;
    std::vector<std::unique_ptr<Communicator>> ranks_;
};

}  // namespace duofi::p2p::test
