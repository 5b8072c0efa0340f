// A thread that listens on a unix socket and talks with its clients one packet at a time, asleep in between: what the
// fd service and the relay have in common (p2p contract 2.5, 2.8). Made, started and stopped by one thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include "common/local/background.hpp"
#include "common/util/clock.hpp"
#include "common/util/error.hpp"
#include "common/util/unique_fd.hpp"

namespace duofi::local {

class PacketServer {
  public:
    /// How long a client may take for its request.
    static constexpr Nanoseconds kPatience = 2 * kSecond;

    struct Client {
        UniqueFd socket;
        bool kept = false;       ///< may be silent from now on
        void* memory = nullptr;  ///< the handler's
        Deadline silent_until{kPatience};
    };

    /// Called on the server's thread, `left` at last on the one that stops it.
    class Handler {
      public:
        /// The client's socket is readable or hung up. False ends the conversation.
        [[nodiscard]] virtual bool answer(Client& client) = 0;
        /// The connection is closed.
        virtual void left(Client&) noexcept {}

      protected:
        ~Handler() = default;
    };

    /// Clients beyond `most_clients` are turned away. The handler must outlive the server or stop it.
    PacketServer(Handler& handler, std::size_t most_clients) noexcept : handler_(handler), most_(most_clients) {}
    ~PacketServer() { stop(); }
    PacketServer(const PacketServer&) = delete;
    PacketServer& operator=(const PacketServer&) = delete;

    /// Once. Errors: those of listen_unix; system (no thread).
    [[nodiscard]] Status start(const char* thread_name, const std::string& address);
    /// Nobody new from now on; the socket's path goes.
    void close_door() noexcept;
    /// Ends all conversations and the thread. In a forked child it only closes descriptors. Again has no effect.
    void stop() noexcept;

    [[nodiscard]] bool in_child() const noexcept { return thread_.in_child(); }
    [[nodiscard]] const std::string& address() const noexcept { return address_; }

  private:
    void run();
    void admit();
    void end(Client& client) noexcept;
    [[nodiscard]] int patience_ms() const noexcept;

    Handler& handler_;
    const std::size_t most_;
    std::string address_;
    UniqueFd listener_;
    std::vector<Client> clients_;
    std::atomic<bool> open_{false};
    BackgroundThread thread_;
};

}  // namespace duofi::local
