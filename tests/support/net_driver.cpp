#include "tests/support/net_driver.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <time.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>

#include "tests/support/log_capture.hpp"
#include "tests/support/plugin_module.hpp"

namespace duofi::test {
namespace {

constexpr int kUntouched = 0x5A5A5A5A;

thread_local unsigned fruitless = 0;  // polls in a row

// What a caller may leave in a request word: NULL, the optional-completion mark, an old pointer.
void* garbage_request() {
    static std::atomic<unsigned> turn{0};
    constexpr std::array<std::uintptr_t, 3> kWords = {0, NCCL_NET_OPTIONAL_RECV_COMPLETION,
                                                      0xDEADBEE8};
    return reinterpret_cast<void*>(
        kWords[turn.fetch_add(1, std::memory_order_relaxed) % kWords.size()]);
}

template <typename Try>
void* repeat(Try attempt, const char* what) {
    const Deadline deadline(kStepPatience);
    for (;;) {
        if (void* request = attempt(); request != nullptr) return request;
        require(!deadline.passed(), "{} stayed without a request", what);
        relax();
    }
}

}  // namespace

const char* result_name(ncclResult_t result) {
    constexpr std::array<const char*, 9> kNames = {
        "success",          "unhandled device error", "system error", "internal error",
        "invalid argument", "invalid usage",          "remote error", "in progress",
        "timeout"};
    const auto index = static_cast<std::size_t>(result);
    return index < kNames.size() ? kNames[index] : "no result code";
}

void expect_success(ncclResult_t result, const char* what) {
    require(result == ncclSuccess, "{} gave {}", what, result_name(result));
}

// Ranks that wait leave the cores to those that work: a group has more of them than the machine has cores.
void relax() {
    constexpr unsigned kYields = 16, kShort = 256;
    if (++fruitless < kYields) {
        ::sched_yield();
        return;
    }
    const timespec pause{0, fruitless < kShort ? 20'000 : 200'000};
    ::nanosleep(&pause, nullptr);
}

void moved_on() { fruitless = 0; }

Net& Net::process() {
    static std::once_flag once;
    static Net* net = nullptr;
    static PluginModule* module = nullptr;  // stays for the life of the process, as with older callers
    std::call_once(once, [] {
        module = new PluginModule;
        expect_success(module->net_v6().init(&log_capture::record), "init");
        net = new Net(module->net_v6());
    });
    return *net;
}

int Net::devices() const {
    int count = -1;
    expect_success(table_->devices(&count), "devices");
    return count;
}

ncclNetProperties_v6_t Net::properties(int dev) const {
    ncclNetProperties_v6_t properties{};
    expect_success(table_->getProperties(dev, &properties), "getProperties");
    return properties;
}

Comm::Comm(Comm&& other) noexcept
    : net_(other.net_), kind_(other.kind_), comm_(std::exchange(other.comm_, nullptr)) {}

Comm& Comm::operator=(Comm&& other) noexcept {
    std::swap(net_, other.net_);
    std::swap(kind_, other.kind_);
    std::swap(comm_, other.comm_);
    return *this;
}

Comm::~Comm() {
    if (comm_ == nullptr) return;
    try {
        close();
    } catch (const TestFailure& failure) {
        ADD_FAILURE() << failure.what();
    }
}

Nanoseconds Comm::close() {
    void* comm = std::exchange(comm_, nullptr);
    const Nanoseconds start = now_ns();
    switch (kind_) {
        case CommKind::listen:
            expect_success((*net_)->closeListen(comm), "closeListen");
            break;
        case CommKind::send:
            expect_success((*net_)->closeSend(comm), "closeSend");
            break;
        case CommKind::recv:
            expect_success((*net_)->closeRecv(comm), "closeRecv");
            break;
    }
    const Nanoseconds took = now_ns() - start;
    require(took <= kCloseLimit, "a close took {} ms", took / kMillisecond);
    return took;
}

void* Comm::abandon() {
    return std::exchange(comm_, nullptr);
}

Listener open_listener(const Net& net, int dev) {
    Listener listener;
    listener.handle.fill('\x77');  // the caller's memory is not cleared
    void* comm = nullptr;
    expect_success(net->listen(dev, listener.handle.data(), &comm), "listen");
    require(comm != nullptr, "listen gave no comm");
    listener.comm = Comm(net, CommKind::listen, comm);
    return listener;
}

ncclResult_t Connecting::raw_poll(void** comm) {
    *comm = nullptr;
    return (*net_)->connect(dev_, handle_.data(), comm);
}

std::optional<Comm> Connecting::poll() {
    void* comm = nullptr;
    expect_success(raw_poll(&comm), "connect");
    if (comm == nullptr) return std::nullopt;
    return Comm(*net_, CommKind::send, comm);
}

std::optional<Comm> poll_accept(const Listener& listener) {
    const Net& net = listener.comm.net();
    void* comm = nullptr;
    expect_success(net->accept(listener.comm.get(), &comm), "accept");
    if (comm == nullptr) return std::nullopt;
    return Comm(net, CommKind::recv, comm);
}

void* try_send(const Comm& comm, const Part& part) {
    void* request = garbage_request();
    expect_success(
        comm.net()->isend(comm.get(), part.data, part.bytes, part.tag, part.mhandle, &request),
        "isend");
    return request;
}

void* try_recv(const Comm& comm, std::span<const Part> parts) {
    std::array<void*, NCCL_NET_MAX_RECVS> data{};
    std::array<void*, NCCL_NET_MAX_RECVS> mhandles{};
    std::array<int, NCCL_NET_MAX_RECVS> sizes{};
    std::array<int, NCCL_NET_MAX_RECVS> tags{};
    for (std::size_t i = 0; i < parts.size(); ++i) {
        data[i] = parts[i].data;
        mhandles[i] = parts[i].mhandle;
        sizes[i] = parts[i].bytes;
        tags[i] = parts[i].tag;
    }
    void* request = garbage_request();
    expect_success(comm.net()->irecv(comm.get(), static_cast<int>(parts.size()), data.data(),
                                     sizes.data(), tags.data(), mhandles.data(), &request),
                   "irecv");
    return request;
}

void* post_send(const Comm& comm, const Part& part) {
    return repeat([&] { return try_send(comm, part); }, "isend");
}

void* post_recv(const Comm& comm, std::span<const Part> parts) {
    return repeat([&] { return try_recv(comm, parts); }, "irecv");
}

bool test_once(const Net& net, void* request, int* sizes, const char* what) {
    int done = kUntouched;
    expect_success(net->test(request, &done, sizes), what);
    require(done == 0 || done == 1, "test wrote done = {}", done);
    if (done == 1) moved_on();
    return done == 1;
}

std::vector<int> wait(const Net& net, void* request, int parts) {
    std::array<int, NCCL_NET_MAX_RECVS + 8> sizes{};
    sizes.fill(kUntouched);
    const Deadline deadline(kStepPatience);
    while (!test_once(net, request, sizes.data())) {
        require(!deadline.passed(), "a request stayed pending");
        relax();
    }
    for (auto i = static_cast<std::size_t>(parts); i < sizes.size(); ++i) {
        require(sizes[i] == kUntouched, "test wrote size {} of a request with {} parts", i, parts);
    }
    return {sizes.begin(), sizes.begin() + parts};
}

ncclResult_t wait_error(const Net& net, void* request, Nanoseconds limit) {
    const Deadline deadline(limit);
    for (;;) {
        int done = 0;
        const ncclResult_t result = net->test(request, &done, nullptr);
        if (result != ncclSuccess) return result;
        require(done == 0, "a request that must fail completed");
        require(!deadline.passed(), "a request that must fail stayed pending");
        relax();
    }
}

Registration::Registration(const Comm& comm, void* data, std::size_t bytes)
    : net_(&comm.net()), comm_(comm.get()) {
    expect_success((*net_)->regMr(comm_, data, static_cast<int>(bytes), NCCL_PTR_HOST, &handle_),
                   "regMr");
    require(handle_ != nullptr, "regMr gave no handle");
}

Registration::Registration(Registration&& other) noexcept
    : net_(other.net_), comm_(other.comm_), handle_(std::exchange(other.handle_, nullptr)) {}

Registration& Registration::operator=(Registration&& other) noexcept {
    std::swap(net_, other.net_);
    std::swap(comm_, other.comm_);
    std::swap(handle_, other.handle_);
    return *this;
}

Registration::~Registration() {
    try {
        release();
    } catch (const TestFailure& failure) {
        ADD_FAILURE() << failure.what();
    }
}

void Registration::release() {
    if (handle_ == nullptr) return;
    expect_success((*net_)->deregMr(comm_, std::exchange(handle_, nullptr)), "deregMr");
}

}  // namespace duofi::test
