#include "common/util/fork_mark.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace duofi {

ForkMark::ForkMark() noexcept {
    const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* page = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return;
    if (::madvise(page, bytes, MADV_WIPEONFORK) != 0) {
        ::munmap(page, bytes);
        return;
    }
    page_ = new (page) std::atomic<unsigned>(1);
}

ForkMark::~ForkMark() {
    if (page_ != nullptr) ::munmap(page_, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)));
}

}  // namespace duofi
