// Small layer over stream sockets for the exchange between ranks: names, deadlines, no blocking
// calls. All sockets are close-on-exec and non-blocking. Any thread; one socket from one thread at
// a time.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/util/clock.hpp"
#include "common/util/error.hpp"
#include "common/util/unique_fd.hpp"

namespace duofi::bootstrap {

/// One address to bind or connect to.
struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t length = 0;
    [[nodiscard]] std::uint16_t port() const noexcept;
    void set_port(std::uint16_t port) noexcept;
};

/// "127.0.0.1:5000" or "[::1]:5000".
[[nodiscard]] std::string to_string(const SocketAddress& address);

/// Addresses of a name or number, IPv4 and IPv6, in the resolver's order. Empty `host` = any
/// address (IPv6 first). The resolver's own time-outs apply. Error: Errc::system with
/// EADDRNOTAVAIL.
[[nodiscard]] Result<std::vector<SocketAddress>> resolve(const std::string& host,
                                                         std::uint16_t port);

/// Bound and listening; `address` gets the port in use. An IPv6 any-address socket takes IPv4 as
/// well.
[[nodiscard]] Result<UniqueFd> listen_on(SocketAddress& address);

/// One connection attempt, given up at the deadline.
[[nodiscard]] Result<UniqueFd> connect_to(const SocketAddress& address, const Deadline& deadline);

/// Sends or receives all of it. Errors: Errc::timed_out; Errc::remote (end of stream, ECONNRESET,
/// …).
[[nodiscard]] Status send_all(int fd, std::span<const std::byte> data, const Deadline& deadline);
[[nodiscard]] Status receive_all(int fd, std::span<std::byte> data, const Deadline& deadline);

/// Appends what has arrived, at least one byte and at most `most`. Errors as above.
[[nodiscard]] Status receive_some(int fd, std::vector<std::byte>& data, std::size_t most,
                                  const Deadline& deadline);

/// Milliseconds for poll: rounded up, at most an hour, 0 when passed.
[[nodiscard]] int poll_timeout_ms(Nanoseconds remaining) noexcept;

}  // namespace duofi::bootstrap
