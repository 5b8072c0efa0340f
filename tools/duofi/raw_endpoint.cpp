#include "tools/duofi/raw_endpoint.hpp"

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "tools/duofi/bench_driver.hpp"

namespace duofi::tool {
namespace {

struct InfoFree {
    void operator()(fi_info* info) const noexcept { fi_freeinfo(info); }
};
using InfoList = std::unique_ptr<fi_info, InfoFree>;

constexpr std::size_t kCompletionBatch = 16;
constexpr std::size_t kQueueEntries = 4096;

std::uint32_t usable_version() {
    return std::min<std::uint32_t>(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), fi_version());
}

InfoList make_hints(const RawConfig& config) {
    InfoList hints(fi_allocinfo());
    if (!hints) return hints;
    hints->caps = FI_TAGGED | FI_RMA | FI_MSG;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode =
        FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_LOCAL | FI_MR_ENDPOINT;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;  // one thread: the cheapest that fits
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->fabric_attr->prov_name = strdup(config.provider.c_str());
    if (!config.domain.empty()) hints->domain_attr->name = strdup(config.domain.c_str());
    return hints;
}

/// Does the provider still offer itself when completions have to mean delivery?
bool grants_delivery(fi_info& hints) {
    hints.tx_attr->op_flags = FI_DELIVERY_COMPLETE;
    fi_info* found = nullptr;
    const int rc = fi_getinfo(usable_version(), nullptr, nullptr, 0, &hints, &found);
    const InfoList list(found);
    hints.tx_attr->op_flags = 0;
    return rc == 0 && found != nullptr;
}

/// The entry to use: exact provider, IPv4 before anything else.
fi_info* choose(fi_info* list, const RawConfig& config) {
    fi_info* any = nullptr;
    for (fi_info* entry = list; entry; entry = entry->next) {
        if (config.provider != entry->fabric_attr->prov_name) continue;
        if (entry->addr_format == FI_SOCKADDR_IN) return entry;
        if (!any) any = entry;
    }
    return any;
}

}  // namespace

RawEndpoint::RawEndpoint(const RawConfig& config)
    : config_(config), sends_(config.contexts), receives_(config.contexts) {}

Result<std::unique_ptr<RawEndpoint>> RawEndpoint::open(const RawConfig& config) {
    const InfoList hints = make_hints(config);
    if (!hints) return fail(Errc::no_memory, "fi_allocinfo", FI_ENOMEM);
    fi_info* found = nullptr;
    const int rc = fi_getinfo(usable_version(), nullptr, nullptr, 0, hints.get(), &found);
    const InfoList list(found);
    if (rc != 0) return fail(Errc::no_data, "fi_getinfo", -rc);
    fi_info* info = choose(list.get(), config);
    if (!info) return fail(Errc::no_data, "choice of provider", FI_ENODATA);
    std::unique_ptr<RawEndpoint> self(new RawEndpoint(config));
    self->delivery_ = grants_delivery(*hints);
    DUOFI_TRY(self->open_objects(*info));
    DUOFI_TRY(self->register_memory(*info));
    DUOFI_TRY(self->read_name());
    return self;
}

Status RawEndpoint::open_objects(fi_info& info) {
    fid_fabric* fabric = nullptr;
    if (int rc = fi_fabric(info.fabric_attr, &fabric, nullptr))
        return fail(Errc::system, "fi_fabric", -rc);
    fabric_.reset(fabric);
    fid_domain* domain = nullptr;
    if (int rc = fi_domain(fabric, &info, &domain, nullptr))
        return fail(Errc::system, "fi_domain", -rc);
    domain_.reset(domain);
    fi_av_attr av_attr{};
    av_attr.type = info.domain_attr->av_type;
    fid_av* addresses = nullptr;
    if (int rc = fi_av_open(domain, &av_attr, &addresses, nullptr))
        return fail(Errc::system, "fi_av_open", -rc);
    addresses_.reset(addresses);
    fi_cq_attr cq_attr{};
    cq_attr.size = kQueueEntries;
    cq_attr.format = FI_CQ_FORMAT_TAGGED;
    cq_attr.wait_obj = FI_WAIT_NONE;
    fid_cq* queue = nullptr;
    if (int rc = fi_cq_open(domain, &cq_attr, &queue, nullptr))
        return fail(Errc::system, "fi_cq_open", -rc);
    queue_.reset(queue);
    fid_ep* endpoint = nullptr;
    if (int rc = fi_endpoint(domain, &info, &endpoint, nullptr))
        return fail(Errc::system, "fi_endpoint", -rc);
    endpoint_.reset(endpoint);
    if (int rc = fi_ep_bind(endpoint, &addresses->fid, 0))
        return fail(Errc::system, "fi_ep_bind", -rc);
    if (int rc = fi_ep_bind(endpoint, &queue->fid, FI_TRANSMIT | FI_RECV))
        return fail(Errc::system, "fi_ep_bind", -rc);
    if (int rc = fi_enable(endpoint)) return fail(Errc::system, "fi_enable", -rc);
    return {};
}

