// Keys of memory regions where the provider leaves them to us (G3, P7): random 64-bit values cut to the
// provider's key size, never derived from an address, never reused while in use (report A12).
// Not thread-safe: guarded by the registration cache's mutex.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <unordered_set>

namespace duofi::ofi {

class KeyAllocator {
  public:
    /// `key_bytes`: mr_key_size granted by the provider, 1..8.
    explicit KeyAllocator(std::size_t key_bytes)
        : mask_(key_bytes >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * key_bytes)) - 1),
          random_(std::random_device{}()) {}

    /// A key that is not in use, or false when all keys of the key size are.
    [[nodiscard]] bool acquire(std::uint64_t& key) {
        if (in_use_.size() > mask_ - 1) return false;
        do {
            key = random_() & mask_;
        } while (key == 0 || in_use_.count(key) != 0);  // 0 is the key of careless peers (P3)
        in_use_.insert(key);
        return true;
    }
    void release(std::uint64_t key) { in_use_.erase(key); }
    [[nodiscard]] std::size_t in_use() const noexcept { return in_use_.size(); }

  private:
    std::uint64_t mask_;
    std::mt19937_64 random_;
    std::unordered_set<std::uint64_t> in_use_;
};

}  // namespace duofi::ofi
