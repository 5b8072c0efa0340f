#include "common/local/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <utility>

#include "common/local/memory_limit.hpp"
#include "common/local/pages.hpp"
#include "common/util/messages/local.hpp"

namespace duofi::local {

namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

std::size_t control_size(bool huge_pages) {
    return huge_pages ? kSegmentUnit : kControlBytes;
}

Result<UniqueFd> make_memfd(bool huge_pages) {
    constexpr unsigned kNoExecSeal = 0x8;  // of Linux 6.3; MFD_NOEXEC_SEAL in newer headers
    constexpr unsigned kHuge = MFD_HUGETLB | (21U << MAP_HUGE_SHIFT);  // of 2 MiB
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING | (huge_pages ? kHuge : 0U);
    int fd = ::memfd_create("duofi-segment", flags | kNoExecSeal);
    if (fd < 0 && errno == EINVAL) fd = ::memfd_create("duofi-segment", flags);
    if (fd < 0) return fail(Errc::system, messages::kSegmentCreate, errno);
    UniqueFd memfd(fd);
    if (::fchmod(fd, S_IRUSR | S_IWUSR) != 0) return fail(Errc::system, messages::kSegmentCreate, errno);
    return memfd;
}

// A file above the limit would be answered with a signal that ends the process.
Status check_limits(std::size_t file_bytes, std::size_t reserve_bytes) {
    rlimit files{};
    if (::getrlimit(RLIMIT_FSIZE, &files) == 0 && files.rlim_cur != RLIM_INFINITY && files.rlim_cur < file_bytes)
        return fail(Errc::no_memory, messages::kSegmentFileLimit, EFBIG);
    if (reserve_bytes > memory_headroom()) return fail(Errc::no_memory, messages::kSegmentMemoryLimit, ENOMEM);
    return {};
}

Status allocate_range(int fd, std::size_t offset, std::size_t bytes) {
    if (bytes == 0) return {};
    while (::fallocate(fd, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)) != 0) {
        if (errno == EINTR) continue;
        return fail(Errc::no_memory, messages::kSegmentMemory, errno);
    }
    return {};
}

Result<std::uint64_t> random_word() {
    std::uint64_t word = 0;
    if (::getrandom(&word, sizeof(word), 0) != sizeof(word))
        return fail(Errc::system, messages::kSegmentCreate, errno);
    return word;
}

std::atomic_ref<std::uint32_t> shared(std::uint32_t& word) noexcept {
    return std::atomic_ref<std::uint32_t>(word);
}

}  // namespace

Result<Segment> Segment::create(const SegmentRequest& request, const HostIdentity& self,
                                std::uint32_t generation) {
    if (request.bytes == 0 || request.bytes > kLargestSegment)
        return fail(Errc::invalid_argument, messages::kSegmentSize, EINVAL);
    Segment segment;
    segment.owned_ = true;
    segment.bytes_ = (request.bytes + kSegmentUnit - 1) / kSegmentUnit * kSegmentUnit;
    segment.huge_pages_ = request.huge_pages && free_huge_pages() > segment.bytes_ / kSegmentUnit;
    segment.control_bytes_ = control_size(segment.huge_pages_);
    const std::size_t total = segment.bytes_ + segment.control_bytes_;
    const std::size_t reserved = std::min(segment.bytes_, round_to_pages(request.reserve_bytes));
    DUOFI_TRY(check_limits(total, reserved + segment.control_bytes_));
    DUOFI_ASSIGN(segment.descriptor_, make_memfd(segment.huge_pages_));
    const int fd = segment.descriptor_.get();
    if (::ftruncate(fd, static_cast<off_t>(total)) != 0)
        return fail(Errc::no_memory, messages::kSegmentResize, errno);
    DUOFI_TRY(segment.map());
    if (request.numa_node >= 0) prefer_node(segment.data_, total, request.numa_node);
    if (request.huge_pages && !segment.huge_pages_) ::madvise(segment.data_, segment.bytes_, MADV_HUGEPAGE);
    DUOFI_TRY(allocate_range(fd, segment.bytes_, segment.control_bytes_));
    DUOFI_TRY(allocate_range(fd, 0, reserved));
    struct stat status {};
    if (::fstat(fd, &status) != 0) return fail(Errc::system, messages::kSegmentCreate, errno);
    DUOFI_ASSIGN(const std::uint64_t nonce, random_word());
    segment.key_ = {static_cast<std::uint32_t>(status.st_ino), generation, nonce};
    segment.control() = {kControlMagic, kControlVersion, generation, nonce, segment.bytes_, self.start_time,
                         self.pid,      0,               0,          0};
    if (::fcntl(fd, F_ADD_SEALS, kSeals) != 0) return fail(Errc::system, messages::kSegmentSeal, errno);
    return segment;
}

