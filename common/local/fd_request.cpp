// The importer's side of the fd service.
#include <sys/socket.h>

#include <cerrno>
#include <span>
#include <string>

#include "common/local/fd_service.hpp"
#include "common/local/fd_wire.hpp"
#include "common/local/unix_socket.hpp"
#include "common/util/messages/local.hpp"

namespace duofi::local {

namespace {

struct Conversation {
    UniqueFd socket;
    UniqueFd descriptor;
};

Result<Conversation> ask(const std::string& address, const FdRequest& request, const Deadline& deadline) {
    Conversation talk;
    DUOFI_ASSIGN(talk.socket, connect_unix(address, deadline));
    if (!send_packet(talk.socket.get(), std::as_bytes(std::span(&request, 1))))
        return fail(Errc::system, messages::kServiceAnswer, errno);
    FdAnswer answer{};
    const auto room = std::as_writable_bytes(std::span(&answer, 1));
    Received received = Received::nothing_yet;
    while (received == Received::nothing_yet) {
        if (!wait_readable(talk.socket.get(), deadline))
            return fail(Errc::timed_out, messages::kServiceTimeout, ETIMEDOUT);
        received = receive_packet(talk.socket.get(), room, &talk.descriptor);
    }
    if (received == Received::ended || answer.magic != kFdMagic)
        return fail(Errc::system, messages::kServiceAnswer, EPROTO);
    if (answer.status != FdStatus::ok) return fail(Errc::system, messages::kExporterClosed, ENOENT);
    return talk;
}

}  // namespace

Result<UniqueFd> fetch_descriptor(const std::string& address, std::uint32_t generation, std::uint64_t nonce,
                                  const Deadline& deadline) {
    DUOFI_ASSIGN(Conversation talk, ask(address, {kFdMagic, FdCommand::fetch, nonce, generation, 0}, deadline));
    if (!talk.descriptor) return fail(Errc::system, messages::kServiceAnswer, EPROTO);
    return std::move(talk.descriptor);
}

Result<UniqueFd> hold_connection(const std::string& address, const Deadline& deadline) {
    DUOFI_ASSIGN(Conversation talk, ask(address, {kFdMagic, FdCommand::hold, 0, 0, 0}, deadline));
    constexpr int kPeerPidfd = 77;  // SO_PEERPIDFD of Linux 6.5
    int process = -1;
    socklen_t length = sizeof(process);
    if (::getsockopt(talk.socket.get(), SOL_SOCKET, kPeerPidfd, &process, &length) == 0) return UniqueFd(process);
    return std::move(talk.socket);
}

}  // namespace duofi::local
