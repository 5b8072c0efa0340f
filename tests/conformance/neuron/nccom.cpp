#include "tests/conformance/neuron/nccom.hpp"

#include <dlfcn.h>

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "tests/support/log_capture.hpp"
#include "tests/support/scoped_env.hpp"

namespace duofi::test {
namespace {

// In the order of Slot; -1 = the version has none.
constexpr int kOffsets[3][21] = {
    {8, -1, 16, 24, 32, 40, 48, 56, -1, 64, 72, 80, 88, 96, 104, 112, 120, -1, -1, -1, -1},
    {8, -1, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128, 136, 144, 152, 160},
    {8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128, 136, 144, 152, 160, 168}};
constexpr std::size_t kTableBytes[3] = {128, 168, 176};

template <typename T>
T at(const unsigned char* bytes, std::size_t offset) {
    T value;
    std::memcpy(&value, bytes + offset, sizeof(value));
    return value;
}

template <typename Try>
void* repeat(const char* what, Try attempt) {
    const Deadline deadline(kStepPatience);
    for (;;) {
        void* request = reinterpret_cast<void*>(std::uintptr_t{1});  // what a caller may leave there
        const ncclResult_t result = attempt(&request);
        require(result == ncclSuccess, "{} gave {}", what, result_name(result));
        if (request != nullptr) return request;
        require(!deadline.passed(), "{} stayed without a request", what);
        relax();
    }
}

}  // namespace

Nccom::Nccom(int version) : version_(version) {
    const std::string path = env_value("DUOFI_NCCOM_PATH").value_or(DUOFI_NCCOM_PATH);
    library_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    require(library_ != nullptr, "dlopen: {}", library_ == nullptr ? ::dlerror() : "");
    const std::string symbol = "ncclNetPlugin_v" + std::to_string(version);
    table_ = static_cast<const char*>(::dlsym(library_, symbol.c_str()));
    if (table_ == nullptr) close();
    require(table_ != nullptr, "{} has no {}", path, symbol);
}

void Nccom::close() {
    if (library_ != nullptr) ::dlclose(std::exchange(library_, nullptr));
}

Nccom& Nccom::process(int version) {
    static std::mutex mutex;
    static auto& opened = *new std::map<int, Nccom*>;  // they stay for the life of the process
    const std::scoped_lock lock(mutex);
    Nccom*& net = opened[version];
    if (net != nullptr) return *net;
    auto fresh = std::make_unique<Nccom>(version);
    expect_success(fresh->call(Slot::init, ncclDebugLogger_t{&log_capture::record}), "init");
    net = fresh.release();
    return *net;
}

bool Nccom::has(Slot slot) const { return kOffsets[version_ - 4][static_cast<int>(slot)] >= 0; }

std::size_t Nccom::offset(Slot slot) const {
    require(has(slot), "v{} has no slot {}", version_, static_cast<int>(slot));
    return static_cast<std::size_t>(kOffsets[version_ - 4][static_cast<int>(slot)]);
}

std::vector<void*> Nccom::pointers() const {
    std::vector<void*> all(kTableBytes[version_ - 4] / sizeof(void*));
    std::memcpy(all.data(), table_, kTableBytes[version_ - 4]);
    return all;
}

int Nccom::devices() const {
    int count = -1;
    expect_success(call(Slot::devices, &count), "devices");
    return count;
}

NccomProperties Nccom::properties(int device) const {
    constexpr unsigned char kCanary = 0xC3;
    unsigned char bytes[128];
    std::memset(bytes, kCanary, sizeof(bytes));
    expect_success(call(Slot::get_properties, device, static_cast<void*>(bytes)), "getProperties");
    const std::size_t size = version_ == 4 ? 40 : 80;
    for (std::size_t i = size; i < sizeof(bytes); ++i) require(bytes[i] == kCanary, "getProperties wrote byte {}", i);
    NccomProperties out;
    out.name = at<const char*>(bytes, 0);
    out.pci_path = at<const char*>(bytes, 8);
    out.ptr_support = at<int>(bytes, 24);
    out.speed = at<int>(bytes, version_ == 4 ? 28 : 32);
    out.port = at<int>(bytes, version_ == 4 ? 32 : 36);
    out.max_comms = at<int>(bytes, version_ == 4 ? 36 : 44);
    if (version_ == 4) return out;
    out.reg_is_global = at<int>(bytes, 28);
    out.max_recvs = at<int>(bytes, 48);
    out.max_write_inline = at<std::size_t>(bytes, 56);
    out.max_key_bytes = at<std::size_t>(bytes, 64);
    out.rma_supported = at<int>(bytes, 72);
    return out;
}

NccomComm& NccomComm::operator=(NccomComm&& other) noexcept {
    std::swap(net_, other.net_);
    std::swap(close_, other.close_);
    std::swap(comm_, other.comm_);
    return *this;
}

NccomComm::~NccomComm() {
    if (comm_ != nullptr) (void)net_->call(close_, comm_);
}

void NccomComm::close(ncclResult_t wanted) {
    const Deadline deadline(kCloseLimit);
    const ncclResult_t result = net_->call(close_, std::exchange(comm_, nullptr));
    require(result == wanted, "close gave {}, not {}", result_name(result), result_name(wanted));
    require(!deadline.passed(), "close took longer than {} ms", kCloseLimit / kMillisecond);
}

NccomMemory::NccomMemory(const NccomComm& comm, void* data, std::size_t bytes) : net_(&comm.net()), comm_(comm.get()) {
    expect_success(net_->call(Slot::reg_mr, comm_, data, bytes, int{NCCL_PTR_HOST}, &handle_), "regMr");
    require(handle_ != nullptr, "regMr gave no mhandle");
}

NccomMemory::NccomMemory(NccomMemory&& other) noexcept
    : net_(other.net_), comm_(other.comm_), handle_(std::exchange(other.handle_, nullptr)) {}

std::uint64_t NccomMemory::key() const {
    std::uint64_t key = 0;
    expect_success(net_->call(Slot::get_mr_key, handle_, &key), "getMrKey");
    return key;
}

void NccomMemory::release() {
    if (handle_ != nullptr) (void)net_->call(Slot::dereg_mr, comm_, std::exchange(handle_, nullptr));
}

NccomLink nccom_pair(Rank& rank, const Nccom& net) {
    rank.step("link");
    constexpr char kCanary = 0x77;
    const std::size_t handle_bytes = net.version() == 4 ? 64 : 128;
    std::array<char, 192> mine;
    mine.fill(kCanary);
    const int device = rank.index % net.devices();
    void* listener = nullptr;
    expect_success(net.call(Slot::listen, device, static_cast<void*>(mine.data()), &listener), "listen");
    NccomComm listening(net, Slot::close_listen, listener);
    for (std::size_t i = handle_bytes; i < mine.size(); ++i) require(mine[i] == kCanary, "listen wrote byte {}", i);
    auto theirs = rank.all_gather(mine)[static_cast<std::size_t>(partner_of(rank))];
    std::memset(theirs.data() + handle_bytes, kCanary, theirs.size() - handle_bytes);
    void *send = nullptr, *recv = nullptr;
    const Deadline deadline(kStepPatience);
    while (send == nullptr || recv == nullptr) {
        if (send == nullptr)
            expect_success(net.call(Slot::connect, device, static_cast<void*>(theirs.data()), &send), "connect");
        require(net.version() != 4 || send != nullptr, "connect of v4 returned without a comm");
        if (recv == nullptr) expect_success(net.call(Slot::accept, listener, &recv), "accept");
        require(net.version() != 4 || recv != nullptr, "accept of v4 returned without a comm");
        require(!deadline.passed(), "connect and accept are not through");
        relax();
    }
    for (std::size_t i = handle_bytes; i < theirs.size(); ++i) require(theirs[i] == kCanary, "connect wrote byte {}", i);
    listening.close();
    NccomLink link;
    link.send = NccomComm(net, Slot::close_send, send);
    link.recv = NccomComm(net, Slot::close_recv, recv);
    return link;
}

void* nccom_send(const NccomComm& comm, void* data, std::size_t bytes, int tag, const NccomMemory& memory) {
    const int size = static_cast<int>(bytes);
    return repeat("isend", [&](void** request) {
        if (comm.net().version() == 4) return comm.net().call(Slot::isend, comm.get(), data, size, memory.handle(), request);
        return comm.net().call(Slot::isend, comm.get(), data, size, tag, memory.handle(), request);
    });
}

void* nccom_recv(const NccomComm& comm, void* data, std::size_t bytes, int tag, const NccomMemory& memory) {
    int size = static_cast<int>(bytes);
    void* handle = memory.handle();
    return repeat("irecv", [&](void** request) {
        if (comm.net().version() == 4) return comm.net().call(Slot::irecv, comm.get(), data, size, handle, request);
        return comm.net().call(Slot::irecv, comm.get(), 1, &data, &size, &tag, &handle, request);
    });
}

void* nccom_write(const NccomComm& comm, void* data, std::size_t bytes, const NccomMemory& memory,
                  std::uint64_t address, std::uint64_t key) {
    return repeat("iwrite", [&](void** request) {
        return comm.net().call(Slot::iwrite, comm.get(), data, bytes, memory.handle(), address, key, request);
    });
}

void* nccom_write_inline(const NccomComm& comm, void* data, std::size_t bytes, std::uint64_t address,
                         std::uint64_t key) {
    return repeat("iwriteInline", [&](void** request) {
        return comm.net().call(Slot::iwrite_inline, comm.get(), data, bytes, address, key, request);
    });
}

void* nccom_read(const NccomComm& comm, void* data, std::size_t bytes, const NccomMemory& memory, std::uint64_t address,
                 std::uint64_t key) {
    return repeat("iread", [&](void** request) {
        return comm.net().call(Slot::iread, comm.get(), data, bytes, memory.handle(), address, key, request);
    });
}

ncclResult_t nccom_outcome(const Nccom& net, void* request, Nanoseconds limit) {
    const Deadline deadline(limit);
    for (;;) {
        int done = 0x77, size = -1;
        const ncclResult_t result = net.call(Slot::test, request, &done, &size);
        if (result != ncclSuccess) return result;
        require(done == 0 || done == 1, "test left done at {}", done);
        if (done == 1) return ncclSuccess;
        if (deadline.passed()) return ncclInProgress;
        relax();
    }
}

int nccom_wait(const Nccom& net, void* request) {
    const Deadline deadline(kStepPatience);
    for (;;) {
        int done = 0, sizes[2] = {-1, -1};
        expect_success(net.call(Slot::test, request, &done, sizes), "test");
        require(sizes[1] == -1, "test wrote more than one size");
        if (done == 1) return sizes[0];
        require(!deadline.passed(), "a request is not done");
        relax();
    }
}

}  // namespace duofi::test
