#include "common/local/segment_table.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "common/local/process_watch.hpp"
#include "common/util/clock.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/local.hpp"

namespace duofi::local {

namespace {

constexpr Nanoseconds kServicePatience = 5 * kSecond;

std::uintptr_t number(const void* address) noexcept { return reinterpret_cast<std::uintptr_t>(address); }

tl::unexpected<Error> not_ours() { return fail(Errc::invalid_argument, messages::kNotOurMemory, EINVAL); }

}  // namespace

SegmentTable::SegmentTable(SegmentTableOptions options)
    : options_(std::move(options)), self_(read_host_identity(options_.proc_root.c_str())) {}

SegmentTable::~SegmentTable() {
    service_.reset();
    // A child has none of the mappings; something else may be where they were.
    if (fork_mark_.in_child()) [[maybe_unused]] const auto* leaked = new Entries(std::move(entries_));
}

Status SegmentTable::probe() const {
    DUOFI_ASSIGN(const Segment segment, Segment::create({.bytes = kSegmentUnit}, self_, 0));
    DUOFI_ASSIGN(const IpcHandle handle, segment.handle(0, HandleKind::memfd, self_));
    const std::string path = options_.proc_root + "/self/fd/" + std::to_string(handle.fd);
    UniqueFd descriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!descriptor) return fail(Errc::system, messages::kProbeOpen, errno);
    DUOFI_TRY(Segment::import(std::move(descriptor), handle));
    return {};
}

bool SegmentTable::serve() {
    if (fork_mark_.in_child()) return false;
    const std::scoped_lock lock(mutex_);
    serve_descriptors();
    return service_ != nullptr;
}

Status SegmentTable::refuse_child() const {
    if (fork_mark_.in_child()) return fail(Errc::invalid_usage, messages::kForkedChild, EPERM);
    return {};
}

Result<void*> SegmentTable::allocate(const SegmentRequest& request) {
    DUOFI_TRY(refuse_child());
    std::uint32_t generation = 0;
    {
        const std::scoped_lock lock(mutex_);
        generation = ++generations_;
    }
    DUOFI_ASSIGN(Segment segment, Segment::create(request, self_, generation));
    std::byte* data = segment.data();
    const std::scoped_lock lock(mutex_);
    entries_.emplace(number(data), Entry{std::move(segment), request.tag});
    return data;
}

Status SegmentTable::free(void* memory) {
    DUOFI_TRY(refuse_child());
    if (memory == nullptr) return {};
    const std::scoped_lock lock(mutex_);
    const auto entry = entries_.find(number(memory));
    if (entry == entries_.end() || !entry->second.segment.owned() || entry->second.freed) return not_ours();
    entry->second.freed = true;
    entry->second.segment.mark_dead();
    entry->second.segment.close_descriptor();
    drop_if_unused(entry);
    return {};
}

Result<HandleBytes> SegmentTable::export_handle(void* address) {
    DUOFI_TRY(refuse_child());
    const std::scoped_lock lock(mutex_);
    const auto entry = around(address);
    if (entry == entries_.end() || !entry->second.segment.owned() || entry->second.freed) return not_ours();
    serve_descriptors();
    const HandleKind kind = service_ != nullptr ? HandleKind::memfd_service : HandleKind::memfd;
    DUOFI_ASSIGN(const IpcHandle handle,
                 entry->second.segment.handle(number(address) - entry->first, kind, self_));
    return encode(handle);
}

// Lock held. Once: what fails now would fail again.
void SegmentTable::serve_descriptors() {
    if (service_ != nullptr || service_tried_ || !options_.serve_descriptors) return;
    service_tried_ = true;
    auto started = FdService::start(*this, self_, options_.socket_dir);
    if (started)
        service_ = std::move(*started);
    else
        log::info(log::init, messages::kFdServiceUnavailable, started.error().provider_errno,
                  std::generic_category().message(started.error().provider_errno), started.error().place);
}

