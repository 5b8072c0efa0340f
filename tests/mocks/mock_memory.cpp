#include "tests/mocks/mock_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace duofi::mock {
namespace {

constexpr std::uint64_t kMagic = 0x6b636f6d6f667564ULL;
constexpr int kGarbage = 0xA5;

std::uintptr_t number_of(const void* address) {
    return reinterpret_cast<std::uintptr_t>(address);
}

}  // namespace

Memory& Memory::instance() {
    static Memory memory;
    return memory;
}

MockControl& Memory::control() {
    static MockControl control = [] {
        MockControl fresh{};
        fresh.devices = 2;
        fresh.far_a = fresh.far_b = -1;
        return fresh;
    }();
    return control;
}

void* Memory::allocate(std::size_t bytes, int device) {
    const std::scoped_lock lock(mutex_);
    if (control().memory != 0 && used_ + bytes > control().memory) return nullptr;
    const int fd = ::memfd_create("mock", MFD_CLOEXEC);
    if (fd < 0 || ::ftruncate(fd, static_cast<off_t>(bytes)) != 0) return nullptr;
    void* base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED) return nullptr;
    std::memset(base, kGarbage, bytes);
    blocks_[number_of(base)] = {base, bytes, device, fd, 0, ::getpid(), next_++};
    used_ += bytes;
    ++control().blocks;
    return base;
}

bool Memory::release(void* base) {
    const std::scoped_lock lock(mutex_);
    run_queue();
    const auto found = blocks_.find(number_of(base));
    if (found == blocks_.end() || found->second.count != 0) return false;
    ::munmap(base, found->second.bytes);
    ::close(found->second.fd);
    used_ -= found->second.bytes;
    blocks_.erase(found);
    --control().blocks;
    return true;
}

Block Memory::find(const void* address) {
    const std::scoped_lock lock(mutex_);
    auto found = blocks_.upper_bound(number_of(address));
    if (found == blocks_.begin()) return {};
    --found;
    return number_of(address) - found->first < found->second.bytes ? found->second : Block{};
}

bool Memory::make_handle(const void* address, Handle& handle) {
    const Block block = find(address);
    if (block.bytes == 0 || block.count != 0 || control().no_ipc != 0) return false;
    handle = {};
    handle.magic = kMagic;
    handle.number = block.number;
    handle.bytes = block.bytes;
    handle.pid = block.pid;
    handle.fd = block.fd;
    handle.device = block.device;
    return true;
}

Opened Memory::open(const Handle& handle, void*& base) {
    if (handle.magic != kMagic) return Opened::damaged;
    if (handle.pid == ::getpid()) return Opened::own_process;
    const std::scoped_lock lock(mutex_);
    for (auto& [at, block] : blocks_)
        if (block.count != 0 && block.pid == handle.pid && block.number == handle.number) {
            ++block.count;
            ++control().opened;
            base = block.base;
            return Opened::ok;
        }
    char path[64];
    std::snprintf(path, sizeof(path), "/proc/%d/fd/%d", handle.pid, handle.fd);
    const int fd = ::open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return Opened::damaged;
    void* mapped = ::mmap(nullptr, handle.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::close(fd);
    if (mapped == MAP_FAILED) return Opened::damaged;
    blocks_[number_of(mapped)] = {mapped,     handle.bytes, handle.device, -1,
                                  1,          handle.pid,   handle.number};
    ++control().imports;
    ++control().opened;
    base = mapped;
    return Opened::ok;
}

bool Memory::close(void* base) {
    const std::scoped_lock lock(mutex_);
    const auto found = blocks_.find(number_of(base));
    if (found == blocks_.end() || found->second.count == 0) return false;
    ++control().closed;
    if (--found->second.count != 0) return true;
    ::munmap(base, found->second.bytes);
    blocks_.erase(found);
    --control().imports;
    return true;
}

void Memory::queue(std::function<void()> work) {
    const std::scoped_lock lock(mutex_);
    queue_.push_back(std::move(work));
}

void Memory::run_queue() {
    for (const auto& work : queue_) work();
    queue_.clear();
}

void Memory::synchronize() {
    const std::scoped_lock lock(mutex_);
    run_queue();
}

void Memory::copy(void* to, const void* from, std::size_t bytes) {
    // Behind what was queued before it, as on one stream.
    queue([=] { std::memmove(to, from, bytes); });
}

bool Memory::enable_peer(int device, int peer) {
    const std::scoped_lock lock(mutex_);
    bool& enabled = peers_[{device, peer}];
    return std::exchange(enabled, true) == false;
}

bool Memory::disable_peer(int device, int peer) {
    const std::scoped_lock lock(mutex_);
    bool& enabled = peers_[{device, peer}];
    return std::exchange(enabled, false);
}

bool Memory::far_apart(int a, int b) {
    const MockControl& c = control();
    return (a == c.far_a && b == c.far_b) || (a == c.far_b && b == c.far_a);
}

}  // namespace duofi::mock

DUOFI_MOCK_EXPORT MockControl* duofi_mock_control() {
    return &duofi::mock::Memory::control();
}
