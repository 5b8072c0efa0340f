// Operation tables of objects (fi_fabric(3), "fid"): what an object does not do answers -FI_ENOSYS.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

namespace duofi::sim {

/// The base of every object; classes that derive from one have a member of that name.
using Fid = ::fid;

template <typename Answer, typename... Arguments>
void refuse(Answer (*&call)(Arguments...)) {
    call = [](Arguments...) { return static_cast<Answer>(-FI_ENOSYS); };
}

/// A table of which these calls are refused; the others are still to be filled in.
template <typename Table, auto... Calls>
[[nodiscard]] Table refusing() {
    Table table{};
    table.size = sizeof(table);
    (refuse(table.*Calls), ...);
    return table;
}

[[nodiscard]] inline fi_ops object_ops(int (*close)(Fid*), int (*bind)(Fid*, Fid*, std::uint64_t) = nullptr,
                                       int (*control)(Fid*, int, void*) = nullptr) {
    auto ops = refusing<fi_ops, &fi_ops::bind, &fi_ops::control, &fi_ops::ops_open, &fi_ops::tostr, &fi_ops::ops_set>();
    ops.close = close;
    if (bind != nullptr) ops.bind = bind;
    if (control != nullptr) ops.control = control;
    return ops;
}

}  // namespace duofi::sim
