// A store over TCP: rank 0 serves in a thread of its own, every rank (also 0) is a client.
// The server drops what does not speak its protocol and never waits for a silent client (report
// A11).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/bootstrap/launch_env.hpp"
#include "common/bootstrap/store.hpp"

namespace duofi::bootstrap {

/// The serving side. The destructor stops and joins the thread and closes every socket.
class TcpStoreServer {
  public:
    /// Binds `host` (numeric or a name, IPv4 or IPv6; empty = every address) and `port` (0 =
    /// ephemeral) and starts serving a run of `size` ranks. A client that has not greeted after
    /// `greeting_time` is dropped. Errors: Errc::system, errno kept, after one WARN line.
    [[nodiscard]] static Result<std::unique_ptr<TcpStoreServer>> start(
        const std::string& host, std::uint16_t port, int size,
        Nanoseconds greeting_time = 10 * kSecond);
    ~TcpStoreServer();
    TcpStoreServer(const TcpStoreServer&) = delete;
    TcpStoreServer& operator=(const TcpStoreServer&) = delete;

    [[nodiscard]] std::uint16_t port() const noexcept;
    /// Clients dropped so far because they were silent, malformed or over a limit.
    [[nodiscard]] int dropped() const noexcept;

  private:
    struct State;
    explicit TcpStoreServer(std::unique_ptr<State> state) noexcept;
    std::unique_ptr<State> state_;
};

/// The client side. Closing (the destructor) tells the server that this rank ended as planned; a
/// connection that breaks without that makes every waiting rank fail with Errc::remote.
class TcpStore final : public Store {
  public:
    /// Connects, repeating until the server is up or the deadline passes.
    [[nodiscard]] static Result<std::unique_ptr<TcpStore>> connect(const std::string& host,
                                                                   std::uint16_t port, int rank,
                                                                   int size,
                                                                   const Deadline& deadline);
    ~TcpStore() override;

    [[nodiscard]] int rank() const noexcept override { return rank_; }
    [[nodiscard]] int size() const noexcept override { return size_; }
    [[nodiscard]] Status set(std::string_view key, std::span<const std::byte> value,
                             const Deadline& deadline) override;
    [[nodiscard]] Result<Bytes> get(std::string_view key, const Deadline& deadline) override;
    [[nodiscard]] Status barrier(std::string_view name, const Deadline& deadline) override;
    [[nodiscard]] Result<std::vector<Bytes>> gather(std::string_view name,
                                                    std::span<const std::byte> value,
                                                    const Deadline& deadline) override;
    /// From now on waits also end, with Errc::remote and without a line, soon after any thread has
    /// stored something other than 0 in `word`. NULL: no longer. Borrows it.
    void end_waits_on(const std::uint32_t* word) noexcept;
    /// Rank whose death made the last call fail with Errc::remote, -1 if none did.
    [[nodiscard]] int dead_rank() const noexcept { return dead_rank_; }

  private:
    struct Link;
    TcpStore(std::unique_ptr<Link> link, int rank, int size) noexcept;
    /// One request and its answer; `op_number` is a wire::Op.
    [[nodiscard]] Result<Bytes> call(int op_number, std::string_view key,
                                     std::span<const std::byte> value, const Deadline& deadline);
    [[nodiscard]] tl::unexpected<Error> failed(int op_number, std::string_view key,
                                               const Error& error);
    std::unique_ptr<Link> link_;
    int rank_, size_;
    int dead_rank_ = -1;
};

/// Server and client of one rank in one object: rank 0 serves at the root address and connects to
/// itself.
struct Session {
    std::unique_ptr<TcpStoreServer> server;  ///< rank 0 only
    std::unique_ptr<Store> store;
    Session() = default;
    Session(Session&&) = default;
    Session& operator=(Session&&) = default;
    ~Session() { store.reset(); }  // says farewell before the server goes
};

/// Opens the store described by `facts`. Needs a root port unless size is 1.
/// Errors: Errc::invalid_argument without a port, else those of start and connect.
[[nodiscard]] Result<Session> open_session(const LaunchFacts& facts, const Deadline& deadline);

}  // namespace duofi::bootstrap