UniqueFd SegmentTable::descriptor_of(std::uint32_t generation, std::uint64_t nonce) {
    const std::scoped_lock lock(mutex_);
    for (const auto& [base, entry] : entries_) {
        const SegmentKey& key = entry.segment.key();
        if (!entry.segment.owned() || key.generation != generation || key.nonce != nonce) continue;
        return UniqueFd(::fcntl(entry.segment.descriptor(), F_DUPFD_CLOEXEC, 0));
    }
    return UniqueFd();
}

Result<void*> SegmentTable::open(std::span<const std::byte> bytes) {
    DUOFI_TRY(refuse_child());
    DUOFI_ASSIGN(const IpcHandle handle, decode(bytes));
    if (handle.kind == HandleKind::raw_pointer) return fail(Errc::invalid_argument, messages::kHandleRaw, EINVAL);
    const bool mine = handle.pid == self_.pid && handle.start_time == self_.start_time &&
                      handle.pid_namespace == static_cast<std::uint32_t>(self_.pid_namespace);
    {
        const std::scoped_lock lock(mutex_);
        Entry* known = by_identity(handle, mine);
        if (known != nullptr) return use(*known, handle);
        if (mine) return fail(Errc::invalid_argument, messages::kHandleStale, EINVAL);
    }
    if ((handle.flags & kHandleHugePages) != 0 && !options_.accept_huge_pages)
        return fail(Errc::invalid_argument, messages::kHandleHugePages, EINVAL);
    DUOFI_ASSIGN(UniqueFd descriptor, fetch(handle));
    DUOFI_ASSIGN(Segment segment, Segment::import(std::move(descriptor), handle));
    const std::scoped_lock lock(mutex_);
    if (Entry* known = by_identity(handle, false); known != nullptr) return use(*known, handle);  // meanwhile
    const std::uintptr_t base = number(segment.data());
    return use(entries_.emplace(base, Entry{std::move(segment), -1}).first->second, handle);
}

// Lock held.
Result<void*> SegmentTable::use(Entry& entry, const IpcHandle& handle) {
    if (handle.bytes != entry.segment.bytes()) return fail(Errc::invalid_argument, messages::kHandleBounds, EINVAL);
    ++entry.opens[handle.offset];
    return entry.segment.data() + handle.offset;
}

Result<UniqueFd> SegmentTable::fetch(const IpcHandle& handle) const {
    const auto ask_service = [&] {
        return fetch_descriptor(
            fd_service_address(handle.pid, handle.start_time, handle.pid_namespace, options_.socket_dir),
            handle.generation, handle.nonce, Deadline(kServicePatience));
    };
    const bool served = handle.kind == HandleKind::memfd_service;
    if (handle.pid_namespace != static_cast<std::uint32_t>(self_.pid_namespace)) {
        if (served) return ask_service();
        return fail(Errc::system, messages::kHandleNamespace, EXDEV);
    }
    const HostIdentity exporter{self_.boot_hash, self_.pid_namespace, handle.start_time, handle.pid};
    const auto process = open_process(exporter, self_, options_.proc_root.c_str());
    if (!process && process.error().provider_errno == ESRCH) return tl::unexpected(process.error());
    const std::string path =
        options_.proc_root + "/" + std::to_string(handle.pid) + "/fd/" + std::to_string(handle.fd);
    UniqueFd descriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    const int error = descriptor ? 0 : errno;
    // Whoever opened that path has it from the exporter only if the exporter still lives.
    if (process ? process_ended(*process) : process_gone(exporter, self_, options_.proc_root.c_str()))
        return fail(Errc::system, messages::kExporterGone, ESRCH);
    if (descriptor) return descriptor;
    if (served) return ask_service();  // whatever /proc said: ENOENT is also what it hides
    if (error == EACCES || error == EPERM) return fail(Errc::system, messages::kExporterForbidden, error);
    return fail(Errc::system, error == ENOENT ? messages::kExporterClosed : messages::kSegmentMap, error);
}

