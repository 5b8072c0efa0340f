// A rank's side of the relay service: the connection is the lease.
#include <sys/socket.h>

#include <cerrno>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "common/local/unix_socket.hpp"
#include "common/util/messages/p2p_runtime.hpp"
#include "p2p/runtime/relay_service.hpp"
#include "p2p/runtime/relay_wire.hpp"

namespace duofi::p2p {

namespace {

constexpr Nanoseconds kAnswerPatience = 5 * kSecond;

// Leases of this process. Descriptors are all that it holds.
struct Leases {
    std::mutex mutex;
    std::map<std::int32_t, UniqueFd> open;
    std::int32_t last = -1;
};
Leases& leases_of_process() {
    static Leases instance;
    return instance;
}

Result<RelayAnswer> ask(int socket, std::size_t bytes, const Deadline& deadline) {
    const RelayRequest request{kRelayMagic, kRelayVersion, bytes};
    if (!local::send_packet(socket, std::as_bytes(std::span(&request, 1))))
        return fail(Errc::system, messages::kRelayConnect, errno);
    RelayAnswer answer{};
    const auto room = std::as_writable_bytes(std::span(&answer, 1));
    local::Received received = local::Received::nothing_yet;
    while (received == local::Received::nothing_yet) {
        if (!local::wait_readable(socket, deadline)) return fail(Errc::timed_out, messages::kRelayTimeout, ETIMEDOUT);
        received = local::receive_packet(socket, room);
    }
    if (received == local::Received::ended || answer.magic != kRelayMagic)
        return fail(Errc::system, messages::kRelayAnswer, EPROTO);
    switch (answer.status) {
        case RelayStatus::granted:
            return answer;
        case RelayStatus::out_of_memory:
            return fail(Errc::no_memory, messages::kRelayOutOfMemory, ENOMEM);
        case RelayStatus::out_of_leases:
            return fail(Errc::invalid_usage, messages::kRelayOutOfLeases, ENOSPC);
        case RelayStatus::refused:
            return fail(Errc::invalid_argument, messages::kRuntimeSize, EINVAL);
    }
    return fail(Errc::system, messages::kRelayAnswer, EPROTO);
}

}  // namespace

Result<RelayLease> relay_allocate(const RelayAddress& at, std::size_t bytes) {
    if (at.length == 0 || at.length > sizeof(at.name))
        return fail(Errc::invalid_argument, messages::kRelayAddress, EINVAL);
    if (bytes == 0) return fail(Errc::invalid_argument, messages::kRuntimeSize, EINVAL);
    const Deadline deadline(kAnswerPatience);
    auto socket = local::connect_unix(std::string(at.name, at.length), deadline);
    if (!socket) return fail(socket.error().code, messages::kRelayConnect, socket.error().provider_errno);
    DUOFI_ASSIGN(const RelayAnswer answer, ask(socket->get(), bytes, deadline));
    RelayLease lease;
    lease.pid = answer.pid;
    lease.pointer = reinterpret_cast<void*>(answer.pointer);
    lease.handle = answer.handle;
    Leases& leases = leases_of_process();
    const std::scoped_lock lock(leases.mutex);
    lease.id = ++leases.last;
    leases.open.emplace(lease.id, std::move(*socket));
    return lease;
}

Status relay_free(std::int32_t lease_id) {
    Leases& leases = leases_of_process();
    const std::scoped_lock lock(leases.mutex);
    const auto lease = leases.open.find(lease_id);
    if (lease == leases.open.end()) return fail(Errc::invalid_argument, messages::kRelayUnknownLease, EINVAL);
    ::shutdown(lease->second.get(), SHUT_RDWR);  // a forked child may have a copy of the descriptor
    leases.open.erase(lease);
    return {};
}

}  // namespace duofi::p2p
