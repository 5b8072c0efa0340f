// Sequenced unix sockets between processes of one user: addresses without a file or with one, one packet at a time,
// with at most one descriptor beside it. All sockets are close-on-exec and non-blocking. Any thread; one socket from
// one thread at a time.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "common/util/clock.hpp"
#include "common/util/error.hpp"
#include "common/util/unique_fd.hpp"

namespace duofi::local {

/// Names in the folder of a path while its socket does not listen yet.
inline constexpr std::string_view kDraftPrefix = "duofi-new-";

/// `address`: a path, or an abstract name when its first byte is 0. A path is there only once somebody listens, so one
/// that refuses connections is abandoned. Errors: invalid_argument (too long), system (EADDRINUSE: there already).
[[nodiscard]] Result<UniqueFd> listen_unix(const std::string& address);
/// Connects only to a process of our user, at once unless the listener's queue is full. Errors: system (errno kept;
/// EAGAIN: still full at the deadline), invalid_argument.
[[nodiscard]] Result<UniqueFd> connect_unix(const std::string& address, const Deadline& deadline = Deadline(0));

/// A client that waits at a listening socket; empty, with errno, when there is none or it was another user's
/// (EPERM).
[[nodiscard]] UniqueFd accept_unix(int listener) noexcept;
[[nodiscard]] bool peer_is_same_user(int socket) noexcept;

/// Waits until the socket is readable. False at the deadline.
[[nodiscard]] bool wait_readable(int socket, const Deadline& deadline) noexcept;

/// One packet, all or nothing; `descriptor` -1: none beside it.
[[nodiscard]] bool send_packet(int socket, std::span<const std::byte> packet, int descriptor = -1) noexcept;

enum class Received { packet, nothing_yet, ended };
/// One packet of exactly the size of `packet`; any other ends the conversation. A descriptor beside it goes to
/// `descriptor`; superfluous ones are closed.
[[nodiscard]] Received receive_packet(int socket, std::span<std::byte> packet, UniqueFd* descriptor = nullptr) noexcept;

}  // namespace duofi::local