Result<Segment> Segment::import(UniqueFd descriptor, const IpcHandle& handle) {
    const auto refuse = [](const char* reason) { return fail(Errc::invalid_argument, reason, EINVAL); };
    Segment segment;
    segment.bytes_ = handle.bytes;
    segment.huge_pages_ = (handle.flags & kHandleHugePages) != 0;
    segment.control_bytes_ = control_size(segment.huge_pages_);
    segment.key_ = {handle.inode, handle.generation, handle.nonce};
    struct stat status {};
    if (::fstat(descriptor.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink != 0)
        return refuse(messages::kDescriptorKind);
    if (status.st_uid != ::geteuid()) return refuse(messages::kDescriptorOwner);
    if (static_cast<std::uint32_t>(status.st_ino) != handle.inode) return refuse(messages::kDescriptorInode);
    // Without the seals the other side could make our loads and stores fault. The size counts only once it is sealed.
    const int seals = ::fcntl(descriptor.get(), F_GET_SEALS);
    if (seals < 0 || (seals & kSeals) != kSeals) return refuse(messages::kDescriptorSeals);
    if (::fstat(descriptor.get(), &status) != 0 ||
        static_cast<std::uint64_t>(status.st_size) != segment.bytes_ + segment.control_bytes_)
        return refuse(messages::kDescriptorSize);
    segment.descriptor_ = std::move(descriptor);
    DUOFI_TRY(segment.map());
    segment.descriptor_.reset();
    const ControlPage& page = segment.control();
    if (page.magic != kControlMagic || page.version != kControlVersion || page.nonce != handle.nonce ||
        page.generation != handle.generation || page.bytes != handle.bytes || page.pid != handle.pid ||
        page.start_time != handle.start_time)
        return refuse(messages::kControlPage);
    shared(segment.control().importers).fetch_add(1, std::memory_order_relaxed);
    segment.imported_ = true;
    return segment;
}

Status Segment::map() {
    const std::size_t total = bytes_ + control_bytes_;
    void* mapped = map_aligned(descriptor_.get(), total, kSegmentUnit);
    if (mapped == nullptr)
        return fail(errno == ENOMEM ? Errc::no_memory : Errc::system, messages::kSegmentMap, errno);
    data_ = static_cast<std::byte*>(mapped);
    ::madvise(mapped, total, MADV_DONTFORK);
    return {};
}

Segment::Segment(Segment&& other) noexcept { *this = std::move(other); }

Segment& Segment::operator=(Segment&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(control_bytes_, other.control_bytes_);
    std::swap(key_, other.key_);
    std::swap(descriptor_, other.descriptor_);
    std::swap(owned_, other.owned_);
    std::swap(imported_, other.imported_);
    std::swap(huge_pages_, other.huge_pages_);
    return *this;
}

Segment::~Segment() {
    if (data_ == nullptr) return;
    if (imported_) shared(control().importers).fetch_sub(1, std::memory_order_relaxed);
    ::munmap(data_, bytes_ + control_bytes_);
}

ControlPage& Segment::control() const noexcept { return *reinterpret_cast<ControlPage*>(data_ + bytes_); }

bool Segment::contains(const void* address) const noexcept {
    const auto* byte = static_cast<const std::byte*>(address);
    return byte >= data_ && byte < data_ + bytes_;
}

Status Segment::reserve(std::size_t offset, std::size_t bytes) const {
    if (offset > bytes_ || bytes > bytes_ - offset)
        return fail(Errc::invalid_argument, messages::kSegmentRange, EINVAL);
    return populate(data_ + offset, bytes);
}

Result<IpcHandle> Segment::handle(std::size_t offset, HandleKind kind, const HostIdentity& self) const {
    if (!descriptor_) return fail(Errc::invalid_usage, messages::kSegmentNotExported, EBADF);
    IpcHandle handle;
    handle.kind = kind;
    handle.flags = static_cast<std::uint16_t>(kHandleSealed | (huge_pages_ ? kHandleHugePages : 0));
    handle.pid = self.pid;
    handle.fd = descriptor_.get();
    handle.start_time = self.start_time;
    handle.pid_namespace = static_cast<std::uint32_t>(self.pid_namespace);
    handle.generation = key_.generation;
    handle.bytes = bytes_;
    handle.offset = offset;
    handle.nonce = key_.nonce;
    handle.inode = key_.inode;
    return handle;
}

void Segment::mark_dead() noexcept { shared(control().dead).store(1, std::memory_order_release); }

bool Segment::owner_alive() const noexcept {
    return shared(control().dead).load(std::memory_order_acquire) == 0;
}

std::uint32_t Segment::importers() const noexcept {
    return shared(control().importers).load(std::memory_order_relaxed);
}

}  // namespace duofi::local