Status SegmentTable::close(void* address) {
    DUOFI_TRY(refuse_child());
    const std::scoped_lock lock(mutex_);
    const auto entry = around(address);
    if (entry == entries_.end()) return fail(Errc::invalid_argument, messages::kNotOpened, EINVAL);
    auto& opens = entry->second.opens;
    const auto count = opens.find(number(address) - entry->first);
    if (count == opens.end()) return fail(Errc::invalid_argument, messages::kNotOpened, EINVAL);
    if (--count->second == 0) opens.erase(count);
    drop_if_unused(entry);
    return {};
}

Status SegmentTable::retain(const void* address) {
    DUOFI_TRY(refuse_child());
    const std::scoped_lock lock(mutex_);
    const auto entry = around(address);
    if (entry == entries_.end()) return not_ours();
    ++entry->second.retains;
    return {};
}

Status SegmentTable::release(const void* address) {
    DUOFI_TRY(refuse_child());
    const std::scoped_lock lock(mutex_);
    const auto entry = around(address);
    if (entry == entries_.end()) return not_ours();
    if (entry->second.retains == 0) return fail(Errc::invalid_argument, messages::kNotRetained, EINVAL);
    --entry->second.retains;
    drop_if_unused(entry);
    return {};
}

Status SegmentTable::reserve(const void* address, std::size_t bytes) {
    DUOFI_TRY(refuse_child());
    DUOFI_TRY(retain(address));
    const Segment* segment = nullptr;
    std::size_t offset = 0;
    {
        const std::scoped_lock lock(mutex_);
        const auto entry = around(address);
        segment = &entry->second.segment;
        offset = number(address) - entry->first;
    }
    const Status status = segment->reserve(offset, bytes);
    DUOFI_TRY(release(address));
    return status;
}

Status SegmentTable::close_descriptors(void* memory) {
    DUOFI_TRY(refuse_child());
    const std::scoped_lock lock(mutex_);
    const auto entry = around(memory);
    if (entry == entries_.end() || !entry->second.segment.owned()) return not_ours();
    entry->second.segment.close_descriptor();
    return {};
}

std::optional<SegmentInfo> SegmentTable::find(const void* address) const {
    if (fork_mark_.in_child()) return std::nullopt;
    const std::scoped_lock lock(mutex_);
    const auto entry = const_cast<SegmentTable*>(this)->around(address);
    if (entry == entries_.end()) return std::nullopt;
    const Entry& found = entry->second;
    return SegmentInfo{found.segment.data(), found.segment.bytes(), found.segment.owned(), found.freed,
                       found.uses(), found.tag};
}

std::optional<bool> SegmentTable::owner_alive(const void* address) const {
    if (fork_mark_.in_child()) return std::nullopt;
    const std::scoped_lock lock(mutex_);
    const auto entry = const_cast<SegmentTable*>(this)->around(address);
    if (entry == entries_.end()) return std::nullopt;
    return entry->second.segment.owner_alive();
}

std::size_t SegmentTable::size() const {
    if (fork_mark_.in_child()) return 0;
    const std::scoped_lock lock(mutex_);
    return entries_.size();
}

// Lock held.
SegmentTable::Entries::iterator SegmentTable::around(const void* address) {
    auto entry = entries_.upper_bound(number(address));
    if (entry == entries_.begin()) return entries_.end();
    --entry;
    return entry->second.segment.contains(address) ? entry : entries_.end();
}

// Lock held.
SegmentTable::Entry* SegmentTable::by_identity(const IpcHandle& handle, bool owned) {
    for (auto& [base, entry] : entries_) {
        const SegmentKey& key = entry.segment.key();
        if (entry.segment.owned() == owned && !entry.freed && key.generation == handle.generation &&
            key.nonce == handle.nonce && key.inode == handle.inode)
            return &entry;
    }
    return nullptr;
}

std::uint32_t SegmentTable::Entry::uses() const {
    std::uint32_t sum = retains;
    for (const auto& [offset, count] : opens) sum += count;
    return sum;
}

// Lock held. An own segment goes when it was freed, an imported one when nobody uses it.
void SegmentTable::drop_if_unused(Entries::iterator entry) {
    const Entry& found = entry->second;
    if (found.uses() == 0 && (found.freed || !found.segment.owned())) entries_.erase(entry);
}

}  // namespace duofi::local
