// Base of everything posted to libfabric: the context the provider writes into, and who is told.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_eq.h>

#include <cstddef>
#include <cstdint>

namespace duofi::ofi {

/// What a completion says. `error` is 0 or a positive libfabric code; `length` is valid only for
/// receives (P2: local completions carry no length).
struct Completion {
    std::uint64_t flags = 0;
    std::size_t length = 0;
    std::uint64_t tag = 0;
    std::uint64_t data = 0;
    int error = 0;
    int provider_error = 0;
};

/// Posted with `&operation.context` as context. Lives until `complete` has been called, which happens
/// exactly once per successful post, under the lock of the endpoint it was posted on.
struct Operation {
    fi_context2 context{};  // first member: the completion's op_context is the operation's address
    void (*complete)(Operation& self, const Completion& completion) noexcept = nullptr;
};

}  // namespace duofi::ofi
