// The target's side of iputSignal: the only place that adds to a signal word for another rank.
#include <atomic>
#include <cstring>

#include "common/util/log.hpp"
#include "common/util/messages/ofi.hpp"
#include "rma_plugin/group.hpp"
#include "rma_plugin/signal/apply.hpp"

namespace duofi::rma {

// Release: a reader that sees the sum also sees the data that came before it (G-6).
void apply_signal(std::byte* word, std::uint64_t addend) noexcept {
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(word)).fetch_add(addend, std::memory_order_release);
}

void Lane::on_signal(const ofi::Message& message) noexcept {
    SignalBody body;
    if (message.payload.size() != sizeof(body)) return group_.violation(rank_, "signal of a wrong length");
    std::memcpy(&body, message.payload.data(), sizeof(body));
    if (body.index != signals_received_) return group_.violation(rank_, "a signal is missing");
    ++signals_received_;
    Window* window = group_.windows().find(message.header.word);
    const std::uint64_t offset = message.header.value;
    if (window == nullptr)
        group_.late_signal();  // the word was deregistered: dropped and counted
    else if (!window->covers_locally(offset, sizeof(std::uint64_t)) || !is_signal_word(window->data() + offset))
        group_.violation(rank_, "signal outside its window");
    else
        apply_signal(window->data() + offset, body.addend);
    if (body.answer != 0) on_mark(body.sequence);
}

void Lane::on_mark(std::uint64_t sequence) noexcept {
    received_ = std::max(received_, sequence);
    if (answered_ < received_ && !gone()) group_.endpoint().mark_dirty(*peer_, *this);
}

}  // namespace duofi::rma
