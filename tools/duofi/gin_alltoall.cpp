#include "tools/duofi/gin_alltoall.hpp"

#include <fmt/core.h>
#include <sys/random.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "common/gin/store_exchange.hpp"
#include "common/loader/host_logger.hpp"
#include "tools/duofi/pattern.hpp"

namespace duofi::tool {
namespace {

constexpr std::uint32_t kArrivals = 0;  // the signal that counts

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
    return std::as_bytes(std::span(&value, 1));
}

}  // namespace

AllToAll::AllToAll(const AllToAllConfig& config, bootstrap::Store& store)
    : config_(config), store_(store), rank_(store.rank()), size_(store.size()) {}

AllToAll::~AllToAll() {
    static_cast<void>(close());
}

std::string AllToAll::text(const std::string& what) const {
    return fmt::format("rank {}: one-sided: {}", rank_, what);
}

Outcome<std::unique_ptr<AllToAll>> AllToAll::open(const AllToAllConfig& config,
                                                  bootstrap::Store& store) {
    std::unique_ptr<AllToAll> made(new AllToAll(config, store));
    if (auto done = made->attach(); !done) return failed(done.error());
    if (auto done = made->set_up(); !done) return failed(done.error());
    return made;
}

/// All ranks of a communicator init with the same number.
Outcome<void> AllToAll::attach() {
    std::uint64_t own = 0;
    if (::getrandom(&own, sizeof own, 0) != sizeof own) return failed(text("getrandom"));
    auto ids = store_.gather("communicator", bytes_of(own), Deadline(config_.limit));
    if (!ids) return failed(text("communicator: " + describe(ids.error())));
    std::uint64_t comm_id = 0;
    std::memcpy(&comm_id, ids->front().data(), sizeof comm_id);
    host_ =
        std::make_unique<loader::RmaHost>(config_.request, loader::host_logger(), loader::host_line,
                                          loader::RmaHostOptions::from_environment());
    auto rma = host_->attach(comm_id);
    if (!rma)
        return failed(text(fmt::format(
            "no RMA plugin \"{}\" could be opened and initialised ({}); is its folder in "
            "LD_LIBRARY_PATH? NCCL_DEBUG=INFO shows why",
            config_.request.plugin.value_or(""), describe(rma.error()))));
    rma_ = *rma;
    attached_ = true;
    if (!rma_.gin) return failed(text("the GIN side was refused (NCCL_GIN_TYPE, or its init)"));
    return {};
}

Outcome<void> AllToAll::set_up() {
    gin::GinOptions options;
    options.device = config_.device % rma_.devices;
    auto proxy = gin::GinProxy::open(rma_.table, rma_.gin_instance,
                                     gin::store_exchange(store_, config_.limit), options);
    if (!proxy) return failed(text(describe(proxy.error())));
    proxy_ = std::move(*proxy);
    memory_.resize(2 * config_.largest * static_cast<std::size_t>(size_));
    auto window = proxy_->register_window(memory_);
    if (!window) return failed(text("window: " + describe(window.error())));
    window_ = *window;
    gin::DeviceCommShape shape;
    shape.shape.signals = 1;
    shape.device.limit = config_.limit;
    auto comm = proxy_->create(shape);
    if (!comm) return failed(text("device communicator: " + describe(comm.error())));
    comm_ = *comm;
    proxy_->start();
    return {};
}

std::span<std::byte> AllToAll::tx(int peer, std::size_t bytes) {
    return std::span(memory_).subspan(static_cast<std::size_t>(peer) * bytes, bytes);
}

std::span<std::byte> AllToAll::rx(int peer, std::size_t bytes) {
    return std::span(memory_)
        .subspan(memory_.size() / 2)
        .subspan(static_cast<std::size_t>(peer) * bytes, bytes);
}

std::string AllToAll::device_name() const {
    ncclNetProperties_v12_t properties{};
    const int device = config_.device % rma_.devices;
    if (rma_.table.properties(device, &properties) != ncclSuccess || properties.name == nullptr)
        return "unknown";
    return properties.name;
}

