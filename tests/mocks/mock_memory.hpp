// Memory of the mock drivers: blocks of CPU memory in sealed files, handles that really lead to
// another process, a queue of work that is done when somebody waits for it. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "tests/mocks/control.h"

#define DUOFI_MOCK_EXPORT extern "C" __attribute__((visibility("default")))

namespace duofi::mock {

struct Block {
    void* base = nullptr;
    std::size_t bytes = 0;
    int device = 0;
    int fd = -1;
    int count = 0;  ///< opens of an import; 0 for what this process has allocated
    int pid = 0;    ///< of the exporter
    std::uint64_t number = 0;
};

/// In the first bytes of a 64-byte handle.
struct Handle {
    std::uint64_t magic;
    std::uint64_t number;
    std::uint64_t bytes;
    std::int32_t pid;
    std::int32_t fd;
    std::int32_t device;
    char rest[28];
};
static_assert(sizeof(Handle) == 64);

enum class Opened { ok, own_process, damaged };

class Memory {
  public:
    [[nodiscard]] static Memory& instance();
    [[nodiscard]] static MockControl& control();

    /// Full of garbage. NULL: not enough memory.
    [[nodiscard]] void* allocate(std::size_t bytes, int device);
    [[nodiscard]] bool release(void* base);
    /// By any address inside; bytes == 0: unknown.
    [[nodiscard]] Block find(const void* address);
    [[nodiscard]] bool make_handle(const void* address, Handle& handle);
    [[nodiscard]] Opened open(const Handle& handle, void*& base);
    [[nodiscard]] bool close(void* base);

    /// Work goes on behind the caller's back: nothing of it is done before synchronize().
    void queue(std::function<void()> work);
    void synchronize();
    void copy(void* to, const void* from, std::size_t bytes);

    /// False when it is so already.
    [[nodiscard]] bool enable_peer(int device, int peer);
    [[nodiscard]] bool disable_peer(int device, int peer);
    [[nodiscard]] static bool far_apart(int a, int b);

  private:
    void run_queue();
    std::mutex mutex_;
    std::map<std::uintptr_t, Block> blocks_;
    std::vector<std::function<void()>> queue_;
    std::map<std::pair<int, int>, bool> peers_;
    std::uint64_t next_ = 1;
    std::size_t used_ = 0;
};

}  // namespace duofi::mock
