// A bounded log of finished operations that is written as a trace in the JSON form of Chrome and
// Perfetto (ui.perfetto.dev opens it). Threads: add from any thread, without a lock; write_json
// when no thread adds.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "common/util/clock.hpp"
#include "common/util/error.hpp"

namespace duofi::gin {

/// One operation from its issue to its completion.
struct TraceEvent {
    std::uint16_t op = 0;  ///< Op bits of the descriptor
    bool hinted = false;
    std::uint32_t context = 0;  ///< of the device communicator
    std::uint32_t peer = 0;     ///< rank of the exchange
    std::uint64_t bytes = 0;
    Nanoseconds begin = 0, end = 0;
};

/// "put", "put+signal", "get", "flush", ...; never needs escaping.
[[nodiscard]] const char* op_name(std::uint16_t op) noexcept;

class Trace {
  public:
    /// Room for `capacity` events; later ones are counted and dropped.
    Trace(std::size_t capacity, int rank);

    void add(const TraceEvent& event) noexcept;
    [[nodiscard]] std::size_t size() const noexcept;
    [[nodiscard]] std::uint64_t dropped() const noexcept;

    /// One process per rank, one thread per (context, peer); times in microseconds from the first
    /// event on. Error: Errc::system.
    [[nodiscard]] Status write_json(const std::string& path) const;

  private:
    std::unique_ptr<TraceEvent[]> events_;
    std::size_t capacity_;
    int rank_;
    std::atomic<std::size_t> used_{0};
};

}  // namespace duofi::gin
