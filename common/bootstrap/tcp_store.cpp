// The client side of the TCP store.
#include "common/bootstrap/tcp_store.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "common/bootstrap/socket.hpp"
#include "common/bootstrap/store_wire.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/bootstrap.hpp"

namespace duofi::bootstrap {
namespace {

constexpr Nanoseconds kAttemptTime = 2 * kSecond;       // one connection attempt
constexpr Nanoseconds kRetryPause = 20 * kMillisecond;  // before the next
constexpr Nanoseconds kFarewellTime = 1 * kSecond;
constexpr std::size_t kReadBytes = 64 * 1024;
constexpr Nanoseconds kLook = 20 * kMillisecond;  // between looks at the word that ends waits

Nanoseconds at_most(Nanoseconds limit, const Deadline& deadline) {
    return std::min(limit, deadline.remaining());
}

const char* name_of(wire::Op op) {
    switch (op) {
        case wire::Op::set:
            return "set";
        case wire::Op::get:
            return "get";
        case wire::Op::barrier:
            return "barrier";
        case wire::Op::farewell:
            return "farewell";
    }
    return "unknown";
}

const char* hint_of(wire::Op op) {
    switch (op) {
        case wire::Op::get:
            return "; no rank has set it";
        case wire::Op::barrier:
            return "; not all ranks arrived";
        default:
            return "; rank 0 does not answer";
    }
}

}  // namespace

/// The connection, with input that outlives a call which gave up half-way through an answer.
struct TcpStore::Link {
    UniqueFd fd;
    Bytes input;
    std::uint32_t last_id = 0;
    bool broken = false;
    const std::uint32_t* stop = nullptr;
    std::map<std::string, std::uint64_t, std::less<>> gathers;

    /// Next whole answer.
    Result<wire::Response> receive(const Deadline& deadline) {
        while (true) {
            if (input.size() >= wire::kFrameHeaderBytes) {
                const std::span<const std::byte> bytes(input);
                const auto body = wire::body_length(bytes.first<wire::kFrameHeaderBytes>());
                if (!body) return fail(Errc::remote, "recv", EPROTO);
                const std::size_t whole = wire::kFrameHeaderBytes + *body;
                if (bytes.size() >= whole) {
                    auto response = wire::decode_response(bytes.first(whole));
                    input.erase(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(whole));
                    if (!response) return fail(Errc::remote, "recv", EPROTO);
                    return std::move(*response);
                }
            }
            const Deadline look(stop != nullptr ? at_most(kLook, deadline) : deadline.remaining());
            const Status some = receive_some(fd.get(), input, kReadBytes, look);
            if (some) continue;
            const bool slice = some.error().code == Errc::timed_out && !deadline.passed();
            if (!slice || stopped()) return tl::unexpected<Error>(some.error());
        }
    }

    [[nodiscard]] bool stopped() const noexcept {
        return stop != nullptr &&
               std::atomic_ref(const_cast<std::uint32_t&>(*stop)).load(std::memory_order_relaxed) !=
                   0;
    }

