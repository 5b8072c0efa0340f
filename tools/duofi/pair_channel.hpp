// A socket pair between the two processes of a benchmark: addresses, commands and gates travel
// here, so that no measured network is used for control. One thread per end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "common/util/clock.hpp"
#include "common/util/error.hpp"
#include "common/util/unique_fd.hpp"

namespace duofi::tool {

class PairChannel {
  public:
    /// Runs while a receive waits, so that a network that needs polling keeps moving (P8).
    using Idle = std::function<Status()>;

    /// Both ends; each of two forked processes keeps one. Error: system.
    [[nodiscard]] static Result<std::pair<PairChannel, PairChannel>> create();

    /// Sends one message of at most 64 KiB. Error: remote when the other process is gone.
    [[nodiscard]] Status send(std::span<const std::byte> message);
    /// Waits for one message. Errors: remote (the other process is gone), timed_out, those of
    /// `idle`.
    [[nodiscard]] Result<std::vector<std::byte>> receive(const Deadline& deadline,
                                                         const Idle& idle = {});

    template <typename T>
    [[nodiscard]] Status send_value(const T& value) {
        return send(std::as_bytes(std::span(&value, 1)));
    }
    /// Error: system when the message has another size than T.
    template <typename T>
    [[nodiscard]] Result<T> receive_value(const Deadline& deadline, const Idle& idle = {}) {
        DUOFI_ASSIGN(const std::vector<std::byte> bytes, receive(deadline, idle));
        T value{};
        if (bytes.size() != sizeof(T)) return fail(Errc::system, "control message of the pair");
        std::copy(bytes.begin(), bytes.end(), reinterpret_cast<std::byte*>(&value));
        return value;
    }

    void close() noexcept { fd_.reset(); }

  private:
    explicit PairChannel(UniqueFd fd) : fd_(std::move(fd)) {}
    UniqueFd fd_;
};

}  // namespace duofi::tool
