// Endpoint options (fi_endpoint(3), fi_efa(7)). What an endpoint does not know is -FI_ENOPROTOOPT.
#include <rdma/fi_errno.h>

#include <cstring>

#include "sim_fabric/endpoint.hpp"

namespace duofi::sim {
namespace {

// Numbers of headers that are newer than the oldest libfabric we build for (fi_endpoint.h, fi_ext.h).
constexpr int kCudaApiPermitted = 10, kSharedMemoryPermitted = 11, kMaxMessage = 12, kMaxOneSided = 14, kInjectMessage = 16,
              kInjectOneSided = 18, kEfa = -(0xefa << 16), kEfaEmulatedRead = kEfa + 1, kEfaEmulatedWrite = kEfa + 2,
              kEfaEmulatedAtomics = kEfa + 3, kEfaMessagesInOrder = kEfa + 5, kEfaWritesInOrder = kEfa + 6;

template <typename T>
int give(T value, void* to, std::size_t* bytes) {
    if (*bytes < sizeof(value)) return -FI_ETOOSMALL;
    std::memcpy(to, &value, sizeof(value));
    *bytes = sizeof(value);
    return 0;
}

}  // namespace

int Endpoint::getopt(Fid* object, int level, int option, void* value, std::size_t* bytes) {
    if (const int code = failing(Site::getopt); code != 0) return code;
    const Endpoint& self = of(object);
    if (level != FI_OPT_ENDPOINT || !self.personality().efa_options) return -FI_ENOPROTOOPT;
    if (option == kEfaEmulatedWrite) return give(knobs().emulated_write, value, bytes);
    if (option == kEfaEmulatedRead) return give(false, value, bytes);
    if (option == kEfaEmulatedAtomics) return give(true, value, bytes);
    if (option >= kMaxMessage && option <= kMaxOneSided) return give(self.shape_.max_msg_size, value, bytes);
    if (option >= kInjectMessage && option <= kInjectOneSided) return give(self.tx_.inject_size, value, bytes);
    return -FI_ENOPROTOOPT;
}

int Endpoint::setopt(Fid* object, int level, int option, const void*, std::size_t) {
    if (const int code = failing(Site::setopt); code != 0) return code;
    const Endpoint& self = of(object);
    if (level != FI_OPT_ENDPOINT || !self.personality().efa_options) return -FI_ENOPROTOOPT;
    if (option == kCudaApiPermitted) return (self.limits_.caps & FI_HMEM) != 0 ? 0 : -FI_EOPNOTSUPP;
    const bool known = option == kSharedMemoryPermitted || option == kEfaMessagesInOrder || option == kEfaWritesInOrder;
    return known ? 0 : -FI_ENOPROTOOPT;
}

}  // namespace duofi::sim
