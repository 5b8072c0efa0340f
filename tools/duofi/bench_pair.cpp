#include "tools/duofi/bench_pair.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <ctime>
#include <memory>

#include "tools/duofi/bench_sides.hpp"
#include "tools/duofi/gin_demo.hpp"
#include "tools/duofi/net_opening.hpp"
#include "tools/duofi/pattern.hpp"

namespace duofi::tool {
namespace {

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
    Outcome<void> lead();
    Outcome<void> follow();
    Outcome<Sample> measure(std::uint32_t index, std::uint32_t iterations, bool check);
    Outcome<Sample> measure_undisturbed(std::uint32_t index);
    Outcome<void> check_and_calibrate(std::uint32_t index);
    Status follow_one(const Command& command);
    void fill(const Cell& cell, std::uint32_t buffers);
    std::uint64_t wrong_bytes(const Cell& cell, std::uint32_t buffers) const;
    PatternKey key(const Cell& cell, std::uint32_t slot) const {
        return {static_cast<std::uint64_t>(cell.via) + 1, cell.work.bytes, slot};
    }

    int rank_;
    PairChannel channel_;
    const BenchOptions& options_;
    BenchResult& result_;
    std::vector<std::byte> tx_ = std::vector<std::byte>(kBenchMemory);
    std::vector<std::byte> rx_ = std::vector<std::byte>(kBenchMemory);
    std::vector<Cell> cells_ = bench_cells(result_.part);
    Deadline repeat_until_{0};  // a machine that is never quiet must not make the run endless
    std::unique_ptr<BenchSides> sides_;  // last: closed before the memory goes
};

/// Both ranks fill, so that a get finds as much as a put brings.
void BenchRank::fill(const Cell& cell, std::uint32_t buffers) {
    std::fill(rx_.begin(), rx_.end(), std::byte{0});
    for (std::uint32_t i = 0; i < buffers; ++i)
        fill_pattern(std::span(tx_).subspan(buffer_offset(cell.work, i), cell.work.bytes),
                     key(cell, i));
}

std::uint64_t BenchRank::wrong_bytes(const Cell& cell, std::uint32_t buffers) const {
    std::uint64_t wrong = 0;
    for (std::uint32_t i = 0; i < buffers; ++i)
        wrong += count_wrong(
            std::span(rx_).subspan(buffer_offset(cell.work, i), cell.work.bytes), key(cell, i));
    return wrong;
}

Outcome<Sample> BenchRank::measure(std::uint32_t index, std::uint32_t iterations, bool check) {
    const Cell& cell = cells_[index];
    Workload work = cell.work;
    work.iterations = iterations;
    const auto explain = [&](const Error& error) {
        return failed(fmt::format("{} {} B window {}: {}", to_string(cell.via), work.bytes,
                                  work.window, describe(error)));
    };
    const PairChannel::Idle idle = [&] { return sides_->raw().poll(); };
    if (check) fill(cell, iterations);
    if (auto sent = channel_.send_value(Command{index, iterations, check ? 1u : 0u}); !sent)
        return explain(sent.error());
    auto ready = channel_.receive_value<Reply>(Deadline(kStepLimit), idle);
    if (!ready) return explain(ready.error());
    const Stopwatch watch;
    if (auto done = sides_->driver(cell.via).lead(work); !done) return explain(done.error());
    const double share = watch.share();
    const auto elapsed = static_cast<double>(watch.elapsed());
    auto reply = channel_.receive_value<Reply>(Deadline(kStepLimit), idle);
    if (!reply) return explain(reply.error());
    const std::uint64_t wrong =
        check && gets(cell.via) ? wrong_bytes(cell, iterations) : reply->wrong_bytes;
    if (wrong > 0)
        return failed(fmt::format("{} {} B window {}: {} wrong bytes", to_string(cell.via),
                                  work.bytes, work.window, wrong));
    return Sample{elapsed / 1e3 / iterations / parts_of(work), std::min(share, reply->share)};
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
        const double seconds = sample->microseconds * parts_of(work) * iterations * 1e-6;
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
    if (command.check) fill(cell, command.iterations);
    Driver& driver = sides_->driver(cell.via);
    DUOFI_TRY(driver.prepare(work));
    DUOFI_TRY(channel_.send_value(Reply{}));
    const Stopwatch watch;
    DUOFI_TRY(driver.follow(work));
    Reply reply{watch.share(), 0};
    if (command.check && !gets(cell.via)) reply.wrong_bytes = wrong_bytes(cell, command.iterations);
    return channel_.send_value(reply);
}

Outcome<void> BenchRank::follow() {
    for (;;) {
        const auto command =
            channel_.receive_value<Command>(Deadline(kStepLimit), [&] { return sides_->raw().poll(); });
        if (!command) return failed("next command: " + describe(command.error()));
        if (command->iterations == 0) return {};
        if (command->cell >= cells_.size()) return failed("command for a cell that is not there");
        if (auto done = follow_one(*command); !done) return failed(describe(done.error()));
    }
}

Outcome<void> BenchRank::run(const std::string& provider) {
    set_plugin_environment(provider);
    set_rma_environment();
    route_logs();
    auto sides = BenchSides::open(rank_, channel_, {tx_, rx_}, result_);
    if (!sides) return failed(sides.error());
    sides_ = std::move(*sides);
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
