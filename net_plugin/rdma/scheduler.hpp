// Over which rails a message goes, and in how many parts (net contract 5.4). Values; one per comm, under the endpoint's lock.
#pragma once

#include <algorithm>
#include <cstddef>

namespace duofi::net {

struct Stripes {
    std::size_t count = 1;
    std::size_t bytes = 0;       ///< of each but the last
    std::size_t first_rail = 0;  ///< the others follow, and begin again behind the last rail
};

class Scheduler {
  public:
    /// A part is at least `min_stripe` bytes long, where the message is; messages below `small` bytes have a turn of their own.
    Scheduler(std::size_t min_stripe, std::size_t small) : min_stripe_(std::max<std::size_t>(min_stripe, 1)), small_(small) {}

    /// `size` > 0 bytes, 1 to 4 rails.
    [[nodiscard]] Stripes plan(std::size_t size, std::size_t rails) noexcept {
        if (size < small_) return {1, size, next_small_++ % rails};
        std::size_t count = std::min((size - 1) / min_stripe_ + 1, rails);
        while (rails % count != 0) --count;
        const std::size_t bytes = ((size - 1) / count / kLine + 1) * kLine;
        count = (size - 1) / bytes + 1;
        const std::size_t first = next_ % rails;
        next_ = first + count;
        return {count, bytes, first};
    }

  private:
    static constexpr std::size_t kLine = 128;  ///< LL128 lines do not straddle rails (net contract 8.1)

    std::size_t min_stripe_;
    std::size_t small_;
    std::size_t next_ = 0;
    std::size_t next_small_ = 0;
};

}  // namespace duofi::net
