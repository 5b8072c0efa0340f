// How ranks pass each other blocks before they share memory. Users may supply their own
// (p2p/p2p.h); ours go over the store of a run (store_bootstrap.hpp) or between the threads of one
// process (thread_bootstrap.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/util/clock.hpp"
#include "common/util/error.hpp"

namespace duofi::p2p {

/// Kinds of messages.
enum class MessageType : std::uint32_t {
    transport_init = 1,  ///< connect blobs (p2p contract 1.13)
    connected = 2,       ///< the sender has mapped and wired everything
    barrier = 3,
    gave_up = 4,   ///< the sender failed and will not send what the receiver waits for
    segments = 5,  ///< handles of registered memory (p2p contract 4.3)
    user = 64,     ///< first of those that the core never uses
};

/// One message as it was sent; never cut off.
struct Message {
    MessageType type = MessageType::user;
    std::vector<std::byte> bytes;
};

/// Longest message.
inline constexpr std::size_t kMaxMessageBytes = 65536;

/// One rank's end. Calls of one object come from one thread at a time. Messages between two ranks
/// arrive in the order of sending; a send of up to 8 KiB returns without the receiver's help
/// (C-17). Errors of all waits: Errc::timed_out when the deadline passed, Errc::remote when a rank
/// is gone, Errc::system when the means of exchange fails.
class Bootstrap {
  public:
    Bootstrap() = default;
    virtual ~Bootstrap() = default;
    Bootstrap(const Bootstrap&) = delete;
    Bootstrap& operator=(const Bootstrap&) = delete;

    [[nodiscard]] virtual int rank() const noexcept = 0;
    [[nodiscard]] virtual int size() const noexcept = 0;

    /// Every rank gives a block of the same length; `all` (size() * mine.size() bytes) gets all of
    /// them by rank.
    [[nodiscard]] virtual Status all_gather(std::span<const std::byte> mine,
                                            std::span<std::byte> all, const char* name,
                                            const Deadline& deadline) = 0;
    /// `name` is for lines about failures ("p2pconnect").
    [[nodiscard]] virtual Status send(int peer, MessageType type, std::span<const std::byte> data,
                                      const char* name, const Deadline& deadline) = 0;
    /// The next message from that peer.
    [[nodiscard]] virtual Result<Message> receive(int peer, const char* name,
                                                  const Deadline& deadline) = 0;

    /// True: a receive that timed out lost nothing and may be repeated, so waits are cut into short
    /// ones between which an abort is noticed. False: one long wait, which notices lost ranks
    /// itself.
    [[nodiscard]] virtual bool can_repeat() const noexcept { return true; }
    /// Where waits cannot be cut: they end soon after `word` has become something other than 0,
    /// too. NULL: no longer. Borrows it.
    virtual void end_waits_on(const std::uint32_t* /*word*/) noexcept {}
    /// The rank whose loss made a call fail with Errc::remote, -1 if unknown.
    [[nodiscard]] virtual int lost_rank() const noexcept { return -1; }
};

}  // namespace duofi::p2p
