// Tables of the calls that move data.
#include <rdma/fi_atomic.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include "sim_fabric/atomics.hpp"
#include "sim_fabric/endpoint.hpp"

namespace duofi::sim {
namespace {

struct Buffer {
    const void* data;
    std::size_t bytes;
    void* descriptor;
};

struct Remote {
    fi_addr_t peer;
    std::uint64_t address = 0, key = 0;
};

constexpr std::uint64_t kUsual = ~std::uint64_t{0};  // flags of the endpoint instead of the call's

// Vectors of more than one element are not offered (iov_limit 1).
template <typename Message>
Buffer only_part(const Message& msg) {
    return {msg.iov_count != 0 ? msg.msg_iov->iov_base : nullptr, msg.iov_count != 0 ? msg.msg_iov->iov_len : 0,
            msg.iov_count != 0 && msg.desc != nullptr ? msg.desc[0] : nullptr};
}

ssize_t transmit(fid_ep* ep, Site site, Head head, const Buffer& buffer, const Remote& to, std::uint64_t flags, void* context,
                 bool silent = false, void* old_values = nullptr) {
    Endpoint& endpoint = Endpoint::of(ep);
    head.address = to.address;
    head.key = to.key;
    if (flags == kUsual) flags = endpoint.limits().tx_attr->op_flags;
    if ((flags & FI_FENCE) != 0 && (endpoint.personality().caps & FI_FENCE) == 0) return -FI_EINVAL;
    return endpoint.transmit(site, {head, flags, silent, context, to.peer, const_cast<void*>(buffer.data), buffer.bytes,
                                    buffer.descriptor, old_values});
}

ssize_t send(fid_ep* ep, const Buffer& buffer, fi_addr_t to, std::uint64_t data, std::uint64_t flags, void* context,
             bool silent = false) {
    Head head;
    head.kind = Kind::message;
    head.data = data;
    return transmit(ep, Site::send, head, buffer, {to}, flags, context, silent);
}

ssize_t tagged_send(fid_ep* ep, const Buffer& buffer, fi_addr_t to, std::uint64_t tag, std::uint64_t data, std::uint64_t flags,
                    void* context, bool silent = false) {
    Head head;
    head.kind = Kind::tagged;
    head.tag = tag;
    head.data = data;
    return transmit(ep, Site::tsend, head, buffer, {to}, flags, context, silent);
}

ssize_t move(fid_ep* ep, Kind kind, const Buffer& buffer, const Remote& remote, std::uint64_t data, std::uint64_t flags,
             void* context, bool silent = false) {
    const Endpoint& endpoint = Endpoint::of(ep);
    const bool writes_data = endpoint.personality().writes_data || knobs().writes_data;
    if ((endpoint.limits().caps & FI_RMA) == 0 || (flags != kUsual && (flags & FI_REMOTE_CQ_DATA) != 0 && !writes_data))
        return -FI_EOPNOTSUPP;
    Head head;
    head.kind = kind;
    head.data = data;
    return transmit(ep, kind == Kind::read ? Site::read : Site::write, head, buffer, remote, flags, context, silent);
}

ssize_t apply(fid_ep* ep, const void* operands, std::size_t count, const Remote& remote, fi_datatype datatype, fi_op op,
              std::uint64_t flags, void* context, bool silent = false, void* old_values = nullptr) {
    const std::size_t bytes = count * atomic_size(datatype);
    if ((Endpoint::of(ep).limits().caps & FI_ATOMIC) == 0 || bytes == 0 || !atomic_known(op)) return -FI_EOPNOTSUPP;
    if (bytes > kPart) return -FI_EINVAL;
    Head head;
    head.kind = Kind::atomic;
    head.atomic_op = static_cast<std::uint8_t>(op);
    head.datatype = static_cast<std::uint8_t>(datatype);
    if (old_values != nullptr) head.flags = kFetches;
    if (operands == nullptr) operands = old_values;  // a read has none: what stands there is not looked at
    flags = (flags == kUsual ? Endpoint::of(ep).limits().tx_attr->op_flags : flags) | FI_INJECT;  // operands are copied
    return transmit(ep, Site::atomic, head, {operands, bytes, nullptr}, remote, flags, context, silent, old_values);
}

ssize_t receive(fid_ep* ep, const Buffer& buffer, void* context) {
    auto* data = static_cast<std::byte*>(const_cast<void*>(buffer.data));
    return Endpoint::of(ep).receive(Site::recv, {false, 0, 0, context, data, buffer.bytes, buffer.descriptor});
}

ssize_t tagged_receive(fid_ep* ep, const Buffer& buffer, std::uint64_t tag, std::uint64_t ignore, void* context) {
    auto* data = static_cast<std::byte*>(const_cast<void*>(buffer.data));
    return Endpoint::of(ep).receive(Site::trecv, {true, tag, ignore, context, data, buffer.bytes, buffer.descriptor});
}

using Ep = fid_ep*;
using Size = std::size_t;
using Word = std::uint64_t;

fi_ops_msg message_calls() {
    auto calls = refusing<fi_ops_msg, &fi_ops_msg::recvv, &fi_ops_msg::recvmsg, &fi_ops_msg::sendv, &fi_ops_msg::sendmsg, &fi_ops_msg::injectdata>();
    calls.recv = [](Ep ep, void* to, Size n, void* d, fi_addr_t, void* c) { return receive(ep, {to, n, d}, c); };
    calls.send = [](Ep ep, const void* from, Size n, void* d, fi_addr_t to, void* c) {
        return send(ep, {from, n, d}, to, 0, kUsual, c);
    };
    calls.inject = [](Ep ep, const void* from, Size n, fi_addr_t to) {
        return send(ep, {from, n, nullptr}, to, 0, FI_INJECT, nullptr, true);
    };
    calls.senddata = [](Ep ep, const void* from, Size n, void* d, Word data, fi_addr_t to, void* c) {
        return send(ep, {from, n, d}, to, data, FI_REMOTE_CQ_DATA, c);
    };
    return calls;
}

fi_ops_tagged tagged_calls() {
    auto calls = refusing<fi_ops_tagged, &fi_ops_tagged::recvv, &fi_ops_tagged::recvmsg, &fi_ops_tagged::sendv, &fi_ops_tagged::sendmsg, &fi_ops_tagged::injectdata>();
    calls.recv = [](Ep ep, void* to, Size n, void* d, fi_addr_t, Word tag, Word ignore, void* c) {
        return tagged_receive(ep, {to, n, d}, tag, ignore, c);
    };
    calls.send = [](Ep ep, const void* from, Size n, void* d, fi_addr_t to, Word tag, void* c) {
        return tagged_send(ep, {from, n, d}, to, tag, 0, kUsual, c);
    };
    calls.inject = [](Ep ep, const void* from, Size n, fi_addr_t to, Word tag) {
        return tagged_send(ep, {from, n, nullptr}, to, tag, 0, FI_INJECT, nullptr, true);
    };
    calls.senddata = [](Ep ep, const void* from, Size n, void* d, Word data, fi_addr_t to, Word tag, void* c) {
        return tagged_send(ep, {from, n, d}, to, tag, data, FI_REMOTE_CQ_DATA, c);
    };
    return calls;
}

fi_ops_rma one_sided_calls() {
    auto calls = refusing<fi_ops_rma, &fi_ops_rma::readv, &fi_ops_rma::readmsg, &fi_ops_rma::writev, &fi_ops_rma::injectdata>();
    calls.read = [](Ep ep, void* to, Size n, void* d, fi_addr_t from, Word at, Word key, void* c) {
        return move(ep, Kind::read, {to, n, d}, {from, at, key}, 0, 0, c);
    };
    calls.write = [](Ep ep, const void* from, Size n, void* d, fi_addr_t to, Word at, Word key, void* c) {
        return move(ep, Kind::write, {from, n, d}, {to, at, key}, 0, kUsual, c);
    };
    calls.writemsg = [](Ep ep, const fi_msg_rma* m, Word flags) {
        return move(ep, Kind::write, only_part(*m), {m->addr, m->rma_iov->addr, m->rma_iov->key}, m->data, flags, m->context);
    };
    calls.inject = [](Ep ep, const void* from, Size n, fi_addr_t to, Word at, Word key) {
        return move(ep, Kind::write, {from, n, nullptr}, {to, at, key}, 0, FI_INJECT, nullptr, true);
    };
    calls.writedata = [](Ep ep, const void* from, Size n, void* d, Word data, fi_addr_t to, Word at, Word key, void* c) {
        return move(ep, Kind::write, {from, n, d}, {to, at, key}, data, FI_REMOTE_CQ_DATA, c);
    };
    return calls;
}

fi_ops_atomic atomic_calls() {
    using Calls = fi_ops_atomic;
    auto calls = refusing<Calls, &Calls::writev, &Calls::readwritev, &Calls::readwritemsg, &Calls::compwrite, &Calls::compwritev,
                          &Calls::compwritemsg, &Calls::compwritevalid>();
    calls.write = [](Ep ep, const void* from, Size n, void*, fi_addr_t to, Word at, Word key, fi_datatype type, fi_op op, void* c) {
        return apply(ep, from, n, {to, at, key}, type, op, kUsual, c);
    };
    calls.writemsg = [](Ep ep, const fi_msg_atomic* m, Word flags) {
        return apply(ep, m->msg_iov->addr, m->msg_iov->count, {m->addr, m->rma_iov->addr, m->rma_iov->key}, m->datatype, m->op,
                     flags, m->context);
    };
    calls.inject = [](Ep ep, const void* from, Size n, fi_addr_t to, Word at, Word key, fi_datatype type, fi_op op) {
        return apply(ep, from, n, {to, at, key}, type, op, FI_INJECT, nullptr, true);
    };
    calls.readwrite = [](Ep ep, const void* from, Size n, void*, void* old, void*, fi_addr_t to, Word at, Word key,
                         fi_datatype type, fi_op op, void* c) { return apply(ep, from, n, {to, at, key}, type, op, kUsual, c, false, old); };
    calls.writevalid = calls.readwritevalid = [](Ep ep, fi_datatype type, fi_op op, Size* count) {
        const Size size = atomic_size(type);
        if ((Endpoint::of(ep).limits().caps & FI_ATOMIC) == 0 || size == 0 || !atomic_known(op)) return -FI_EOPNOTSUPP;
        *count = kPart / size;
        return 0;
    };
    return calls;
}

}  // namespace

void add_post_calls(fid_ep& endpoint) noexcept {
    static fi_ops_msg messages = message_calls();
    static fi_ops_tagged tagged = tagged_calls();
    static fi_ops_rma one_sided = one_sided_calls();
    static fi_ops_atomic atomics = atomic_calls();
    endpoint.msg = &messages;
    endpoint.tagged = &tagged;
    endpoint.rma = &one_sided;
    endpoint.atomic = &atomics;
}

}  // namespace duofi::sim
