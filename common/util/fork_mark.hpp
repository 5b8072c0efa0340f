// Tells whether this process is a fork of the one that set the mark, without a system call: one page that the
// kernel empties in children (architecture 4.14). Any thread.
#pragma once

#include <atomic>

namespace duofi {

class ForkMark {
  public:
    ForkMark() noexcept;
    ~ForkMark();
    ForkMark(const ForkMark&) = delete;
    ForkMark& operator=(const ForkMark&) = delete;

    /// true in every child forked after construction. false where the kernel cannot tell.
    [[nodiscard]] bool in_child() const noexcept {
        return page_ != nullptr && page_->load(std::memory_order_relaxed) == 0;
    }

  private:
    std::atomic<unsigned>* page_ = nullptr;
};

}  // namespace duofi
