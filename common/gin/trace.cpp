#include "common/gin/trace.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "common/gin/descriptor.hpp"

namespace duofi::gin {
namespace {

/// Peers and contexts share one number line of threads.
constexpr std::uint64_t kPeersPerContext = 1u << 16;

struct CloseFile {
    void operator()(std::FILE* file) const noexcept {
        if (file != nullptr) std::fclose(file);
    }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

std::string json_of(const TraceEvent& event, int rank, Nanoseconds origin) {
    const std::uint64_t thread = event.context * kPeersPerContext + event.peer;
    return fmt::format(
        "{{\"name\":\"{}\",\"cat\":\"gin\",\"ph\":\"X\",\"ts\":{:.3f},\"dur\":{:.3f},\"pid\":{},"
        "\"tid\":{},\"args\":{{\"bytes\":{},\"context\":{},\"peer\":{},\"hinted\":{}}}}}",
        op_name(event.op), static_cast<double>(event.begin - origin) / 1e3,
        static_cast<double>(event.end - event.begin) / 1e3, rank, thread, event.bytes,
        event.context, event.peer, event.hinted);
}

}  // namespace

const char* op_name(std::uint16_t op) noexcept {
    if (op & op_va_signal) return "va_signal";
    if (op & op_get) return "get";
    if (op & op_flush) return "flush";
    const bool signals = (op & (op_signal_inc | op_signal_add)) != 0;
    if (op & op_inline) return signals ? "put_value+signal" : "put_value";
    if (op & op_put) return signals ? "put+signal" : "put";
    return "unknown";
}

Trace::Trace(std::size_t capacity, int rank)
    : events_(std::make_unique<TraceEvent[]>(capacity)), capacity_(capacity), rank_(rank) {}

void Trace::add(const TraceEvent& event) noexcept {
    const std::size_t at = used_.fetch_add(1, std::memory_order_relaxed);
    if (at < capacity_) events_[at] = event;
}

std::size_t Trace::size() const noexcept {
    return std::min(used_.load(std::memory_order_acquire), capacity_);
}

std::uint64_t Trace::dropped() const noexcept {
    const std::size_t used = used_.load(std::memory_order_acquire);
    return used > capacity_ ? used - capacity_ : 0;
}

Status Trace::write_json(const std::string& path) const {
    const File file(std::fopen(path.c_str(), "we"));
    if (!file) return fail(Errc::system, "fopen", errno);
    Nanoseconds origin = size() == 0 ? 0 : events_[0].begin;
    for (std::size_t i = 0; i < size(); ++i) origin = std::min(origin, events_[i].begin);
    std::string text = fmt::format(
        "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"dropped\":{}}},\"traceEvents\":[\n"
        "{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":{},\"args\":{{\"name\":\"rank {}\"}}}}",
        dropped(), rank_, rank_);
    for (std::size_t i = 0; i < size(); ++i) text += ",\n" + json_of(events_[i], rank_, origin);
    text += "\n]}\n";
    if (std::fwrite(text.data(), 1, text.size(), file.get()) != text.size() ||
        std::fflush(file.get()) != 0)
        return fail(Errc::system, "fwrite", errno);
    return {};
}

}  // namespace duofi::gin
