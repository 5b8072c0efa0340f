// Gives out descriptors of segments over a unix socket, for importers that cannot open /proc/<pid>/fd (other PID
// namespace, non-dumpable exporter; p2p contract 2.3, 2.5). The address follows from the exporter's identity, so a
// handle is all that an importer needs. Both sides check that the other runs under the same user.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "common/util/clock.hpp"
#include "common/util/error.hpp"
#include "common/util/host_identity.hpp"
#include "common/util/unique_fd.hpp"

namespace duofi::local {

/// Whose descriptors are served. Called on the service's thread.
class DescriptorSource {
  public:
    /// A duplicate of the descriptor of a segment; empty when it is not exported (any more).
    [[nodiscard]] virtual UniqueFd descriptor_of(std::uint32_t generation, std::uint64_t nonce) = 0;

  protected:
    ~DescriptorSource() = default;
};

/// Where the service of a process listens: a path in `socket_dir`, or an abstract address (first byte 0) when that is
/// empty. Depends only on what handles carry.
[[nodiscard]] std::string fd_service_address(std::uint32_t pid, std::uint64_t start_time,
                                             std::uint32_t pid_namespace, const std::string& socket_dir);

/// One thread, asleep between requests. Any thread may make and destroy it.
class FdService {
  public:
    /// Also removes sockets that killed processes of this user left in `socket_dir`. Errors: system (address taken,
    /// directory missing), invalid_argument (path too long).
    [[nodiscard]] static Result<std::unique_ptr<FdService>> start(DescriptorSource& source, const HostIdentity& self,
                                                                  const std::string& socket_dir);
    /// Stops and joins the thread; removes the socket's path. In a forked child it only closes descriptors.
    ~FdService();
    FdService(const FdService&) = delete;
    FdService& operator=(const FdService&) = delete;

    [[nodiscard]] const std::string& address() const noexcept;

  private:
    class State;
    explicit FdService(std::unique_ptr<State> state) noexcept;
    std::unique_ptr<State> state_;
};

/// Asks the service at `address`. Errors: system (nobody there, other user, refused), timed_out.
[[nodiscard]] Result<UniqueFd> fetch_descriptor(const std::string& address, std::uint32_t generation,
                                                std::uint64_t nonce, const Deadline& deadline);

/// A descriptor that polls readable when the process of that service ends. For process_watch, where a pid means
/// nothing. Before Linux 6.5 it is a connection that the service keeps open: then the end of the service is one too,
/// and children of that process delay it. Errors as fetch_descriptor.
[[nodiscard]] Result<UniqueFd> hold_connection(const std::string& address, const Deadline& deadline);

}  // namespace duofi::local