Result<RawFid<fid_mr>> RawEndpoint::register_range(fi_info& info, std::span<std::byte> range,
                                                   std::uint64_t access, std::uint64_t key) {
    fid_mr* region = nullptr;
    if (int rc = fi_mr_reg(domain_.get(), range.data(), range.size(), access, 0, key, 0, &region,
                           nullptr))
        return fail(Errc::system, "fi_mr_reg", -rc);
    RawFid<fid_mr> owned(region);
    if (info.domain_attr->mr_mode & FI_MR_ENDPOINT) {
        if (int rc = fi_mr_bind(region, &endpoint_->fid, 0))
            return fail(Errc::system, "fi_mr_bind", -rc);
        if (int rc = fi_mr_enable(region)) return fail(Errc::system, "fi_mr_enable", -rc);
    }
    return owned;
}

Status RawEndpoint::register_memory(fi_info& info) {
    // Application keys must differ within a domain (P7).
    DUOFI_ASSIGN(tx_region_,
                 register_range(info, config_.tx, FI_SEND | FI_WRITE | FI_REMOTE_READ, 0x71));
    DUOFI_ASSIGN(rx_region_,
                 register_range(info, config_.rx, FI_RECV | FI_READ | FI_REMOTE_WRITE, 0x72));
    exposed_.tx.key = fi_mr_key(tx_region_.get());
    exposed_.rx.key = fi_mr_key(rx_region_.get());
    if (info.domain_attr->mr_mode & FI_MR_VIRT_ADDR) {
        exposed_.tx.address = reinterpret_cast<std::uintptr_t>(config_.tx.data());
        exposed_.rx.address = reinterpret_cast<std::uintptr_t>(config_.rx.data());
    }
    return {};
}

Status RawEndpoint::read_name() {
    std::size_t length = 0;
    fi_getname(&endpoint_->fid, nullptr, &length);  // fails by design and tells the length
    name_.resize(length);
    if (int rc = fi_getname(&endpoint_->fid, name_.data(), &length))
        return fail(Errc::system, "fi_getname", -rc);
    name_.resize(length);
    return {};
}

Status RawEndpoint::set_peer(std::span<const std::byte> name, const RawExposed& remote) {
    if (fi_av_insert(addresses_.get(), name.data(), 1, &peer_, 0, nullptr) != 1)
        return fail(Errc::system, "fi_av_insert", FI_EINVAL);
    remote_ = remote;
    return {};
}

Status RawEndpoint::report_failed_entry() {
    fi_cq_err_entry entry{};
    if (fi_cq_readerr(queue_.get(), &entry, 0) != 1)
        return fail(Errc::system, "fi_cq_readerr", FI_EOTHER);
    return fail(Errc::remote, "completion of a raw operation", entry.err);
}

Status RawEndpoint::poll() {
    std::array<fi_cq_tagged_entry, kCompletionBatch> entries;
    const ssize_t count = fi_cq_read(queue_.get(), entries.data(), entries.size());
    if (count == -FI_EAGAIN) return {};
    if (count == -FI_EAVAIL) return report_failed_entry();
    if (count < 0) return fail(Errc::system, "fi_cq_read", static_cast<std::int32_t>(-count));
    for (ssize_t i = 0; i < count; ++i) {
        const fi_cq_tagged_entry& entry = entries[static_cast<std::size_t>(i)];
        // A target completion is told by these two flags, not by FI_RMA, and has no context (P1).
        if ((entry.flags & FI_REMOTE_CQ_DATA) && (entry.flags & FI_REMOTE_WRITE))
            ++writes_seen_;
        else if (entry.op_context)
            static_cast<Operation*>(entry.op_context)->pending = false;
    }
    return {};
}

