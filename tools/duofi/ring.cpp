#include "tools/duofi/ring.hpp"

#include <fmt/core.h>
#include <sched.h>

#include <algorithm>
#include <cstring>

namespace duofi::tool {
namespace {

constexpr int kTag = 0;
constexpr std::size_t kTokenBytes = 64;
static_assert(sizeof(RingTotals) <= kTokenBytes);

/// Looks without a result before the core is offered to another rank.
constexpr unsigned kSpinsBeforeYield = 64;

}  // namespace

Ring::Ring(const RingConfig& config, const bootstrap::Store& store)
    : config_(config),
      rank_(store.rank()),
      size_(store.size()),
      client_(config.net),
      tx_(config.largest * config.depth + kTokenBytes),
      rx_(tx_.size()),
      sends_(config.depth),
      receives_(config.depth) {}

Outcome<Ring> Ring::open(const RingConfig& config, bootstrap::Store& store) {
    Ring ring(config, store);
    if (auto done = ring.connect(store); !done) return failed(done.error());
    if (auto done = ring.register_buffers(); !done) return failed(done.error());
    return ring;
}

Outcome<void> Ring::connect(bootstrap::Store& store) {
    loader::NetHandle handle{};
    auto listener = client_.listen(config_.device, handle);
    if (!listener)
        return failed(fmt::format("rank {}: {}", rank_, loader::to_string(listener.error())));
    auto handles = store.gather("ring handle", handle, Deadline(config_.limit));
    if (!handles)
        return failed(
            fmt::format("rank {}: exchange of handles: {}", rank_, describe(handles.error())));
    loader::NetHandle peer{};
    const bootstrap::Bytes& given = (*handles)[static_cast<std::size_t>(next())];
    if (given.size() != peer.size())
        return failed(
            fmt::format("rank {}: rank {} gave a handle of {} bytes", rank_, next(), given.size()));
    std::copy(given.begin(), given.end(), peer.begin());
    auto pair =
        client_.connect_and_accept(config_.device, peer, *listener, Deadline(config_.limit));
    if (!pair)
        return failed(fmt::format("rank {}: connection to rank {} and from rank {}: {}", rank_,
                                  next(), previous(), loader::to_string(pair.error())));
    pair_ = std::move(*pair);
    return {};
}

Outcome<void> Ring::register_buffers() {
    auto tx = client_.register_memory(pair_.send, tx_);
    auto rx = client_.register_memory(pair_.recv, rx_);
    if (!tx || !rx)
        return failed(fmt::format("rank {}: regMr of {} bytes: {}", rank_, tx_.size(),
                                  loader::to_string(tx ? rx.error() : tx.error())));
    tx_region_ = std::move(*tx);
    rx_region_ = std::move(*rx);
    return {};
}

std::span<std::byte> Ring::tx(unsigned slot, std::size_t bytes) {
    return std::span(tx_).subspan(slot * bytes, bytes);
}

std::span<std::byte> Ring::rx(unsigned slot, std::size_t bytes) {
    return std::span(rx_).subspan(slot * bytes, bytes);
}

std::string Ring::text(const Posted& slot, const std::string& what) const {
    return fmt::format("rank {}: {} of {} bytes {} rank {}: {}", rank_,
                       slot.is_send ? "send" : "receive", slot.bytes, slot.is_send ? "to" : "from",
                       slot.is_send ? next() : previous(), what);
}

Outcome<void> Ring::post(Posted& slot, bool is_send, std::span<std::byte> data) {
    slot = {{}, data.size(), is_send, true};
    const Deadline deadline(config_.limit);
    auto transfer = is_send ? client_.send(pair_.send, data, kTag, tx_region_, deadline)
                            : client_.recv(pair_.recv, data, kTag, rx_region_, deadline);
    if (!transfer) return failed(text(slot, loader::to_string(transfer.error())));
    slot.transfer = *transfer;
    return {};
}

Outcome<void> Ring::post_receives(unsigned count, std::size_t bytes) {
    for (unsigned i = 0; i < count; ++i)
        if (auto done = post(receives_[i], false, rx(i, bytes)); !done) return done;
    return {};
}

Outcome<bool> Ring::look(Posted& slot) {
    if (!slot.open) return true;
    std::size_t bytes = 0;
    auto done = client_.test(slot.transfer, bytes);
    if (!done) return failed(text(slot, loader::to_string(done.error())));
    if (!*done) return false;
    slot.open = false;
    if (bytes != slot.bytes) return failed(text(slot, fmt::format("{} bytes were moved", bytes)));
    return true;
}

Outcome<void> Ring::wait_all() {
    const Deadline deadline(config_.limit);
    for (unsigned spins = 1;; ++spins) {
        const Posted* waiting = nullptr;
        for (std::vector<Posted>* list : {&receives_, &sends_}) {
            for (Posted& slot : *list) {
                auto done = look(slot);
                if (!done) return failed(done.error());
                if (!*done) waiting = &slot;
            }
        }
        if (!waiting) return {};
        if (spins % kSpinsBeforeYield != 0) continue;
        if (deadline.passed()) return failed(text(*waiting, "not done before the deadline"));
        ::sched_yield();
    }
}

Outcome<void> Ring::send_and_wait(unsigned count, std::size_t bytes) {
    for (unsigned i = 0; i < count; ++i)
        if (auto done = post(sends_[i], true, tx(i, bytes)); !done) return done;
    return wait_all();
}

/// One hop: receives a token from the previous rank and sends one to the next; rank 0 sends first.
Outcome<void> Ring::forward(RingTotals& token, bool send_first, bool add) {
    const std::span<std::byte> out = std::span(tx_).last(kTokenBytes);
    const std::span<std::byte> in = std::span(rx_).last(kTokenBytes);
    if (auto done = post(receives_[0], false, in); !done) return done;
    const auto send = [&]() -> Outcome<void> {
        std::memcpy(out.data(), &token, sizeof token);
        return post(sends_[0], true, out);
    };
    if (send_first)
        if (auto done = send(); !done) return done;
    if (auto done = wait_all(); !done) return done;
    RingTotals came;
    std::memcpy(&came, in.data(), sizeof came);
    if (add && !send_first) {
        came.time_ns += token.time_ns;
        came.slowest_ns = std::max(came.slowest_ns, token.slowest_ns);
        came.wrong_bytes += token.wrong_bytes;
        came.checked_bytes += token.checked_bytes;
    }
    token = came;
    if (!send_first)
        if (auto done = send(); !done) return done;
    return wait_all();
}

Outcome<RingTotals> Ring::total(const RingTotals& mine) {
    RingTotals token = mine;
    const bool first = rank_ == 0;
    if (auto done = forward(token, first, true); !done) return failed(done.error());
    if (auto done = forward(token, first, false); !done) return failed(done.error());
    return token;
}

Outcome<void> Ring::close() {
    const ncclResult_t results[] = {tx_region_.reset(), rx_region_.reset(), pair_.send.close(),
                                    pair_.recv.close()};
    for (const ncclResult_t result : results)
        if (result != ncclSuccess)
            return failed(
                fmt::format("rank {}: a close returned {}", rank_, static_cast<int>(result)));
    return {};
}

}  // namespace duofi::tool
