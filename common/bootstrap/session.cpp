// Server and client of one rank in one object.
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "common/bootstrap/tcp_store.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/bootstrap.hpp"

namespace duofi::bootstrap {
namespace {

/// Rank 0 stays on loopback when the run does; otherwise it takes every address, because its own
/// name may resolve to a loopback address on its own node only.
std::string address_to_serve(const std::string& root_host) {
    constexpr std::array<std::string_view, 3> kLocal{"127.0.0.1", "::1", "localhost"};
    const bool local = std::find(kLocal.begin(), kLocal.end(), root_host) != kLocal.end();
    return local ? root_host : std::string();
}

}  // namespace

Result<Session> open_session(const LaunchFacts& facts, const Deadline& deadline) {
    if (facts.root_port == 0 && facts.size > 1) {
        log::warn(log::all, messages::kStoreNoPort, facts.size);
        return fail(Errc::invalid_argument, "open_session");
    }
    Session session;
    std::uint16_t port = facts.root_port;
    if (facts.rank == 0) {
        DUOFI_ASSIGN(session.server,
                     TcpStoreServer::start(address_to_serve(facts.root_host), port, facts.size));
        port = session.server->port();
    }
    DUOFI_ASSIGN(session.store,
                 TcpStore::connect(facts.root_host, port, facts.rank, facts.size, deadline));
    return session;
}

}  // namespace duofi::bootstrap
