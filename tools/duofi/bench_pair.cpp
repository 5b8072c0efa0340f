#include "tools/duofi/bench_pair.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <memory>
#include <optional>

#include "common/ofi/discovery.hpp"
#include "common/util/settings.hpp"
#include "tools/duofi/bench_net.hpp"
#include "tools/duofi/bench_raw.hpp"
#include "tools/duofi/net_opening.hpp"
#include "tools/duofi/pattern.hpp"

namespace duofi::tool {

void set_text(Text& target, const char* text) noexcept {
    std::strncpy(target.data(), text, target.size() - 1);
}

namespace {

constexpr Nanoseconds kStepLimit = 30 * kSecond;
constexpr int kTries = 4;
constexpr std::uint32_t kMaxIterations = 1u << 20;

/// Rank 0 tells rank 1 what comes next. `iterations` 0 = the end.
struct Command {
    std::uint32_t cell = 0, iterations = 0, check = 0;
};
struct Reply {
    double share = 0;
    std::uint64_t wrong_bytes = 0;
};

Nanoseconds thread_cpu_ns() {
    timespec t{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * kSecond + t.tv_nsec;
}

/// Wall time of a stretch and the part of a core that this thread got meanwhile.
class Stopwatch {
  public:
    [[nodiscard]] Nanoseconds elapsed() const { return now_ns() - wall_; }
    [[nodiscard]] double share() const {
        return static_cast<double>(thread_cpu_ns() - cpu_) / static_cast<double>(elapsed());
    }

  private:
    Nanoseconds wall_ = now_ns(), cpu_ = thread_cpu_ns();
};

class BenchRank {
  public:
    BenchRank(int rank, PairChannel channel, const BenchOptions& options, BenchResult& result)
        : rank_(rank), channel_(std::move(channel)), options_(options), result_(result) {}
    Outcome<void> run(const std::string& provider);

  private:
    Outcome<void> open_raw();
    Outcome<void> open_net();
    Outcome<loader::NetClient::Pair> connect_net(const loader::NetClient& client);
    Status exchange_raw_names();
    Outcome<void> lead();
    Outcome<void> follow();
    Outcome<Sample> measure(std::uint32_t index, std::uint32_t iterations, bool check);
    Outcome<Sample> measure_undisturbed(std::uint32_t index);
    Outcome<void> check_and_calibrate(std::uint32_t index);
    Status follow_one(const Command& command);
    Driver& driver(Via via) { return *drivers_[static_cast<std::size_t>(via)]; }
    PatternKey key(const Cell& cell, std::uint32_t slot) const {
        return {static_cast<std::uint64_t>(cell.via) + 1, cell.work.bytes, slot};
    }

    int rank_;
    PairChannel channel_;
    const BenchOptions& options_;
    BenchResult& result_;
    std::vector<std::byte> tx_ = std::vector<std::byte>(kBenchMemory);
    std::vector<std::byte> rx_ = std::vector<std::byte>(kBenchMemory);
    std::vector<Cell> cells_ = bench_cells();
    Deadline repeat_until_{0};  // a machine that is never quiet must not make the run endless
    std::optional<OpenNet> net_;
    std::unique_ptr<RawEndpoint> raw_;
    std::array<std::unique_ptr<Driver>, kViaCount> drivers_;  // last: closed before what they use
};

/// The first device of the common list: the one that the plugin shows as device 0.
Outcome<void> BenchRank::open_raw() {
    const auto settings = load_settings();
    if (!settings) return failed(describe(settings.error()));
    const auto list = ofi::discover(*settings, ofi::tagged_requirements(*settings));
    if (!list || list->devices.empty()) {
        result_.no_device = true;
        return failed("no device of this provider on this machine");
    }
    const ofi::DeviceInfo& device = list->devices.front();
    auto raw = RawEndpoint::open({device.provider, device.domain_name, tx_, rx_, kRawContexts});
    if (!raw) return failed("plain endpoint: " + describe(raw.error()));
    raw_ = std::move(*raw);
    if (auto done = exchange_raw_names(); !done)
        return failed("exchange of plain addresses: " + describe(done.error()));
    drivers_[static_cast<std::size_t>(Via::tagged)] = std::make_unique<TaggedDriver>(*raw_);
    drivers_[static_cast<std::size_t>(Via::write)] = std::make_unique<WriteDriver>(*raw_);
    if (rank_ == 0) {
        set_text(result_.provider, device.provider.c_str());
        set_text(result_.domain, device.domain_name.c_str());
    }
    return {};
}

Status BenchRank::exchange_raw_names() {
    DUOFI_TRY(channel_.send(raw_->name()));
    DUOFI_TRY(channel_.send_value(raw_->exposed()));
    DUOFI_ASSIGN(const std::vector<std::byte> name, channel_.receive(Deadline(kStepLimit)));
    DUOFI_ASSIGN(const RawRemote remote, channel_.receive_value<RawRemote>(Deadline(kStepLimit)));
    return raw_->set_peer(name, remote);
}

Outcome<loader::NetClient::Pair> BenchRank::connect_net(const loader::NetClient& client) {
    loader::NetHandle own{};
    auto listener = client.listen(0, own);
    if (!listener) return failed(loader::to_string(listener.error()));
    if (auto sent = channel_.send_value(own); !sent) return failed(describe(sent.error()));
    auto peer = channel_.receive_value<loader::NetHandle>(Deadline(kStepLimit));
    if (!peer) return failed(describe(peer.error()));
    auto pair = client.connect_and_accept(0, *peer, *listener, Deadline(kStepLimit));
    if (!pair) return failed(loader::to_string(pair.error()));
    return std::move(*pair);
}

Outcome<void> BenchRank::open_net() {
    auto net = open_and_init();
    if (!net) return failed(net.error());
    net_.emplace(std::move(*net));
    if (net_->devices < 1) return failed("the plugin shows no device");
    ncclNetProperties_v6_t properties{};
    if (net_->table->getProperties(0, &properties) != ncclSuccess)
        return failed("getProperties of device 0 failed");
    const loader::NetClient client(net_->table);
    auto pair = connect_net(client);
    if (!pair) return failed("connection of the plugin: " + pair.error());
    auto opened = NetDriver::open(net_->table, std::move(*pair), {tx_, rx_});
    if (!opened) return failed(describe(opened.error()));
    drivers_[static_cast<std::size_t>(Via::net)] = std::move(*opened);
    if (rank_ != 0) return {};
    set_text(result_.device, properties.name ? properties.name : "");
    set_text(result_.library, net_->plugin.library_path().c_str());
    if (net_->provider != "unknown" && net_->provider != result_.provider.data())
        return failed("the plugin uses provider " + net_->provider + ", not the one measured raw");
    return {};
}

Outcome<Sample> BenchRank::measure(std::uint32_t index, std::uint32_t iterations, bool check) {
    const Cell& cell = cells_[index];
    Workload work = cell.work;
    work.iterations = iterations;
    const auto explain = [&](const Error& error) {
        return failed(fmt::format("{} {} B window {}: {}", to_string(cell.via), work.bytes,
                                  work.window, describe(error)));
    };
    const PairChannel::Idle idle = [&] { return raw_->poll(); };
    if (check)
        for (std::uint32_t i = 0; i < iterations; ++i)
            fill_pattern(std::span(tx_).subspan(buffer_offset(work, i), work.bytes), key(cell, i));
    if (auto sent = channel_.send_value(Command{index, iterations, check ? 1u : 0u}); !sent)
        return explain(sent.error());
    auto ready = channel_.receive_value<Reply>(Deadline(kStepLimit), idle);
    if (!ready) return explain(ready.error());
    const Stopwatch watch;
    if (auto done = driver(cell.via).lead(work); !done) return explain(done.error());
    const double share = watch.share();
    const auto elapsed = static_cast<double>(watch.elapsed());
    auto reply = channel_.receive_value<Reply>(Deadline(kStepLimit), idle);
    if (!reply) return explain(reply.error());
    if (reply->wrong_bytes > 0)
        return failed(fmt::format("{} {} B window {}: {} wrong bytes", to_string(cell.via),
                                  work.bytes, work.window, reply->wrong_bytes));
    const double halves = work.shape == Shape::ping_pong ? 2 : 1;
    return Sample{elapsed / 1e3 / iterations / halves, std::min(share, reply->share)};
}

/// Again, a few times, when one of the threads did not get its core; the least disturbed one
/// counts.
Outcome<Sample> BenchRank::measure_undisturbed(std::uint32_t index) {
    Sample best;
    for (int tries = 0; tries < kTries && best.share < kCleanShare; ++tries) {
        if (tries > 0 && repeat_until_.passed()) break;
        auto sample = measure(index, cells_[index].work.iterations, false);
        if (!sample) return sample;
        if (tries == 0 || sample->share > best.share) best = *sample;
    }
    return best;
}

Outcome<void> BenchRank::check_and_calibrate(std::uint32_t index) {
    Workload& work = cells_[index].work;
    const std::uint32_t buffers = buffer_count(work);
    if (auto checked = measure(index, buffers, true); !checked) return failed(checked.error());
    result_.checked_bytes += std::uint64_t{buffers} * work.bytes;
    std::uint32_t iterations = std::max(16u, 2 * work.window);
    for (;;) {
        auto sample = measure(index, iterations, false);
        if (!sample) return failed(sample.error());
        const double halves = work.shape == Shape::ping_pong ? 2 : 1;
        const double seconds = sample->microseconds * halves * iterations * 1e-6;
        const double wanted = iterations * options_.measurement_s / std::max(seconds, 1e-9);
        work.iterations = static_cast<std::uint32_t>(
            std::clamp(wanted, 1.0 * std::max(16u, 2 * work.window), 1.0 * kMaxIterations));
        if (seconds > options_.measurement_s / 4 || iterations == kMaxIterations) return {};
        iterations = std::min(iterations * 4, kMaxIterations);
    }
}

Outcome<void> BenchRank::lead() {
    const auto count = static_cast<std::uint32_t>(cells_.size());
    for (std::uint32_t i = 0; i < count; ++i)
        if (auto done = check_and_calibrate(i); !done) return done;
    const double planned = options_.rounds * options_.measurement_s * count;
    repeat_until_ = Deadline(static_cast<Nanoseconds>(2 * planned * kSecond));
    for (std::uint32_t round = 0; round < static_cast<std::uint32_t>(options_.rounds); ++round) {
        for (std::uint32_t step = 0; step < count; ++step) {
            const std::uint32_t index = round % 2 == 0 ? step : count - 1 - step;
            auto sample = measure_undisturbed(index);
            if (!sample) return failed(sample.error());
            result_.samples[index][round] = *sample;
        }
        result_.rounds = round + 1;
    }
    if (auto sent = channel_.send_value(Command{}); !sent) return failed(describe(sent.error()));
    return {};
}

Status BenchRank::follow_one(const Command& command) {
    const Cell& cell = cells_[command.cell];
    Workload work = cell.work;
    work.iterations = command.iterations;
    if (command.check) std::fill(rx_.begin(), rx_.end(), std::byte{0});
    DUOFI_TRY(driver(cell.via).prepare(work));
    DUOFI_TRY(channel_.send_value(Reply{}));
    const Stopwatch watch;
    DUOFI_TRY(driver(cell.via).follow(work));
    Reply reply{watch.share(), 0};
    for (std::uint32_t i = 0; command.check && i < command.iterations; ++i)
        reply.wrong_bytes +=
            count_wrong(std::span(rx_).subspan(buffer_offset(work, i), work.bytes), key(cell, i));
    return channel_.send_value(reply);
}

Outcome<void> BenchRank::follow() {
    for (;;) {
        const auto command =
            channel_.receive_value<Command>(Deadline(kStepLimit), [&] { return raw_->poll(); });
        if (!command) return failed("next command: " + describe(command.error()));
        if (command->iterations == 0) return {};
        if (command->cell >= cells_.size()) return failed("command for a cell that is not there");
        if (auto done = follow_one(*command); !done) return failed(describe(done.error()));
    }
}

Outcome<void> BenchRank::run(const std::string& provider) {
    set_plugin_environment(provider);
    route_logs();
    if (auto done = open_raw(); !done) return done;
    if (auto done = open_net(); !done) return done;
    return rank_ == 0 ? lead() : follow();
}

}  // namespace

int run_bench_rank(int rank, PairChannel channel, const std::string& provider,
                   const BenchOptions& options, BenchResult& result) {
    const auto bench = std::make_unique<BenchRank>(rank, std::move(channel), options, result);
    const auto done = bench->run(provider);
    if (done) return kOk;
    if (result.error[0] == '\0')  // the first to fail knows the cause
        set_text(result.error, fmt::format("rank {}: {}", rank, done.error()).c_str());
    return result.no_device ? kSkipped : kFailedCheck;
}

}  // namespace duofi::tool
