#include "tests/support/rma_driver.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include "tests/support/log_capture.hpp"
#include "tests/support/plugin_module.hpp"
#include "tests/support/scoped_env.hpp"

namespace duofi::test {
namespace {

constexpr int kUntouched = 0x5A5A5A5A;

// What a caller may leave in a request word.
void* garbage_request() {
    static std::atomic<unsigned> turn{0};
    constexpr std::array<std::uintptr_t, 3> kWords = {0, 1, 0xDEADBEE8};
    return reinterpret_cast<void*>(
        kWords[turn.fetch_add(1, std::memory_order_relaxed) % kWords.size()]);
}

// success means a request, and not the garbage that stood there.
template <typename Call>
void* must_post(Call call, const char* what) {
    void* const garbage = garbage_request();
    void* request = garbage;
    expect_success(call(&request), what);
    require(request != nullptr, "{} succeeded without a request", what);
    require(request != garbage, "{} left the request word as it was", what);
    return request;
}

loader::RmaPut table_form(const RmaStream& on, const RmaPut& put) {
    return {on.context,
            put.from,
            put.source,
            put.bytes,
            put.to,
            put.target,
            static_cast<std::uint32_t>(put.rank),
            put.hints};
}

}  // namespace

Nanoseconds rma_patience() {
    static const Nanoseconds patience_ns = [] {
        const auto text = env_value("DUOFI_TEST_PATIENCE_MS");
        return text ? std::atoi(text->c_str()) * kMillisecond : kStepPatience;
    }();
    return patience_ns;
}

RmaModule::RmaModule(const std::string& path)
    : library_(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    require(library_ != nullptr, "dlopen: {}", library_ == nullptr ? ::dlerror() : "");
}

RmaModule::RmaModule(RmaModule&& other) noexcept
    : library_(std::exchange(other.library_, nullptr)) {}

const void* RmaModule::table(int version) const {
    const std::string name = fmt::format("ncclRmaPlugin_v{}", version);
    const void* found = ::dlsym(library_, name.c_str());
    require(found != nullptr, "the module has no {}", name);
    return found;
}

const ncclNet_v6_t* RmaModule::net_v6() const {
    const void* found = ::dlsym(library_, "ncclNetPlugin_v6");
    require(found != nullptr, "the module has no ncclNetPlugin_v6");
    return static_cast<const ncclNet_v6_t*>(found);
}

void RmaModule::close() {
    if (library_ != nullptr) ::dlclose(std::exchange(library_, nullptr));
}

const Rma& Rma::process(int version) {
    static std::once_flag once;
    static RmaModule* module = nullptr;  // both stay for the life of the process
    static Rma* rma = nullptr;
    std::call_once(once, [version] {
        module = new RmaModule(plugin_path());
        rma = new Rma(module->table(version), version);
    });
    require(rma->version() == version, "one table version per process");
    return *rma;
}

int Rma::devices() const {
    int count = -1;
    expect_success(table_.devices(&count), "devices");
    return count;
}

ncclNetProperties_v12_t Rma::properties(int dev) const {
    ncclNetProperties_v12_t properties{};
    expect_success(table_.properties(dev, &properties), "getProperties");
    return properties;
}

RmaOwned& RmaOwned::operator=(RmaOwned&& other) noexcept {
    std::swap(object_, other.object_);
    std::swap(what_, other.what_);
    std::swap(end_, other.end_);
    return *this;
}

RmaOwned::~RmaOwned() {
    try {
        close();
    } catch (const TestFailure& failure) {
        ADD_FAILURE() << failure.what();
    }
}

Nanoseconds RmaOwned::close() {
    if (object_ == nullptr) return 0;
    const Nanoseconds start = now_ns();
    expect_success(end_(std::exchange(object_, nullptr)), what_);
    const Nanoseconds took = now_ns() - start;
    require(took <= kCloseLimit, "{} took {} ms", what_, took / kMillisecond);
    return took;
}

RmaOwned open_instance(const Rma& rma, std::uint64_t comm_id) {
    void* ctx = nullptr;
    expect_success(rma->init(&ctx, comm_id, &log_capture::record), "init");
    require(ctx != nullptr, "init gave no instance");
    return {ctx, "finalize", [&rma](void* object) { return rma->finalize(object); }};
}

RmaListener rma_listen(const Rma& rma, void* instance, int dev) {
    RmaListener listener;
    listener.handle.fill('\x77');  // the slot may hold an older handle (C-1)
    void* comm = nullptr;
    expect_success(rma->listen(instance, dev, listener.handle.data(), &comm), "listen");
    require(comm != nullptr, "listen gave no comm");
    listener.comm = {comm, "closeListen",
                     [&rma](void* object) { return rma->close_listen(object); }};
    return listener;
}

ncclResult_t rma_connect(const Rma& rma, void* ctx, const std::vector<Handle>& handles, int rank,
                         void* listen_comm, void** coll_comm) {
    std::vector<Handle> slots = handles;
    std::vector<void*> pointers;
    for (Handle& slot : slots) pointers.push_back(slot.data());
    const ncclResult_t result = rma->connect(ctx, pointers.data(), static_cast<int>(slots.size()),
                                             rank, listen_comm, coll_comm);
    std::memset(slots.data(), 0xDD, slots.size() * sizeof(Handle));
    return result;
}

RmaOwned own_coll(const Rma& rma, void* coll_comm) {
    return {coll_comm, "closeColl", [&rma](void* object) { return rma->close_coll(object); }};
}

RmaOwned open_context(const Rma& rma, void* coll_comm, int contexts, int stride) {
    ncclRmaConfig_v16_t config{};
    config.nContexts = contexts;
    config.trafficClass = NCCL_NET_TRAFFIC_CLASS_UNDEF;
    config.rankStride = stride;
    void* ctx = nullptr;
    expect_success(rma->create_context(coll_comm, &config, &ctx), "createContext");
    require(ctx != nullptr, "createContext gave no context");
    return {ctx, "destroyContext", [&rma](void* object) { return rma->destroy_context(object); }};
}

ncclResult_t try_put(const RmaStream& on, const RmaPut& put, void** request) {
    return (*on.rma)->iput(on.ctx, table_form(on, put), request);
}

ncclResult_t try_signal(const RmaStream& on, const RmaPut& put, const RmaSignal& signal,
                        void** request) {
    const loader::RmaSignal half{signal.at, signal.region, signal.value, signal.op, signal.strong};
    return (*on.rma)->iput_signal(on.ctx, table_form(on, put), half, request);
}

ncclResult_t try_get(const RmaStream& on, const RmaPut& get, void** request) {
    const loader::RmaGet call{on.context,
                              get.to,
                              get.target,
                              get.bytes,
                              get.from,
                              get.source,
                              static_cast<std::uint32_t>(get.rank),
                              get.hints};
    return (*on.rma)->iget(on.ctx, call, request);
}

void* post_put(const RmaStream& on, const RmaPut& put) {
    return must_post([&](void** request) { return try_put(on, put, request); }, "iput");
}

void* post_signal(const RmaStream& on, const RmaPut& put, const RmaSignal& signal) {
    return must_post([&](void** request) { return try_signal(on, put, signal, request); },
                     "iputSignal");
}

void* post_get(const RmaStream& on, const RmaPut& get) {
    return must_post([&](void** request) { return try_get(on, get, request); }, "iget");
}

void* post_flush(const RmaStream& on, void* mhandle, int rank) {
    return must_post(
        [&](void** request) {
            return (*on.rma)->iflush(on.ctx, on.context, mhandle, static_cast<std::uint32_t>(rank),
                                     request);
        },
        "iflush");
}

bool rma_test(const RmaStream& on, void* request) {
    int done = kUntouched;
    expect_success((*on.rma)->test(on.coll, request, &done), "test");
    require(done == 0 || done == 1, "test wrote done = {:#x}", static_cast<unsigned>(done));
    if (done == 1) moved_on();
    return done == 1;
}

void rma_wait(const RmaStream& on, void* request) {
    const Deadline deadline(rma_patience());
    while (!rma_test(on, request)) {
        require(!deadline.passed(), "a request stayed pending");
        relax();
    }
}

void rma_wait_all(const RmaStream& on, std::span<void* const> requests) {
    for (void* request : requests) rma_wait(on, request);
}

ncclResult_t rma_wait_error(const RmaStream& on, void* request, Nanoseconds limit) {
    const Deadline deadline(limit);
    for (;;) {
        int done = 0;
        const ncclResult_t result = (*on.rma)->test(on.coll, request, &done);
        if (result != ncclSuccess) return result;
        require(done == 0, "a request that must fail completed");
        require(!deadline.passed(), "a request that must fail stayed pending");
        relax();
    }
}

}  // namespace duofi::test
