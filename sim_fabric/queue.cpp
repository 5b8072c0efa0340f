#include "sim_fabric/queue.hpp"

#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>

#include "sim_fabric/domain.hpp"
#include "sim_fabric/endpoint.hpp"
#include "sim_fabric/knobs.hpp"

namespace duofi::sim {
namespace {

constexpr std::size_t kUsualCapacity = 4096;
constexpr std::size_t kSlack = 4;  // completions that one packet may add

std::size_t entry_bytes(fi_cq_format format) noexcept {
    switch (format) {
        case FI_CQ_FORMAT_MSG: return sizeof(fi_cq_msg_entry);
        case FI_CQ_FORMAT_DATA: return sizeof(fi_cq_data_entry);
        case FI_CQ_FORMAT_TAGGED: return sizeof(fi_cq_tagged_entry);
        default: return sizeof(fi_cq_entry);
    }
}

}  // namespace

CompletionQueue::CompletionQueue(Domain& domain, const fi_cq_attr& attributes)
    : fid_cq{},
      domain_(domain),
      format_(attributes.format == FI_CQ_FORMAT_UNSPEC ? FI_CQ_FORMAT_TAGGED : attributes.format),
      capacity_(std::max<std::size_t>(attributes.size != 0 ? attributes.size : kUsualCapacity, 2 * kSlack)) {
    domain_.add_object();
}

// Queues of efa cannot be waited on (prov/efa/src/rdm/efa_rdm_cq.c), so no personality's can.
int CompletionQueue::open(fid_domain* domain, fi_cq_attr* attributes, fid_cq** cq, void* context) {
    if (const int code = failing(Site::cq_open); code != 0) return code;
    if (attributes->wait_obj != FI_WAIT_NONE && attributes->wait_obj != FI_WAIT_UNSPEC) return -FI_ENOSYS;
    static fi_ops base = object_ops(close);
    static auto ops = [] {
        auto made = refusing<fi_ops_cq, &fi_ops_cq::sread, &fi_ops_cq::sreadfrom, &fi_ops_cq::signal>();
        made.read = read;
        made.readfrom = readfrom;
        made.readerr = readerr;
        made.strerror = strerror;
        return made;
    }();
    std::unique_ptr<CompletionQueue> made(new CompletionQueue(*static_cast<Domain*>(domain), *attributes));
    made->fid = {FI_CLASS_CQ, context, &base};
    made->ops = &ops;
    *cq = made.release();
    return 0;
}

int CompletionQueue::close(Fid* object) {
    auto* self = static_cast<CompletionQueue*>(reinterpret_cast<fid_cq*>(object));
    {
        const std::scoped_lock lock(self->endpoints_mutex_);
        if (!self->endpoints_.empty()) return -FI_EBUSY;
    }
    self->domain_.remove_object();
    delete self;
    return 0;
}

void CompletionQueue::add(Endpoint& endpoint) {
    const std::scoped_lock lock(endpoints_mutex_);
    if (std::find(endpoints_.begin(), endpoints_.end(), &endpoint) == endpoints_.end()) endpoints_.push_back(&endpoint);
}

void CompletionQueue::remove(Endpoint& endpoint) noexcept {
    const std::scoped_lock lock(endpoints_mutex_);
    std::erase(endpoints_, &endpoint);
}

void CompletionQueue::write(const Completion& completion, Nanoseconds at) {
    const std::scoped_lock lock(mutex_);
    if (at != 0) return late_.push_back({completion, at});
    ready_.push_back(completion);
    if (knobs().no_length && (completion.entry.flags & (FI_RECV | FI_REMOTE_WRITE)) != 0) ready_.back().entry.len = 0;
    if (knobs().no_source) ready_.back().source = FI_ADDR_NOTAVAIL;
}

bool CompletionQueue::full() {
    const std::scoped_lock lock(mutex_);
    return ready_.size() + kSlack > capacity_;
}

void CompletionQueue::progress() {
    const std::scoped_lock lock(endpoints_mutex_);
    for (Endpoint* endpoint : endpoints_) endpoint->progress_by_caller();
}

void CompletionQueue::admit_late() {
    const auto due = [now = now_ns()](const Late& late) { return late.at <= now; };
    for (const Late& late : late_)
        if (due(late)) ready_.push_back(late.completion);
    std::erase_if(late_, due);
}

// fi_cq(3): an error at the head is announced with -FI_EAVAIL and read by readerr; nothing overtakes it.
ssize_t CompletionQueue::take(void* entries, std::size_t count, fi_addr_t* sources) {
    const std::size_t bytes = entry_bytes(format_);
    const std::scoped_lock lock(mutex_);
    if (!late_.empty()) admit_late();
    std::size_t taken = 0;
    while (taken < count && !ready_.empty() && ready_.front().error == 0) {
        std::memcpy(static_cast<std::byte*>(entries) + taken * bytes, &ready_.front().entry, bytes);
        if (sources != nullptr) sources[taken] = ready_.front().source;
        ready_.pop_front();
        ++taken;
    }
    if (taken != 0) return static_cast<ssize_t>(taken);
    return ready_.empty() ? -FI_EAGAIN : -FI_EAVAIL;
}

ssize_t CompletionQueue::read(fid_cq* cq, void* entries, std::size_t count) { return readfrom(cq, entries, count, nullptr); }

ssize_t CompletionQueue::readfrom(fid_cq* cq, void* entries, std::size_t count, fi_addr_t* sources) {
    if (const int code = failing(Site::cq_read); code != 0) return code;
    auto& self = *static_cast<CompletionQueue*>(cq);
    self.progress();
    return self.take(entries, count, sources);
}

ssize_t CompletionQueue::readerr(fid_cq* cq, fi_cq_err_entry* entry, std::uint64_t) {
    auto& self = *static_cast<CompletionQueue*>(cq);
    const std::scoped_lock lock(self.mutex_);
    if (self.ready_.empty() || self.ready_.front().error == 0) return -FI_EAGAIN;
    const Completion& failed = self.ready_.front();
    entry->op_context = failed.entry.op_context;
    entry->flags = failed.entry.flags;
    entry->len = failed.entry.len;
    entry->buf = failed.entry.buf;
    entry->data = failed.entry.data;
    entry->tag = failed.entry.tag;
    entry->olen = failed.cut_off;
    entry->err = failed.error;
    entry->prov_errno = failed.provider_error;
    entry->err_data = nullptr;
    entry->err_data_size = 0;
    self.ready_.pop_front();
    return 1;
}

const char* CompletionQueue::strerror(fid_cq*, int code, const void*, char* text, std::size_t length) {
    static thread_local char own[48];
    char* to = text != nullptr && length != 0 ? text : own;
    std::snprintf(to, to == own ? sizeof(own) : length, "simulated device error %d", code);
    return to;
}

}  // namespace duofi::sim
