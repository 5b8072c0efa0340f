// The real plugin behind a table that flips one byte in every fourth message. What checks data must
// say so.
#include <dlfcn.h>

#include "common/abi/net_v6.h"

extern "C" {
[[gnu::visibility("default")]] extern ncclNet_v6_t ncclNetPlugin_v6;
ncclNet_v6_t ncclNetPlugin_v6;
}

namespace {

constexpr int kPeriod = 4;
const ncclNet_v6_t* real = nullptr;

ncclResult_t damaging_isend(void* comm, void* data, int size, int tag, void* mhandle,
                            void** request) {
    static int sends = 0;
    const bool damage = sends % kPeriod == kPeriod - 1 && size > 0;
    auto* bytes = static_cast<unsigned char*>(data);
    if (damage) bytes[size / 2] ^= 0x20;
    const ncclResult_t result = real->isend(comm, data, size, tag, mhandle, request);
    if (result == ncclSuccess && *request)
        ++sends;
    else if (damage)
        bytes[size / 2] ^= 0x20;  // not posted: the caller comes again
    return result;
}

[[gnu::constructor]] void wrap() {
    void* library = ::dlopen("librccl-net-duofi.so", RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    real = static_cast<const ncclNet_v6_t*>(::dlsym(library, "ncclNetPlugin_v6"));
    if (!real) return;
    ncclNetPlugin_v6 = *real;
    ncclNetPlugin_v6.isend = damaging_isend;
}

}  // namespace
