// The only file that knows spdlog. There is no registered logger, no thread and nothing that a
// static destructor would take away: a line may still be logged while the process ends.
#include "common/util/log.hpp"

#ifndef SPDLOG_FMT_EXTERNAL
#define SPDLOG_FMT_EXTERNAL 1
#endif
#define SPDLOG_NO_THREAD_ID
#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/sink.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "common/util/clock.hpp"
#include "common/util/messages/log.hpp"

namespace duofi::log {
namespace {

constexpr Nanoseconds kSwapPatience = 5 * kSecond;
constexpr int kNobody = -1;

// A place for a sink. Whoever wants to call it counts itself in `users` first and then looks
// whether the place is still the active one; so a place that is not active and has no users may be
// refilled.
struct Place {
    alignas(Sink) std::array<std::byte, sizeof(Sink)> storage{};  // a Sink while `filled`
    bool filled = false;                                          // under swap_mutex
    std::atomic<int> users{0};

    Sink& sink() noexcept { return *std::launder(reinterpret_cast<Sink*>(storage.data())); }
    void fill(Sink&& sink) noexcept {
        ::new (static_cast<void*>(storage.data())) Sink(std::move(sink));
        filled = true;
    }
    void clear() noexcept {
        if (std::exchange(filled, false)) std::destroy_at(&sink());
    }
};

// Two would do; the others are for sinks that hung and had to be left behind.
constinit std::array<Place, 4> places;
constinit std::atomic<int> active{kNobody};
constinit std::mutex swap_mutex;
constinit std::atomic<int> threshold{static_cast<int>(Level::info)};

// Keeps the active sink alive while one line goes through it.
class SinkUse {
  public:
    SinkUse() noexcept {
        for (int i = active.load(); i != kNobody; i = active.load()) {
            Place& place = places[static_cast<std::size_t>(i)];
            place.users.fetch_add(1);
            if (active.load() == i) {
                place_ = &place;
                return;
            }
            place.users.fetch_sub(1);
        }
    }
    ~SinkUse() {
        if (place_ != nullptr) place_->users.fetch_sub(1);
    }
    SinkUse(const SinkUse&) = delete;
    SinkUse& operator=(const SinkUse&) = delete;
    explicit operator bool() const noexcept { return place_ != nullptr; }
    const Sink& sink() const noexcept { return place_->sink(); }

  private:
    Place* place_ = nullptr;
};

// Hands spdlog's finished messages to one of our sinks. Lives as long as one line.
class CallerSink final : public spdlog::sinks::sink {
  public:
    CallerSink(const Sink& target, Level level, unsigned long subsystems) noexcept
        : target_(target), caller_level_(level), subsystems_(subsystems) {}
    void log(const spdlog::details::log_msg& message) override {
        target_(caller_level_, subsystems_, message.source.filename, message.source.line,
                message.payload.data());
    }
    void flush() override {}
    void set_pattern(const std::string&) override {}
    void set_formatter(std::unique_ptr<spdlog::formatter>) override {}

  private:
    const Sink& target_;
    Level caller_level_;
    unsigned long subsystems_;
};

spdlog::level::level_enum spdlog_level(Level level) noexcept {
    switch (level) {
        case Level::warn:
            return spdlog::level::warn;
        case Level::trace:
            return spdlog::level::trace;
        case Level::abort:
            return spdlog::level::critical;
        default:
            return spdlog::level::info;
    }
}

void make_one_line(fmt::memory_buffer& text) {
    while (text.size() != 0 && text[text.size() - 1] == '\n') text.resize(text.size() - 1);
    const auto is_control = [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    };
    std::replace_if(text.begin(), text.end(), is_control, ' ');
    text.push_back('\0');
}

// Waits until nobody is inside the place; false when patience ends first.
bool drained(const Place& place) noexcept {
    const Deadline deadline(kSwapPatience);
    timespec pause{0, 20'000};
    while (place.users.load() != 0) {
        if (deadline.passed()) return false;
        ::nanosleep(&pause, nullptr);
        pause.tv_nsec = std::min<long>(pause.tv_nsec * 2, kMillisecond);
    }
    return true;
}

// An unused place, emptied; kNobody when hung sinks occupy all.
int free_place(int in_use) noexcept {
    for (std::size_t i = 0; i < places.size(); ++i) {
        if (static_cast<int>(i) == in_use || places[i].users.load() != 0) continue;
        places[i].clear();
        return static_cast<int>(i);
    }
    return kNobody;
}

}  // namespace

void set_sink(Sink sink) {
    const std::lock_guard lock(swap_mutex);
    const int before = active.load();
    int after = kNobody;
    if (sink) {
        const Deadline deadline(kSwapPatience);
        while ((after = free_place(before)) == kNobody && !deadline.passed()) {
            constexpr timespec kPause{0, kMillisecond};
            ::nanosleep(&kPause, nullptr);
        }
        if (after != kNobody) places[static_cast<std::size_t>(after)].fill(std::move(sink));
    }
    active.store(after);
    if (before == kNobody) return;
    Place& old = places[static_cast<std::size_t>(before)];
    if (drained(old)) old.clear();
}

void set_threshold(Level level) noexcept {
    threshold.store(static_cast<int>(level), std::memory_order_relaxed);
}

bool enabled(Level level) noexcept {
    return static_cast<int>(level) <= threshold.load(std::memory_order_relaxed);
}

void write(Level level, unsigned long subsystems, const char* file, int line,
           fmt::string_view format, fmt::format_args args) noexcept {
    const SinkUse use;
    if (!use) return;
    try {
        fmt::memory_buffer text;
        fmt::vformat_to(std::back_inserter(text), format, args);
        make_one_line(text);
        spdlog::logger logger("duofi", std::make_shared<CallerSink>(use.sink(), level, subsystems));
        logger.set_level(spdlog::level::trace);
        logger.set_error_handler([](const std::string&) {});  // the sink threw: the line is lost
        logger.log(spdlog::source_loc{file, line, ""}, spdlog_level(level),
                   spdlog::string_view_t(text.data(), text.size() - 1));
    } catch (...) {
        try {
            use.sink()(level, subsystems, file, line, messages::kLineLost);
        } catch (...) {  // nobody is left who could be told
        }
    }
}

}  // namespace duofi::log