    Result<wire::Response> exchange(const wire::Request& request, const Deadline& deadline) {
        DUOFI_TRY(send_all(fd.get(), wire::encode(request), deadline));
        while (true) {
            DUOFI_ASSIGN(wire::Response response, receive(deadline));
            if (response.id == request.id) return response;
            // The answer to a call that gave up earlier.
        }
    }
};

namespace {

/// One attempt at one address: connect, greet, wait for the welcome.
Result<wire::Response> greet(const SocketAddress& address, int rank, int size,
                             const Deadline& deadline, UniqueFd& fd) {
    DUOFI_ASSIGN(fd, connect_to(address, Deadline(at_most(kAttemptTime, deadline))));
    wire::Hello hello;
    hello.size = static_cast<std::uint32_t>(size);
    hello.rank = static_cast<std::uint32_t>(rank);
    const Deadline answer_by(at_most(2 * kAttemptTime, deadline));
    DUOFI_TRY(send_all(fd.get(), wire::encode(hello), answer_by));
    Bytes frame(wire::kFrameHeaderBytes);
    DUOFI_TRY(receive_all(fd.get(), frame, answer_by));
    const auto body =
        wire::body_length(std::span<const std::byte>(frame).first<wire::kFrameHeaderBytes>());
    if (!body) return fail(Errc::remote, "recv", EPROTO);
    frame.resize(wire::kFrameHeaderBytes + *body);
    DUOFI_TRY(receive_all(fd.get(), std::span(frame).subspan(wire::kFrameHeaderBytes), answer_by));
    auto response = wire::decode_response(frame);
    if (!response) return fail(Errc::remote, "recv", EPROTO);
    return std::move(*response);
}

}  // namespace

TcpStore::TcpStore(std::unique_ptr<Link> link, int rank, int size) noexcept
    : link_(std::move(link)), rank_(rank), size_(size) {}

Result<std::unique_ptr<TcpStore>> TcpStore::connect(const std::string& host, std::uint16_t port,
                                                    int rank, int size, const Deadline& deadline) {
    if (size < 1 || rank < 0 || rank >= size) return fail(Errc::invalid_argument, "connect");
    Error last{Errc::timed_out, ETIMEDOUT, "connect"};
    auto link = std::make_unique<Link>();
    while (true) {
        auto addresses = resolve(host, port);
        if (!addresses) last = addresses.error();
        for (std::size_t i = 0; addresses && i < addresses->size(); ++i) {
            auto welcome = greet((*addresses)[i], rank, size, deadline, link->fd);
            if (!welcome) {
                last = welcome.error();
                continue;
            }
            if (welcome->state != wire::State::ok) {
                log::warn(log::all, messages::kStoreRefused, rank, size, as_text(welcome->value));
                return fail(Errc::remote, "connect", EPROTO);
            }
            return std::unique_ptr<TcpStore>(new TcpStore(std::move(link), rank, size));
        }
        if (deadline.passed()) break;
        static_cast<void>(::poll(nullptr, 0, poll_timeout_ms(at_most(kRetryPause, deadline))));
    }
    log::warn(log::all, messages::kStoreUnreachable, rank, host, port, last.provider_errno,
              std::strerror(last.provider_errno));
    return fail(Errc::timed_out, "connect", last.provider_errno);
}

TcpStore::~TcpStore() {
    if (link_->broken) return;
    wire::Request farewell;
    farewell.id = ++link_->last_id;
    static_cast<void>(send_all(link_->fd.get(), wire::encode(farewell), Deadline(kFarewellTime)));
    static_cast<void>(::shutdown(link_->fd.get(), SHUT_WR));
}

Result<Bytes> TcpStore::call(int op_number, std::string_view key, std::span<const std::byte> value,
                             const Deadline& deadline) {
    const auto op = static_cast<wire::Op>(op_number);
    dead_rank_ = -1;
    if (key.empty() || key.size() > kMaxKeyBytes || value.size() > kMaxValueBytes) {
        log::warn(log::all, messages::kStoreBadKey, name_of(op), key.size(), value.size(),
                  kMaxKeyBytes, kMaxValueBytes);
        return fail(Errc::invalid_argument, name_of(op));
    }
    wire::Request request;
    request.id = ++link_->last_id;
    request.op = op;
    request.key = key;
    request.value.assign(value.begin(), value.end());
    Result<wire::Response> response =
        link_->broken ? Result<wire::Response>(fail(Errc::remote, "send", ECONNRESET))
                      : link_->exchange(request, deadline);
    if (!response) return failed(op_number, key, response.error());
    if (response->state == wire::State::ok) return std::move(response->value);
    dead_rank_ = response->rank;
    log::warn(log::all, messages::kStorePeerGone, name_of(op), key, rank_, dead_rank_);
    return fail(Errc::remote, name_of(op));
}

tl::unexpected<Error> TcpStore::failed(int op_number, std::string_view key, const Error& error) {
    const auto op = static_cast<wire::Op>(op_number);
    const bool receiving = std::string_view(error.place) != "send";
    if (error.code == Errc::timed_out && receiving && link_->stopped())
        return fail(Errc::remote, name_of(op), ECANCELED);
    if (error.code == Errc::timed_out) {
        // A request that left only in part would make the next one unreadable.
        if (!receiving) link_->broken = true;
        log::warn(log::all, messages::kStoreTimedOut, name_of(op), key, rank_, hint_of(op));
        return fail(Errc::timed_out, name_of(op), ETIMEDOUT);
    }
    link_->broken = true;
    dead_rank_ = 0;
    log::warn(log::all, messages::kStoreBroken, name_of(op), rank_, error.provider_errno,
              std::strerror(error.provider_errno));
    return fail(Errc::remote, name_of(op), error.provider_errno);
}

void TcpStore::end_waits_on(const std::uint32_t* word) noexcept {
    link_->stop = word;
}

Status TcpStore::set(std::string_view key, std::span<const std::byte> value,
                     const Deadline& deadline) {
    DUOFI_TRY(call(static_cast<int>(wire::Op::set), key, value, deadline));
    return {};
}

Result<Bytes> TcpStore::get(std::string_view key, const Deadline& deadline) {
    return call(static_cast<int>(wire::Op::get), key, {}, deadline);
}

Status TcpStore::barrier(std::string_view name, const Deadline& deadline) {
    DUOFI_TRY(call(static_cast<int>(wire::Op::barrier), name, {}, deadline));
    return {};
}

Result<std::vector<Bytes>> TcpStore::gather(std::string_view name, std::span<const std::byte> value,
                                            const Deadline& deadline) {
    const std::uint64_t round = link_->gathers[std::string(name)]++;
    const std::string stem = "gather/" + std::to_string(round) + "/" + std::string(name) + "/";
    DUOFI_TRY(set(stem + std::to_string(rank_), value, deadline));
    std::vector<Bytes> values;
    for (int rank = 0; rank < size_; ++rank) {
        DUOFI_ASSIGN(Bytes one, get(stem + std::to_string(rank), deadline));
        values.push_back(std::move(one));
    }
    return values;
}

}  // namespace duofi::bootstrap
