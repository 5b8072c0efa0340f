// The Neuron runtime over CPU memory: tensors with an address, nothing before nrt_init, a torus of
// 4 x 4 chips.
#include <unistd.h>

#include <cstring>

#include "tests/mocks/mock_memory.hpp"

struct nrt_tensor {
    void* base;
    std::size_t bytes;
    int core;
};

namespace {

using duofi::mock::Block;
using duofi::mock::Memory;

struct Version {
    std::uint64_t number[4];
    char detail[128];
    char git_hash[64];
};
struct Instance {
    std::uint32_t family, size;
    char arch_name[16], device_revision[8];
};

enum : int {
    kOk = 0,
    kFailure = 1,
    kInvalid = 2,
    kResource = 4,
    kUninitialized = 13,
    kClosed = 14,
};
enum class State { start, running, closed };

constexpr std::uint32_t kTrn1 = 2;
constexpr int kSide = 4, kUnconnected = -22;
State state = State::start;

int usable() {
    return state == State::running ? kOk : state == State::closed ? kClosed : kUninitialized;
}
bool inside(const nrt_tensor* tensor, std::size_t offset, std::size_t bytes) {
    return tensor != nullptr && offset <= tensor->bytes && bytes <= tensor->bytes - offset;
}

}  // namespace

DUOFI_MOCK_EXPORT int nrt_init(int framework, const char* version, const char* layer) {
    if (framework != 1 || version == nullptr || layer == nullptr) return kInvalid;
    if (Memory::control().init_result != 0) return Memory::control().init_result;
    state = State::running;
    return kOk;
}
DUOFI_MOCK_EXPORT void nrt_close() {
    state = State::closed;
}
DUOFI_MOCK_EXPORT int nrt_get_version(Version* version, std::size_t bytes) {
    if (bytes < sizeof(Version)) return kInvalid;
    *version = {};
    const int given = Memory::control().version;
    version->number[0] = given != 0 ? static_cast<std::uint64_t>(given) : 2;
    return kOk;
}
DUOFI_MOCK_EXPORT int nrt_get_visible_vnc_count(std::uint32_t* count) {
    *count = static_cast<std::uint32_t>(Memory::control().devices);
    return kOk;
}
DUOFI_MOCK_EXPORT int nrt_get_instance_info(Instance* instance, std::size_t bytes) {
    if (bytes < sizeof(Instance)) return kInvalid;
    *instance = {};
    const int given = Memory::control().family;
    instance->family = given != 0 ? static_cast<std::uint32_t>(given) : kTrn1;
    return kOk;
}
DUOFI_MOCK_EXPORT int nrt_tensor_allocate(int placement, int core, std::size_t bytes, const char*,
                                          nrt_tensor** tensor) {
    if (const int code = usable(); code != kOk) return code;
    if (placement != 0 || core < 0 || core >= Memory::control().devices) return kInvalid;
    void* made = Memory::instance().allocate(bytes, core);
    if (made == nullptr) return kResource;
    *tensor = new nrt_tensor{made, bytes, core};
    return kOk;
}
DUOFI_MOCK_EXPORT void nrt_tensor_free(nrt_tensor** tensor) {
    static_cast<void>(Memory::instance().release((*tensor)->base));
    delete *tensor;
    *tensor = nullptr;
}
DUOFI_MOCK_EXPORT void* nrt_tensor_get_va(const nrt_tensor* tensor) {
    return tensor->base;
}
DUOFI_MOCK_EXPORT int nrt_tensor_read(const nrt_tensor* tensor, void* to, std::size_t offset,
                                      std::size_t bytes) {
    if (!inside(tensor, offset, bytes)) return kInvalid;
    std::memcpy(to, static_cast<const char*>(tensor->base) + offset, bytes);
    return kOk;
}
DUOFI_MOCK_EXPORT int nrt_tensor_write(nrt_tensor* tensor, const void* from, std::size_t offset,
                                       std::size_t bytes) {
    if (!inside(tensor, offset, bytes)) return kInvalid;
    std::memcpy(static_cast<char*>(tensor->base) + offset, from, bytes);
    return kOk;
}
DUOFI_MOCK_EXPORT int nrt_tensor_memset(nrt_tensor* tensor, std::uint64_t offset, int value,
                                        std::size_t bytes) {
    if (!inside(tensor, offset, bytes)) return kInvalid;
    std::memset(static_cast<char*>(tensor->base) + offset, value, bytes);
    return kOk;
}
DUOFI_MOCK_EXPORT int nrt_get_dmabuf_fd(std::uint64_t address, std::uint64_t bytes, int* fd) {
    const Block block = Memory::instance().find(reinterpret_cast<void*>(address));
    if (Memory::control().no_dmabuf != 0 || block.bytes == 0 || bytes > block.bytes) return kInvalid;
    *fd = ::dup(block.fd);
    return kOk;
}
DUOFI_MOCK_EXPORT int nec_get_virtual_core_size(std::uint32_t* cores) {
    *cores = 1;
    return kOk;
}
// Rows and columns of the torus in the order of the published lists: up, left, down, right.
DUOFI_MOCK_EXPORT int nec_get_peer_mla_idx(int, int mla, int port) {
    const int row = mla / kSide, column = mla % kSide;
    const int to_row = (row + (port == 0 ? kSide - 1 : port == 2 ? 1 : 0)) % kSide;
    const int to_column = (column + (port == 1 ? kSide - 1 : port == 3 ? 1 : 0)) % kSide;
    return port < 0 || port >= kSide ? kUnconnected : to_row * kSide + to_column;
}
DUOFI_MOCK_EXPORT int nec_mla_idx_to_rid(int, int mla) {
    return mla;
}
DUOFI_MOCK_EXPORT int nec_get_device_pci_bdf(int device, std::uint32_t* domain, std::uint32_t* bus,
                                             std::uint8_t* slot, std::uint8_t* function) {
    *domain = 0;
    *bus = 0xa0 + static_cast<std::uint32_t>(device);
    *slot = *function = 0;
    return 0;
}
