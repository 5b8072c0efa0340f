// Runs a function at the end of a scope unless released.
#pragma once

#include <utility>

namespace duofi {

template <typename F>
class ScopeExit {
  public:
    explicit ScopeExit(F f) : f_(std::move(f)) {}
    ~ScopeExit() {
        if (armed_) f_();
    }
    ScopeExit(const ScopeExit&) = delete;
    ScopeExit& operator=(const ScopeExit&) = delete;
    void release() noexcept { armed_ = false; }

  private:
    F f_;
    bool armed_ = true;
};

}  // namespace duofi