template <typename Ready>
Status RawEndpoint::wait(const char* what, Ready&& ready) {
    SpinLimit limit(config_.wait_limit);
    while (!ready()) {
        DUOFI_TRY(poll());
        if (limit.passed()) return fail(Errc::timed_out, what);
    }
    return {};
}

template <typename Post>
Status RawEndpoint::post(Operation& operation, const char* what, Post&& attempt) {
    ssize_t rc = -FI_EAGAIN;
    operation.pending = true;
    DUOFI_TRY(wait(what, [&] { return (rc = attempt()) != -FI_EAGAIN; }));
    if (rc == 0) return {};
    operation.pending = false;
    return fail(Errc::system, what, static_cast<std::int32_t>(-rc));
}

Status RawEndpoint::post_send(unsigned slot, std::size_t offset, std::size_t bytes,
                              std::uint64_t tag) {
    Operation& operation = sends_[slot];
    return post(operation, "fi_tsend", [&] {
        return fi_tsend(endpoint_.get(), config_.tx.data() + offset, bytes,
                        fi_mr_desc(tx_region_.get()), peer_, tag, &operation.context);
    });
}

Status RawEndpoint::post_receive(unsigned slot, std::size_t offset, std::size_t bytes,
                                 std::uint64_t tag) {
    Operation& operation = receives_[slot];
    return post(operation, "fi_trecv", [&] {
        return fi_trecv(endpoint_.get(), config_.rx.data() + offset, bytes,
                        fi_mr_desc(rx_region_.get()), FI_ADDR_UNSPEC, tag, 0, &operation.context);
    });
}

Status RawEndpoint::post_write(unsigned slot, std::size_t offset, std::size_t bytes,
                               std::uint64_t data) {
    Operation& operation = sends_[slot];
    return post(operation, "fi_writedata", [&] {
        return fi_writedata(endpoint_.get(), config_.tx.data() + offset, bytes,
                            fi_mr_desc(tx_region_.get()), data, peer_, remote_.rx.address + offset,
                            remote_.rx.key, &operation.context);
    });
}

Status RawEndpoint::post_write_message(unsigned slot, std::size_t offset, std::size_t bytes,
                                       std::uint64_t flags) {
    Operation& operation = sends_[slot];
    const iovec local{config_.tx.data() + offset, bytes};
    const fi_rma_iov remote{remote_.rx.address + offset, bytes, remote_.rx.key};
    void* descriptor = fi_mr_desc(tx_region_.get());
    fi_msg_rma message{};
    message.msg_iov = &local;
    message.desc = &descriptor;
    message.iov_count = 1;
    message.addr = peer_;
    message.rma_iov = &remote;
    message.rma_iov_count = 1;
    message.context = &operation.context;
    message.data = bytes;
    flags |= FI_COMPLETION | (delivery_ ? FI_DELIVERY_COMPLETE : 0);
    return post(operation, "fi_writemsg",
                [&] { return fi_writemsg(endpoint_.get(), &message, flags); });
}

Status RawEndpoint::post_put(unsigned slot, std::size_t offset, std::size_t bytes) {
    return post_write_message(slot, offset, bytes, 0);
}

Status RawEndpoint::post_put_signal(unsigned slot, std::size_t offset, std::size_t bytes) {
    return post_write_message(slot, offset, bytes, FI_REMOTE_CQ_DATA);
}

Status RawEndpoint::post_get(unsigned slot, std::size_t offset, std::size_t bytes) {
    Operation& operation = sends_[slot];
    return post(operation, "fi_read", [&] {
        return fi_read(endpoint_.get(), config_.rx.data() + offset, bytes,
                       fi_mr_desc(rx_region_.get()), peer_, remote_.tx.address + offset,
                       remote_.tx.key, &operation.context);
    });
}

Status RawEndpoint::wait_send(unsigned slot) {
    return wait("completion of a raw send", [&] { return !sends_[slot].pending; });
}

Status RawEndpoint::wait_receive(unsigned slot) {
    return wait("completion of a raw receive", [&] { return !receives_[slot].pending; });
}

Status RawEndpoint::wait_writes(std::uint64_t count) {
    return wait("arrival of raw writes", [&] { return writes_seen_ >= count; });
}

}  // namespace duofi::tool
