// What a kernel may do with one context (rma contract 4.3), for threads of the CPU. Threads: any
// number at once, except barrier and the resets, which one thread of a context calls at a time.
// Every wait ends at the limit of the device communicator or when the proxy has failed; one that
// concerns a single peer (credit, flush, barrier) then names it in the log.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "common/gin/proxy_context.hpp"
#include "common/gin/window.hpp"

namespace duofi::gin {

enum class GinStatus { done, timed_out, failed, bad_argument };
[[nodiscard]] const char* to_string(GinStatus status) noexcept;

/// Puts and gets are cut into pieces of this size (rma contract 4.3).
inline constexpr std::uint64_t kChunkBytes = std::uint64_t{1} << 30;

struct DeviceOptions {
    std::uint64_t chunk_bytes = kChunkBytes;  ///< at least 1
    Nanoseconds limit = 30 * kSecond;         ///< of one wait
    bool strong_barrier = true;
};

/// What a put or signal does to a word on the target.
struct Signal {
    enum class Kind { none, indexed, address } kind = Kind::none;
    bool add = false;  ///< else increment
    bool strong = true;
    std::uint32_t id = 0;  ///< indexed
    std::uint64_t value = 1;
    Window window;             ///< address
    std::uint64_t offset = 0;  ///< address: bytes from the target's base

    [[nodiscard]] static Signal inc(std::uint32_t id) { return indexed(false, id, 1); }
    [[nodiscard]] static Signal plus(std::uint32_t id, std::uint64_t value) {
        return indexed(true, id, value);
    }
    [[nodiscard]] static Signal inc_at(const Window& window, std::uint64_t offset) {
        return {Kind::address, false, true, 0, 1, window, offset};
    }
    [[nodiscard]] static Signal plus_at(const Window& window, std::uint64_t offset,
                                        std::uint64_t value) {
        return {Kind::address, true, true, 0, value, window, offset};
    }
    static Signal indexed(bool add, std::uint32_t id, std::uint64_t value) {
        return {Kind::indexed, add, true, id, value, {}, 0};
    }
};

/// A place in a window.
struct Place {
    const Window& window;
    std::uint64_t offset = 0;
};

inline constexpr int kNoCounter = -1;

/// A view; the device communicator must outlive it. Peers are ranks of the exchange; one outside
/// the connection's group is a bad argument.
class Device {
  public:
    Device(ProxyContext& part, int context, int connection, const DeviceOptions& options) noexcept
        : part_(&part), context_(context), connection_(connection), options_(&options) {}

    [[nodiscard]] int rank() const noexcept;
    [[nodiscard]] const Members& members() const noexcept { return part_->members(); }

    /// Copies bytes from this rank to `peer`, then signals. `counter` counts the completion of the
    /// last piece.
    GinStatus put(int peer, Place dst, Place src, std::uint64_t bytes, const Signal& signal = {},
                  int counter = kNoCounter);
    /// A value of 1, 2, 4 or 8 bytes goes with the descriptor.
    template <typename T>
    GinStatus put_value(int peer, Place dst, T value, const Signal& signal = {},
                        int counter = kNoCounter) {
        static_assert(std::is_trivially_copyable_v<T> && (sizeof(T) & (sizeof(T) - 1)) == 0 &&
                      sizeof(T) <= 8);
        std::uint64_t bits = 0;
        std::memcpy(&bits, &value, sizeof value);
        return put_inline(peer, dst, bits, sizeof(T), signal, counter);
    }
    /// A signal without data.
    GinStatus signal(int peer, const Signal& signal, int counter = kNoCounter);
    /// Reads from `peer`; visible after flush. Nothing for 0 bytes.
    GinStatus get(int peer, Place remote, Place local, std::uint64_t bytes);
    /// Everything issued so far to the peer (to all) is done, gets are visible.
    GinStatus flush(int peer);
    GinStatus flush();

    /// Waits until the signal has grown by at least `least` since its last reset.
    GinStatus wait_signal(std::uint32_t id, std::uint64_t least);
    [[nodiscard]] std::uint64_t read_signal(std::uint32_t id) const noexcept;
    /// The current value becomes the new zero.
    void reset_signal(std::uint32_t id) noexcept;
    GinStatus wait_counter(std::uint32_t id, std::uint64_t least);
    [[nodiscard]] std::uint64_t read_counter(std::uint32_t id) const noexcept;
    /// Only while no operation with this counter is outstanding.
    void reset_counter(std::uint32_t id) noexcept;

    /// Returns when all members have called it. With `fence` the earlier puts and gets of this
    /// context are done before. The own arrivals may still be under way to the others: flush before
    /// the communicator goes.
    GinStatus barrier(bool fence = true);

    /// Posts a descriptor as it is; waits for credit. `peer` is a number of the group. When the
    /// wait for credit ends without it, the context is of no further use: its ring has a hole.
    GinStatus post(int peer, const PackedDescriptor& packed);

  private:
    GinStatus put_inline(int peer, Place dst, std::uint64_t bits, std::uint64_t bytes,
                         const Signal& signal, int counter);
    GinStatus post(int peer, const Descriptor& descriptor);
    GinStatus post_address_signal(int peer, const Signal& signal);
    GinStatus drain(int member, std::uint32_t& gets);
    GinStatus flush_members(int begin, int end);
    GinStatus flush_gets();
    [[nodiscard]] bool set_signal(Descriptor& descriptor, const Signal& signal) const noexcept;
    [[nodiscard]] bool set_counter(Descriptor& descriptor, int counter) const noexcept;
    template <typename Ready>
    GinStatus wait(Ready&& ready) const;
    /// A wait that only this member can end: a time-out is logged with its rank.
    template <typename Ready>
    GinStatus wait_for(int member, const char* what, Ready&& ready) const;

    ProxyContext* part_;
    int context_;
    int connection_;
    const DeviceOptions* options_;
};

}  // namespace duofi::gin
