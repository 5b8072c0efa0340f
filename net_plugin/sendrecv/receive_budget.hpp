// How many large receives an endpoint leaves at the provider. Some providers keep all posted receives in one queue
// of a fixed length (shm of libfabric 1.17: 1024). Full of receives whose senders have nothing to send yet, it would
// hold up the messages that everybody waits for. Guarded by the endpoint's lock.
#pragma once

#include <cstddef>
#include <limits>

namespace duofi::net {

class ReceiveBudget {
  public:
    static constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();
    explicit ReceiveBudget(std::size_t most = kNoLimit) : most_(most), unasked_(most - most / 4) {}
    ReceiveBudget(const ReceiveBudget&) = delete;
    ReceiveBudget& operator=(const ReceiveBudget&) = delete;

    /// Room for one more receive? The last quarter is for those whose sender is ready and has `asked`: they always
    /// come back, so that every connection goes on however many receives wait on the others.
    [[nodiscard]] bool take(bool asked) noexcept {
        if (posted_ >= (asked ? most_ : unasked_)) return false;
        ++posted_;
        return true;
    }
    /// For a receive that takes the place of one that is coming back.
    void take_over() noexcept { ++posted_; }
    /// A receive has come back from the provider.
    void give_back() noexcept { --posted_; }

    [[nodiscard]] std::size_t posted() const noexcept { return posted_; }

  private:
    std::size_t most_;
    std::size_t unasked_;
    std::size_t posted_ = 0;
};

}  // namespace duofi::net
