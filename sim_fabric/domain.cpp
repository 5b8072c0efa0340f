#include "sim_fabric/domain.hpp"

#include <rdma/fi_errno.h>

#include <memory>
#include <mutex>

#include "sim_fabric/address.hpp"
#include "sim_fabric/atomics.hpp"
#include "sim_fabric/endpoint.hpp"
#include "sim_fabric/info.hpp"
#include "sim_fabric/knobs.hpp"
#include "sim_fabric/queue.hpp"

namespace duofi::sim {
namespace {

constexpr std::uint64_t kBasic = 1;  // FI_MR_BASIC

std::uint64_t expanded(int mr_mode) {
    const auto bits = static_cast<std::uint64_t>(static_cast<unsigned>(mr_mode));
    return (bits & kBasic) != 0 ? FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY : bits;
}

int close_fabric(Fid* object) {
    delete reinterpret_cast<fid_fabric*>(object);
    return 0;
}

}  // namespace

int open_fabric(fi_fabric_attr*, fid_fabric** fabric, void* context) {
    if (const int code = failing(Site::fabric); code != 0) return code;
    static fi_ops base = object_ops(close_fabric);
    static auto ops = [] {
        auto made = refusing<fi_ops_fabric, &fi_ops_fabric::passive_ep, &fi_ops_fabric::eq_open, &fi_ops_fabric::wait_open,
                             &fi_ops_fabric::trywait, &fi_ops_fabric::domain2>();
        made.domain = Domain::open;
        return made;
    }();
    auto made = std::make_unique<fid_fabric>();
    made->fid = {FI_CLASS_FABRIC, context, &base};
    made->ops = &ops;
    *fabric = made.release();
    return 0;
}

Domain::Domain(const fi_info& info)
    : fid_domain{},
      mr_mode_(expanded(info.domain_attr->mr_mode)),
      key_bytes_(info.domain_attr->mr_key_size),
      nic_(nic_number(info.domain_attr->name)) {}

int Domain::open(fid_fabric*, fi_info* info, fid_domain** domain, void* context) {
    if (const int code = failing(Site::domain); code != 0) return code;
    static fi_ops base = object_ops(close);
    static auto ops = [] {
        using Ops = fi_ops_domain;
        auto made = refusing<Ops, &Ops::scalable_ep, &Ops::cntr_open, &Ops::poll_open, &Ops::stx_ctx, &Ops::srx_ctx,
                             &Ops::query_collective, &Ops::endpoint2>();
        made.av_open = AddressVector::open;
        made.cq_open = CompletionQueue::open;
        made.endpoint = Endpoint::open;
        made.query_atomic = query_atomic;
        return made;
    }();
    static auto mr = [] {
        auto made = refusing<fi_ops_mr, &fi_ops_mr::regv>();
        made.reg = register_buffer;
        made.regattr = register_attributes;
        return made;
    }();
    std::unique_ptr<Domain> made(new Domain(*info));
    made->fid = {FI_CLASS_DOMAIN, context, &base};
    made->ops = &ops;
    made->mr = &mr;
    *domain = made.release();
    return 0;
}

int Domain::close(Fid* object) {
    auto* self = static_cast<Domain*>(reinterpret_cast<fid_domain*>(object));
    if (self->objects_.load(std::memory_order_relaxed) != 0) return -FI_EBUSY;
    delete self;
    return 0;
}

int Domain::query_atomic(fid_domain*, fi_datatype datatype, fi_op op, fi_atomic_attr* attributes, std::uint64_t) {
    const std::size_t size = atomic_size(datatype);
    if (size == 0 || !atomic_known(op)) return -FI_EOPNOTSUPP;
    attributes->size = size;
    attributes->count = kPart / size;
    return 0;
}

int Domain::register_buffer(Fid* object, const void* data, std::size_t bytes, std::uint64_t access, std::uint64_t,
                            std::uint64_t key, std::uint64_t flags, fid_mr** region, void* context) {
    const iovec part{const_cast<void*>(data), bytes};
    fi_mr_attr attributes{};
    attributes.mr_iov = &part;
    attributes.iov_count = 1;
    attributes.access = access;
    attributes.requested_key = key;
    attributes.context = context;
    return register_attributes(object, &attributes, flags, region);
}

int Domain::register_attributes(Fid* object, const fi_mr_attr* attributes, std::uint64_t, fid_mr** region) {
    if (const int code = failing(Site::mr_reg); code != 0) return code;
    auto& self = *static_cast<Domain*>(reinterpret_cast<fid_domain*>(object));
    if (attributes->iov_count != 1) return -FI_EINVAL;
    std::unique_ptr<MemoryRegion> made(new MemoryRegion(self, *attributes));
    if (const int code = self.add(*made, attributes->requested_key); code != 0) return code;
    *region = made.release();
    return 0;
}

// Keys of the provider are all different and not in a row: an odd factor keeps them apart.
int Domain::add(MemoryRegion& region, std::uint64_t requested_key) {
    constexpr std::uint64_t kScatter = 0x9e3779b97f4a7c15ULL;
    constexpr std::uint64_t kAllBits = ~std::uint64_t{0};
    const std::uint64_t mask = key_bytes_ >= 8 ? kAllBits : (std::uint64_t{1} << (8 * key_bytes_)) - 1;
    const std::unique_lock lock(mutex_);
    if ((mr_mode_ & FI_MR_PROV_KEY) != 0) {
        do {
            region.key = ++made_keys_ * kScatter & mask;
        } while (region.key == 0 || regions_.contains(region.key));
    } else {
        if ((requested_key & ~mask) != 0) return -FI_EKEYREJECTED;
        region.key = requested_key;
    }
    if (!regions_.try_emplace(region.key, &region).second) return -FI_ENOKEY;
    region.mem_desc = reinterpret_cast<void*>(region.key);
    add_object();
    return 0;
}

void Domain::remove(MemoryRegion& region) {
    const std::unique_lock lock(mutex_);
    regions_.erase(region.key);
    remove_object();
}

std::byte* Domain::find(std::uint64_t key, std::uint64_t address, std::size_t bytes, std::uint64_t access,
                        const Fid* endpoint) const {
    const auto known = regions_.find(key);
    if (known == regions_.end()) return nullptr;
    const MemoryRegion& region = *known->second;
    if (!region.enabled_.load(std::memory_order_acquire) || (region.access_ & access) != access) return nullptr;
    if (bound_to_endpoints() && region.endpoint_.load(std::memory_order_relaxed) != endpoint) return nullptr;
    const std::uint64_t offset = (mr_mode_ & FI_MR_VIRT_ADDR) != 0 ? address - region.base_ : address;
    if (offset > region.length_ || bytes > region.length_ - offset) return nullptr;
    return reinterpret_cast<std::byte*>(region.base_ + offset);
}

MemoryRegion::MemoryRegion(Domain& domain, const fi_mr_attr& attributes)
    : fid_mr{},
      domain_(domain),
      base_(reinterpret_cast<std::uintptr_t>(attributes.mr_iov->iov_base)),
      length_(attributes.mr_iov->iov_len),
      access_(attributes.access),
      enabled_(!domain.bound_to_endpoints()) {
    static fi_ops base = object_ops(close, bind, control);
    fid = {FI_CLASS_MR, attributes.context, &base};
}

int MemoryRegion::close(Fid* object) {
    auto* self = static_cast<MemoryRegion*>(reinterpret_cast<fid_mr*>(object));
    self->domain_.remove(*self);  // waits for those who use it at this moment
    delete self;
    return 0;
}

// fi_mr(3): with FI_MR_ENDPOINT a region is bound to an endpoint and enabled before it is used.
int MemoryRegion::bind(Fid* object, Fid* to, std::uint64_t) {
    if (const int code = failing(Site::mr_bind); code != 0) return code;
    if (to->fclass != FI_CLASS_EP) return -FI_EINVAL;
    static_cast<MemoryRegion*>(reinterpret_cast<fid_mr*>(object))->endpoint_.store(to, std::memory_order_relaxed);
    return 0;
}

int MemoryRegion::control(Fid* object, int command, void*) {
    auto& self = *static_cast<MemoryRegion*>(reinterpret_cast<fid_mr*>(object));
    if (command != FI_ENABLE) return -FI_ENOSYS;
    if (const int code = failing(Site::mr_enable); code != 0) return code;
    if (self.domain_.bound_to_endpoints() && self.endpoint_.load(std::memory_order_relaxed) == nullptr) return -FI_EOPBADSTATE;
    self.enabled_.store(true, std::memory_order_release);
    return 0;
}

// A descriptor is a number, as the local key of a device is: one whose region is gone names nothing.
bool Domain::allows(const void* descriptor, const void* data, std::size_t bytes) {
    if ((mr_mode_ & FI_MR_LOCAL) == 0 || bytes == 0) return true;
    const std::shared_lock lock(mutex_);
    const auto known = regions_.find(reinterpret_cast<std::uintptr_t>(descriptor));
    if (known == regions_.end()) return false;
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(data) - known->second->base_;
    return offset <= known->second->length_ && bytes <= known->second->length_ - offset;
}

}  // namespace duofi::sim
