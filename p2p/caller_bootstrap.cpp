#include "p2p/caller_bootstrap.hpp"

#include <algorithm>
#include <cstring>

#include "common/abi/boundary.hpp"
#include "common/abi/error_map.hpp"

namespace duofi::p2p {
namespace {

int milliseconds(const Deadline& deadline) noexcept {
    constexpr Nanoseconds kLongest = 24 * 3600 * 1000;
    return static_cast<int>(
        std::min((deadline.remaining() + kMillisecond - 1) / kMillisecond, kLongest));
}

Status status(ncclResult_t result, const char* place) {
    switch (result) {
        case ncclSuccess:
            return {};
        case ncclTimeout:
        case ncclInProgress:
            return fail(Errc::timed_out, place);
        case ncclRemoteError:
            return fail(Errc::remote, place);
        default:
            return fail(Errc::system, place);
    }
}

class CallerBootstrap final : public Bootstrap {
  public:
    explicit CallerBootstrap(const duofiP2pBootstrap& functions) : functions_(functions) {}

    int rank() const noexcept override { return functions_.rank; }
    int size() const noexcept override { return functions_.size; }

    Status all_gather(std::span<const std::byte> mine, std::span<std::byte> all, const char* name,
                      const Deadline& deadline) override {
        return status(functions_.allGather(functions_.context, mine.data(), all.data(), mine.size(),
                                           name, milliseconds(deadline)),
                      "allGather");
    }
    Status send(int peer, MessageType type, std::span<const std::byte> data, const char* name,
                const Deadline& deadline) override {
        return status(functions_.send(functions_.context, peer, static_cast<unsigned>(type),
                                      data.data(), data.size(), name, milliseconds(deadline)),
                      "send");
    }
    Result<Message> receive(int peer, const char* name, const Deadline& deadline) override {
        Message message;
        message.bytes.resize(kMaxMessageBytes);
        unsigned type = 0;
        std::size_t bytes = 0;
        DUOFI_TRY(
            status(functions_.recv(functions_.context, peer, &type, message.bytes.data(),
                                   message.bytes.size(), &bytes, name, milliseconds(deadline)),
                   "recv"));
        if (bytes > kMaxMessageBytes) return fail(Errc::system, "recv");
        message.type = static_cast<MessageType>(type);
        message.bytes.resize(bytes);
        return message;
    }

  private:
    const duofiP2pBootstrap functions_;
};

Deadline from_now(int timeout_ms) {
    return Deadline(timeout_ms * kMillisecond);
}

/// Errors of ours in the words of the interface, where ncclTimeout says "call again".
ncclResult_t answer(const Status& done) {
    if (done) return ncclSuccess;
    return done.error().code == Errc::timed_out ? ncclTimeout : abi::result_of(done.error());
}

ncclResult_t forward_all_gather(void* context, const void* mine, void* all, std::size_t bytes,
                        const char* name, int timeout_ms) {
    auto& ours = *static_cast<Bootstrap*>(context);
    return answer(ours.all_gather(
        {static_cast<const std::byte*>(mine), bytes},
        {static_cast<std::byte*>(all), bytes * static_cast<std::size_t>(ours.size())}, name,
        from_now(timeout_ms)));
}

ncclResult_t forward_send(void* context, int peer, unsigned type, const void* data, std::size_t bytes,
                  const char* name, int timeout_ms) {
    return answer(static_cast<Bootstrap*>(context)->send(
        peer, static_cast<MessageType>(type), {static_cast<const std::byte*>(data), bytes}, name,
        from_now(timeout_ms)));
}

ncclResult_t forward_receive(void* context, int peer, unsigned* type, void* data, std::size_t capacity,
                     std::size_t* bytes, const char* name, int timeout_ms) {
    const Result<Message> message =
        static_cast<Bootstrap*>(context)->receive(peer, name, from_now(timeout_ms));
    if (!message) return answer(tl::unexpected<Error>(message.error()));
    *type = static_cast<unsigned>(message->type);
    *bytes = message->bytes.size();
    const std::size_t stored = std::min(capacity, message->bytes.size());
    if (stored != 0) std::memcpy(data, message->bytes.data(), stored);
    return ncclSuccess;
}

constexpr decltype(duofiP2pBootstrap::send) kSend = abi::entry<&forward_send>;

}  // namespace

std::unique_ptr<Bootstrap> caller_bootstrap(const duofiP2pBootstrap& functions) {
    const bool complete = functions.version == DUOFI_P2P_BOOTSTRAP_VERSION && functions.size >= 1 &&
                          functions.rank >= 0 && functions.rank < functions.size &&
                          functions.allGather != nullptr && functions.send != nullptr &&
                          functions.recv != nullptr;
    return complete ? std::make_unique<CallerBootstrap>(functions) : nullptr;
}

duofiP2pBootstrap as_functions(Bootstrap& bootstrap) {
    return {.version = DUOFI_P2P_BOOTSTRAP_VERSION,
            .rank = bootstrap.rank(),
            .size = bootstrap.size(),
            .context = &bootstrap,
            .allGather = abi::entry<&forward_all_gather>,
            .send = kSend,
            .recv = abi::entry<&forward_receive>};
}

Bootstrap* ready_made(const duofiP2pBootstrap& functions) noexcept {
    return functions.send == kSend ? static_cast<Bootstrap*>(functions.context) : nullptr;
}

}  // namespace duofi::p2p
