// Tables of every RMA version whose entries note what they were given. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/abi/rma_v13.h"
#include "common/abi/rma_v14.h"
#include "common/abi/rma_v15.h"
#include "common/abi/rma_v16.h"

namespace duofi::loader::test {

/// What the entry that was called last has seen.
struct Seen {
    std::string entry;
    std::vector<std::uint64_t> numbers;
    std::vector<const void*> pointers;
    bool scratch_given = false;
};
inline Seen seen;

template <typename T>
void* as_pointer(T number) {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(number));
}

inline ncclResult_t init(void** instance, std::uint64_t comm_id, ncclDebugLogger_t) {
    seen = {"init", {comm_id}, {}};
    *instance = as_pointer(0x10);
    return ncclSuccess;
}
inline ncclResult_t devices(int* count) {
    seen = {"devices", {}, {}};
    *count = 3;
    return ncclSuccess;
}
inline ncclResult_t rma_properties(void* group, ncclRmaProperties_v16_t* properties) {
    seen = {"getRmaProperties", {}, {group}};
    properties->flushesAllPutsOnAnySignal = true;
    return ncclSuccess;
}
inline ncclResult_t properties(int device, ncclNetProperties_v12_t* out) {
    seen = {"getProperties", {static_cast<std::uint64_t>(device)}, {}};
    out->speed = 7;
    return ncclSuccess;
}
inline ncclResult_t listen(void* instance, int device, void* handle, void** listener) {
    seen = {"listen", {static_cast<std::uint64_t>(device)}, {instance, handle}};
    *listener = as_pointer(0x20);
    return ncclSuccess;
}
inline ncclResult_t connect(void* instance, void* handles[], int ranks, int rank, void* listener,
                            void** group) {
    seen = {"connect",
            {static_cast<std::uint64_t>(ranks), static_cast<std::uint64_t>(rank)},
            {instance, handles, listener}};
    *group = as_pointer(0x30);
    return ncclSuccess;
}
inline ncclResult_t create_13(void* group, ncclGinConfig_v13_t* config, void** context,
                              ncclNetDeviceHandle_v7_t** handle) {
    seen = {"createContext", {}, {group}};
    for (const int number : {config->nSignals, config->nCounters, config->nContexts,
                             config->queueDepth, config->trafficClass})
        seen.numbers.push_back(static_cast<std::uint64_t>(number));
    *handle = nullptr;  // may be written
    *context = as_pointer(0x40);
    return ncclSuccess;
}
inline ncclResult_t create_14(void* group, ncclRmaConfig_v14_t* config, void** context) {
    seen = {"createContext", {}, {group}};
    for (const int number : {config->nContexts, config->trafficClass, config->rankStride})
        seen.numbers.push_back(static_cast<std::uint64_t>(number));
    *context = as_pointer(0x40);
    return ncclSuccess;
}
inline ncclResult_t reg(void* group, void* data, std::size_t bytes, int type, std::uint64_t flags,
                        void** handle) {
    seen = {"regMrSym", {bytes, static_cast<std::uint64_t>(type), flags}, {group, data}};
    *handle = as_pointer(0x50);
    return ncclSuccess;
}
inline ncclResult_t reg_13(void* group, void* data, std::size_t bytes, int type,
                           std::uint64_t flags, void** handle, void** gin_handle) {
    *gin_handle = nullptr;
    return reg(group, data, bytes, type, flags, handle);
}
inline ncclResult_t reg_dma_buf(void* group, void* data, std::size_t bytes, int type,
                                std::uint64_t offset, int fd, std::uint64_t flags, void** handle) {
    seen = {
        "regMrSymDmaBuf",
        {bytes, static_cast<std::uint64_t>(type), offset, static_cast<std::uint64_t>(fd), flags},
        {group, data}};
    *handle = as_pointer(0x60);
    return ncclSuccess;
}
inline ncclResult_t reg_dma_buf_13(void* group, void* data, std::size_t bytes, int type,
                                   std::uint64_t offset, int fd, std::uint64_t flags, void** handle,
                                   void** gin_handle) {
    *gin_handle = nullptr;
    return reg_dma_buf(group, data, bytes, type, offset, fd, flags, handle);
}
inline ncclResult_t dereg(void* group, void* handle) {
    seen = {"deregMrSym", {}, {group, handle}};
    return ncclSuccess;
}
inline ncclResult_t destroy_context(void* context) {
    seen = {"destroyContext", {}, {context}};
    return ncclSuccess;
}
inline ncclResult_t close_coll(void* group) {
    seen = {"closeColl", {}, {group}};
    return ncclSuccess;
}
inline ncclResult_t close_listen(void* listener) {
    seen = {"closeListen", {}, {listener}};
    return ncclSuccess;
}
/// Arguments of a data call without its own tail.
inline void note_data(const char* entry, void* context, int index, std::uint64_t a, void* b,
                      std::size_t c, std::uint64_t d, void* e, std::uint32_t rank) {
    seen = {entry, {static_cast<std::uint64_t>(index), a, c, d, rank}, {context, b, e}};
}
inline ncclResult_t iput_13(void* x, int i, std::uint64_t a, void* b, std::size_t c,
                            std::uint64_t d, void* e, std::uint32_t rank, void** request) {
    note_data("iput", x, i, a, b, c, d, e, rank);
    *request = as_pointer(0x70);
    return ncclSuccess;
}
inline ncclResult_t iput_15(void* x, int i, std::uint64_t a, void* b, std::size_t c,
                            std::uint64_t d, void* e, std::uint32_t rank, std::uint32_t flags,
                            void** request) {
    iput_13(x, i, a, b, c, d, e, rank, request);
    seen.numbers.push_back(flags);
    return ncclSuccess;
}
inline ncclResult_t signal_13(void* x, int i, std::uint64_t a, void* b, std::size_t c,
                              std::uint64_t d, void* e, std::uint32_t rank, std::uint64_t offset,
                              void* signal, std::uint64_t value, std::uint32_t op, void** request) {
    note_data("iputSignal", x, i, a, b, c, d, e, rank);
    seen.numbers.insert(seen.numbers.end(), {offset, value, op});
    seen.pointers.push_back(signal);
    *request = as_pointer(0x71);
    return ncclSuccess;
}
inline ncclResult_t signal_14(void* x, int i, std::uint64_t a, void* b, std::size_t c,
                              std::uint64_t d, void* e, std::uint32_t rank, std::uint64_t offset,
                              void* signal, std::uint64_t value, std::uint32_t op, bool strong,
                              void** request) {
    signal_13(x, i, a, b, c, d, e, rank, offset, signal, value, op, request);
    seen.numbers.push_back(strong ? 1 : 0);
    return ncclSuccess;
}
inline ncclResult_t signal_15(void* x, int i, std::uint64_t a, void* b, std::size_t c,
                              std::uint64_t d, void* e, std::uint32_t rank, std::uint64_t offset,
                              void* signal, std::uint64_t value, std::uint32_t op, bool strong,
                              std::uint32_t flags, void** request) {
    signal_14(x, i, a, b, c, d, e, rank, offset, signal, value, op, strong, request);
    seen.numbers.push_back(flags);
    return ncclSuccess;
}
inline ncclResult_t iget_13(void* x, int i, std::uint64_t a, void* b, std::size_t c,
                            std::uint64_t d, void* e, std::uint32_t rank, void** request) {
    note_data("iget", x, i, a, b, c, d, e, rank);
    *request = as_pointer(0x72);
    return ncclSuccess;
}
inline ncclResult_t iget_15(void* x, int i, std::uint64_t a, void* b, std::size_t c,
                            std::uint64_t d, void* e, std::uint32_t rank, std::uint32_t flags,
                            void** request) {
    iget_13(x, i, a, b, c, d, e, rank, request);
    seen.numbers.push_back(flags);
    return ncclSuccess;
}
inline ncclResult_t iflush(void* context, int index, void* handle, std::uint32_t rank,
                           void** request) {
    seen = {"iflush", {static_cast<std::uint64_t>(index), rank}, {context, handle}};
    *request = as_pointer(0x73);
    return ncclSuccess;
}
inline ncclResult_t test(void* group, void* request, int* done) {
    seen = {"test", {}, {group, request}};
    *done = 1;
    return ncclRemoteError;
}
inline ncclResult_t progress(void* context) {
    seen = {"progress", {}, {context}};
    return ncclInternalError;
}
inline ncclResult_t last_error(void* context, bool* has_error) {
    seen = {"queryLastError", {}, {context}};
    *has_error = true;
    return ncclSuccess;
}
inline ncclResult_t finalize(void* instance) {
    seen = {"finalize", {}, {instance}};
    return ncclSuccess;
}

inline constexpr ncclRma_v13_t k13{
    "V13",          init,  devices,         properties, listen,       connect, create_13, reg_13,
    reg_dma_buf_13, dereg, destroy_context, close_coll, close_listen, iput_13, signal_13, iget_13,
    iflush,         test,  progress,        last_error, finalize};
inline constexpr ncclRma_v14_t k14{
    "V14",       init,  devices,         properties, listen,       connect, create_14, reg,
    reg_dma_buf, dereg, destroy_context, close_coll, close_listen, iput_13, signal_14, iget_13,
    iflush,      test,  progress,        last_error, finalize};
inline constexpr ncclRma_v15_t k15{
    "V15",       init,  devices,         properties, listen,       connect, create_14, reg,
    reg_dma_buf, dereg, destroy_context, close_coll, close_listen, iput_15, signal_15, iget_15,
    iflush,      test,  progress,        last_error, finalize};
inline constexpr ncclRma_v16_t k16{
    "V16",   init,        devices, rma_properties,  properties, listen,       connect, create_14,
    reg,     reg_dma_buf, dereg,   destroy_context, close_coll, close_listen, iput_15, signal_15,
    iget_15, iflush,      test,    progress,        last_error, finalize};

}  // namespace duofi::loader::test
