#include "common/loader/rma_table.hpp"

#include <type_traits>

#include "common/abi/rma_v13.h"
#include "common/abi/rma_v14.h"
#include "common/abi/rma_v15.h"

namespace duofi::loader {
namespace {

/// Calls `body` with the table as its own type.
template <typename Body>
ncclResult_t with_table(const void* table, int version, Body&& body) {
    switch (version) {
        case 16:
            return body(*static_cast<const ncclRma_v16_t*>(table));
        case 15:
            return body(*static_cast<const ncclRma_v15_t*>(table));
        case 14:
            return body(*static_cast<const ncclRma_v14_t*>(table));
        case 13:
            return body(*static_cast<const ncclRma_v13_t*>(table));
        default:
            return ncclInternalError;
    }
}

template <typename Table>
inline constexpr bool kHasFlags =
    std::is_same_v<Table, ncclRma_v15_t> || std::is_same_v<Table, ncclRma_v16_t>;
template <typename Table>
inline constexpr bool kIs13 = std::is_same_v<Table, ncclRma_v13_t>;

}  // namespace

RmaTable::RmaTable(const void* table, int version) noexcept {
    if (version < 13 || version > 16) return;
    table_ = table;
    version_ = version;
}

const char* RmaTable::name() const noexcept {
    return table_ == nullptr ? nullptr : *static_cast<const char* const*>(table_);
}

ncclResult_t RmaTable::init(void** instance, std::uint64_t comm_id,
                            ncclDebugLogger_t logger) const {
    return with_table(table_, version_,
                      [&](const auto& t) { return t.init(instance, comm_id, logger); });
}

ncclResult_t RmaTable::devices(int* count) const {
    return with_table(table_, version_, [&](const auto& t) { return t.devices(count); });
}

ncclResult_t RmaTable::rma_properties(void* group, ncclRmaProperties_v16_t* properties) const {
    if (version_ == 16)
        return static_cast<const ncclRma_v16_t*>(table_)->getRmaProperties(group, properties);
    properties->flushesAllPutsOnAnySignal = false;
    return ncclSuccess;
}

ncclResult_t RmaTable::properties(int device, ncclNetProperties_v12_t* properties) const {
    return with_table(table_, version_,
                      [&](const auto& t) { return t.getProperties(device, properties); });
}

ncclResult_t RmaTable::listen(void* instance, int device, void* handle, void** listener) const {
    return with_table(table_, version_,
                      [&](const auto& t) { return t.listen(instance, device, handle, listener); });
}

ncclResult_t RmaTable::connect(void* instance, void* handles[], int ranks, int rank, void* listener,
                               void** group) const {
    return with_table(table_, version_, [&](const auto& t) {
        return t.connect(instance, handles, ranks, rank, listener, group);
    });
}

ncclResult_t RmaTable::create_context(void* group, ncclRmaConfig_v16_t* config,
                                      void** context) const {
    return with_table(table_, version_, [&](const auto& t) {
        if constexpr (kIs13<std::remove_cvref_t<decltype(t)>>) {
            ncclGinConfig_v13_t old{0, 0, config->nContexts, 0, config->trafficClass};
            ncclNetDeviceHandle_v7_t* unused = nullptr;
            return t.createContext(group, &old, context, &unused);
        } else {
            return t.createContext(group, config, context);
        }
    });
}

ncclResult_t RmaTable::reg_mr_sym(void* group, void* data, std::size_t bytes, int type,
                                  std::uint64_t flags, void** handle) const {
    return with_table(table_, version_, [&](const auto& t) {
        if constexpr (kIs13<std::remove_cvref_t<decltype(t)>>) {
            void* unused = nullptr;
            return t.regMrSym(group, data, bytes, type, flags, handle, &unused);
        } else {
            return t.regMrSym(group, data, bytes, type, flags, handle);
        }
    });
}

ncclResult_t RmaTable::reg_mr_sym_dma_buf(void* group, void* data, std::size_t bytes, int type,
                                          std::uint64_t offset, int fd, std::uint64_t flags,
                                          void** handle) const {
    return with_table(table_, version_, [&](const auto& t) {
        if (t.regMrSymDmaBuf == nullptr) return ncclInvalidUsage;
        if constexpr (kIs13<std::remove_cvref_t<decltype(t)>>) {
            void* unused = nullptr;
            return t.regMrSymDmaBuf(group, data, bytes, type, offset, fd, flags, handle, &unused);
        } else {
            return t.regMrSymDmaBuf(group, data, bytes, type, offset, fd, flags, handle);
        }
    });
}

ncclResult_t RmaTable::dereg_mr_sym(void* group, void* handle) const {
    return with_table(table_, version_, [&](const auto& t) { return t.deregMrSym(group, handle); });
}

ncclResult_t RmaTable::destroy_context(void* context) const {
    return with_table(table_, version_, [&](const auto& t) { return t.destroyContext(context); });
}

ncclResult_t RmaTable::close_coll(void* group) const {
    return with_table(table_, version_, [&](const auto& t) { return t.closeColl(group); });
}

ncclResult_t RmaTable::close_listen(void* listener) const {
    return with_table(table_, version_, [&](const auto& t) { return t.closeListen(listener); });
}

ncclResult_t RmaTable::iput(void* context, const RmaPut& put, void** request) const {
    return with_table(table_, version_, [&](const auto& t) {
        if constexpr (kHasFlags<std::remove_cvref_t<decltype(t)>>)
            return t.iput(context, put.context, put.src_offset, put.src, put.bytes, put.dst_offset,
                          put.dst, put.rank, put.flags, request);
        else
            return t.iput(context, put.context, put.src_offset, put.src, put.bytes, put.dst_offset,
                          put.dst, put.rank, request);
    });
}

ncclResult_t RmaTable::iput_signal(void* context, const RmaPut& put, const RmaSignal& signal,
                                   void** request) const {
    return with_table(table_, version_, [&](const auto& t) {
        using Table = std::remove_cvref_t<decltype(t)>;
        if constexpr (kHasFlags<Table>)
            return t.iputSignal(context, put.context, put.src_offset, put.src, put.bytes,
                                put.dst_offset, put.dst, put.rank, signal.offset, signal.handle,
                                signal.value, signal.op, signal.strong, put.flags, request);
        else if constexpr (kIs13<Table>)
            return t.iputSignal(context, put.context, put.src_offset, put.src, put.bytes,
                                put.dst_offset, put.dst, put.rank, signal.offset, signal.handle,
                                signal.value, signal.op, request);
        else
            return t.iputSignal(context, put.context, put.src_offset, put.src, put.bytes,
                                put.dst_offset, put.dst, put.rank, signal.offset, signal.handle,
                                signal.value, signal.op, signal.strong, request);
    });
}

ncclResult_t RmaTable::iget(void* context, const RmaGet& get, void** request) const {
    return with_table(table_, version_, [&](const auto& t) {
        if constexpr (kHasFlags<std::remove_cvref_t<decltype(t)>>)
            return t.iget(context, get.context, get.remote_offset, get.remote, get.bytes,
                          get.local_offset, get.local, get.rank, get.flags, request);
        else
            return t.iget(context, get.context, get.remote_offset, get.remote, get.bytes,
                          get.local_offset, get.local, get.rank, request);
    });
}

ncclResult_t RmaTable::iflush(void* context, int index, void* handle, std::uint32_t rank,
                              void** request) const {
    return with_table(table_, version_, [&](const auto& t) {
        if (t.iflush == nullptr) return ncclInvalidUsage;
        return t.iflush(context, index, handle, rank, request);
    });
}

ncclResult_t RmaTable::test(void* group, void* request, int* done) const {
    return with_table(table_, version_,
                      [&](const auto& t) { return t.test(group, request, done); });
}

ncclResult_t RmaTable::progress(void* context) const {
    return with_table(table_, version_, [&](const auto& t) {
        if constexpr (kIs13<std::remove_cvref_t<decltype(t)>>)
            return t.ginProgress == nullptr ? ncclSuccess : t.ginProgress(context);
        else
            return t.rmaProgress == nullptr ? ncclSuccess : t.rmaProgress(context);
    });
}

ncclResult_t RmaTable::query_last_error(void* context, bool* has_error) const {
    return with_table(table_, version_, [&](const auto& t) {
        if (t.queryLastError != nullptr) return t.queryLastError(context, has_error);
        *has_error = false;
        return ncclSuccess;
    });
}

ncclResult_t RmaTable::finalize(void* instance) const {
    return with_table(table_, version_, [&](const auto& t) { return t.finalize(instance); });
}

}  // namespace duofi::loader
