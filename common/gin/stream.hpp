// A recorded stream of descriptors and its file form. Regions are numbers there (order of
// registration, from 1 on; 0 = none), so a stream runs again in another process. Threads: a
// StreamRecorder may be fed by several proxy threads; a Stream is a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "common/gin/descriptor.hpp"
#include "common/util/clock.hpp"
#include "common/util/error.hpp"

namespace duofi::gin {

inline constexpr std::uint32_t kStreamVersion = 1;

/// What a device communicator must be like to run the stream.
struct StreamShape {
    std::uint32_t ranks = 0, rank = 0, contexts = 0;
    std::uint32_t signals = 0, counters = 0;  ///< per context
    std::uint32_t depth = 0;
    bool operator==(const StreamShape&) const = default;
};

/// One descriptor as the proxy took it from a ring.
struct StreamEntry {
    std::uint32_t context = 0;  ///< of the device communicator
    std::uint32_t peer = 0;     ///< rank of the exchange
    Nanoseconds time = 0;       ///< since the recorder was made
    PackedDescriptor packed;    ///< with numbers for handles
    /// Everything but the time.
    [[nodiscard]] bool same_operation(const StreamEntry& other) const noexcept {
        return context == other.context && peer == other.peer && packed == other.packed;
    }
};

struct Stream {
    StreamShape shape;
    std::vector<std::uint64_t> region_bytes;  ///< by number, from 1 on
    std::vector<StreamEntry> entries;
    std::uint64_t dropped = 0;  ///< taken after the recorder was full
};

/// File: little-endian. Magic "DUOFIGIN", u32 version, u32 header bytes (64), the six numbers of
/// the shape, u32 regions, u32 entry bytes (144), u64 entries, u64 dropped; then u64 per region;
/// then per entry u32 context, u32 peer, u64 time in ns, 16 words. Errors: Errc::system for the
/// file itself.
[[nodiscard]] Status save(const Stream& stream, const std::string& path);
/// Errors: Errc::system when it cannot be read, Errc::invalid_argument when it is no stream of this
/// version, is cut short or too long, or names ranks, contexts or regions that it does not have.
[[nodiscard]] Result<Stream> load_stream(const std::string& path);

/// Replaces the handles of a descriptor by what `change` makes of them; words that hold no handle
/// (inline values, flushes) stay.
[[nodiscard]] PackedDescriptor with_handles(
    const PackedDescriptor& packed, const std::function<std::uint64_t(std::uint64_t)>& change);

class StreamRecorder {
  public:
    explicit StreamRecorder(std::size_t capacity) : capacity_(capacity), begin_(now_ns()) {}

    void set_shape(const StreamShape& shape);
    /// A region with one handle per connection gets the next number.
    void add_region(const std::vector<const void*>& handles, std::uint64_t bytes);
    void add(std::uint32_t context, std::uint32_t peer, const PackedDescriptor& packed);
    [[nodiscard]] Stream stream() const;

  private:
    [[nodiscard]] std::uint64_t number_of(std::uint64_t handle) const;

    mutable std::mutex mutex_;
    std::size_t capacity_;
    Nanoseconds begin_;
    Stream stream_;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> numbers_;  // handle, number
};

}  // namespace duofi::gin