Outcome<void> AllToAll::expect(gin::GinStatus status, const char* what) const {
    if (status == gin::GinStatus::done) return {};
    if (status != gin::GinStatus::failed)
        return failed(text(fmt::format("{}: {}", what, gin::to_string(status))));
    const gin::ProxyFailure failure = comm_->part(0).failure();
    return failed(text(fmt::format("{}: the proxy stopped, {} of the plugin returned {}", what,
                                   failure.call, static_cast<int>(failure.result))));
}

Outcome<void> AllToAll::put_all(gin::Device& kernel, std::size_t bytes) {
    const std::size_t half = memory_.size() / 2;
    for (int step = 0; step < size_; ++step) {
        const int peer = (rank_ + step) % size_;
        const gin::Place from{window_, static_cast<std::size_t>(peer) * bytes};
        const gin::Place to{window_, half + static_cast<std::size_t>(rank_) * bytes};
        const auto sent = kernel.put(peer, to, from, bytes, gin::Signal::inc(kArrivals));
        if (auto done = expect(sent, "put"); !done) return done;
    }
    const auto arrivals = round_ * static_cast<std::uint64_t>(size_);
    if (auto done = expect(kernel.wait_signal(kArrivals, arrivals), "waiting for all puts"); !done)
        return done;
    return expect(kernel.flush(), "flush");
}

Outcome<void> AllToAll::round(std::size_t bytes, AllToAllTotals& mine) {
    gin::Device kernel = comm_->device(0);
    ++round_;
    const auto key = [&](int from, int to) {
        return PatternKey{static_cast<std::uint64_t>(from * size_ + to), bytes, round_};
    };
    for (int peer = 0; peer < size_; ++peer) fill_pattern(tx(peer, bytes), key(rank_, peer));
    // Nobody's bytes may arrive before the last round's were checked.
    if (auto done = expect(kernel.barrier(), "barrier"); !done) return done;
    const Nanoseconds start = now_ns();
    if (auto done = put_all(kernel, bytes); !done) return done;
    mine.time_ns += static_cast<std::uint64_t>(now_ns() - start);
    for (int peer = 0; peer < size_; ++peer) {
        mine.wrong_bytes += count_wrong(rx(peer, bytes), key(peer, rank_));
        mine.checked_bytes += bytes;
    }
    return {};
}

Outcome<AllToAllTotals> AllToAll::run(std::size_t bytes, unsigned iterations) {
    AllToAllTotals warmup, mine;
    if (auto done = round(bytes, warmup); !done) return failed(done.error());
    for (unsigned i = 0; i < iterations; ++i)
        if (auto done = round(bytes, mine); !done) return failed(done.error());
    mine.wrong_bytes += warmup.wrong_bytes;
    mine.checked_bytes += warmup.checked_bytes;
    return sum(mine);
}

Outcome<AllToAllTotals> AllToAll::sum(const AllToAllTotals& mine) {
    auto all = store_.gather("totals", bytes_of(mine), Deadline(config_.limit));
    if (!all) return failed(text("totals: " + describe(all.error())));
    AllToAllTotals total;
    for (const bootstrap::Bytes& block : *all) {
        AllToAllTotals other;
        if (block.size() != sizeof other) return failed(text("totals of another form"));
        std::memcpy(&other, block.data(), sizeof other);
        total.time_ns += other.time_ns;
        total.slowest_ns = std::max(total.slowest_ns, other.time_ns);
        total.wrong_bytes += other.wrong_bytes;
        total.checked_bytes += other.checked_bytes;
    }
    return total;
}

Outcome<void> AllToAll::close() {
    Status closed;
    if (proxy_) closed = proxy_->close();
    proxy_.reset();
    if (attached_) host_->release(rma_);
    attached_ = false;
    if (!closed) return failed(text("close: " + describe(closed.error())));
    return {};
}

}  // namespace duofi::tool
