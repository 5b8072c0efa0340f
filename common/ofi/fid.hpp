// Owners of libfabric objects. One owner per object, closed by the destructor; never shared, never
// copied. Not thread-safe in themselves: closing must not race with a call on the same object.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include <memory>

#include "common/util/log.hpp"

namespace duofi::ofi {

/// Names of the objects as they appear in trace lines.
template <typename Object>
inline constexpr const char* kObjectName = "object";
template <>
inline constexpr const char* kObjectName<fid_fabric> = "fabric";
template <>
inline constexpr const char* kObjectName<fid_domain> = "domain";
template <>
inline constexpr const char* kObjectName<fid_ep> = "endpoint";
template <>
inline constexpr const char* kObjectName<fid_cq> = "completion queue";
template <>
inline constexpr const char* kObjectName<fid_av> = "address vector";
template <>
inline constexpr const char* kObjectName<fid_mr> = "memory region";

/// Closes one object. A close that fails is only traced: nothing can be done about it, and a busy
/// domain or fabric is normal after an endpoint was closed with a rendezvous in flight (P16).
template <typename Object>
struct CloseFid {
    void operator()(Object* object) const noexcept {
        const int code = fi_close(&object->fid);
        if (code != 0 && code != -FI_EBUSY)
            log::trace(log::net, "NET/OFI close of {} failed: {} ({})", kObjectName<Object>, code,
                       fi_strerror(-code));
        else if (code != 0)
            log::trace(log::net, "NET/OFI close of {}: still busy in the provider",
                       kObjectName<Object>);
    }
};

struct FreeInfo {
    void operator()(fi_info* info) const noexcept { fi_freeinfo(info); }
};

/// Unique owners. `get()` for the raw pointer; open through `adopt` below. Members of a class that
/// hold several of them are declared in the order fabric, domain, av, cq, endpoint, so that they
/// close in reverse.
using InfoPtr = std::unique_ptr<fi_info, FreeInfo>;
using FabricPtr = std::unique_ptr<fid_fabric, CloseFid<fid_fabric>>;
using DomainPtr = std::unique_ptr<fid_domain, CloseFid<fid_domain>>;
using EndpointPtr = std::unique_ptr<fid_ep, CloseFid<fid_ep>>;
using CompletionQueuePtr = std::unique_ptr<fid_cq, CloseFid<fid_cq>>;
using AddressVectorPtr = std::unique_ptr<fid_av, CloseFid<fid_av>>;
using MemoryRegionPtr = std::unique_ptr<fid_mr, CloseFid<fid_mr>>;

/// Own deep copy of one entry (the `next` chain is not copied). Null when memory is short.
[[nodiscard]] inline InfoPtr duplicate(const fi_info* info) {
    return InfoPtr(fi_dupinfo(info));
}

/// Calls `open(&raw)`, a libfabric open function bound to its other arguments, and takes ownership
/// of what it gives. Returns the libfabric code (0 or negative); `owner` is only replaced on 0.
template <typename Object, typename Open>
[[nodiscard]] int open_into(std::unique_ptr<Object, CloseFid<Object>>& owner, Open&& open) {
    Object* raw = nullptr;
    const int code = static_cast<int>(open(&raw));
    if (code == 0) owner.reset(raw);
    return code;
}

}  // namespace duofi::ofi
