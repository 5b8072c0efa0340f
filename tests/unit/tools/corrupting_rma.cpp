// The real plugin behind an RMA table that flips one byte in every fourth put with data. What
// checks data must say so.
#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/abi/rma_v16.h"

extern "C" {
[[gnu::visibility("default")]] extern ncclRma_v16_t ncclRmaPlugin_v16;
ncclRma_v16_t ncclRmaPlugin_v16;
}

namespace {

constexpr int kPeriod = 4;
const ncclRma_v16_t* real = nullptr;

/// Where regions lie; set-up registers few.
struct Region {
    void* handle = nullptr;
    unsigned char* data = nullptr;
};
std::array<Region, 64> regions;
std::size_t region_count = 0;

ncclResult_t noting_reg(void* group, void* data, std::size_t bytes, int type, std::uint64_t flags,
                        void** handle) {
    const ncclResult_t result = real->regMrSym(group, data, bytes, type, flags, handle);
    if (result == ncclSuccess && region_count < regions.size())
        regions[region_count++] = {*handle, static_cast<unsigned char*>(data)};
    return result;
}

ncclResult_t damaging_put(void* context, int index, std::uint64_t src_offset, void* src,
                          std::size_t bytes, std::uint64_t dst_offset, void* dst,
                          std::uint32_t rank, std::uint64_t signal_offset, void* signal,
                          std::uint64_t value, std::uint32_t op, bool strong, std::uint32_t flags,
                          void** request) {
    static int puts = 0;
    if (bytes > 0 && puts++ % kPeriod == kPeriod - 1)
        for (std::size_t i = 0; i < region_count; ++i)
            if (regions[i].handle == src) regions[i].data[src_offset + bytes / 2] ^= 0x20;
    return real->iputSignal(context, index, src_offset, src, bytes, dst_offset, dst, rank,
                            signal_offset, signal, value, op, strong, flags, request);
}

[[gnu::constructor]] void wrap() {
    void* library = ::dlopen("librccl-rma-duofi.so", RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    real = static_cast<const ncclRma_v16_t*>(::dlsym(library, "ncclRmaPlugin_v16"));
    if (!real) return;
    ncclRmaPlugin_v16 = *real;
    ncclRmaPlugin_v16.regMrSym = noting_reg;
    ncclRmaPlugin_v16.iputSignal = damaging_put;
}

}  // namespace
