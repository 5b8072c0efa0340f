#include "tests/unit/p2p/transport/net_fake.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "common/abi/net_v10.h"
#include "common/abi/net_v11.h"
#include "common/abi/net_v12.h"
#include "common/abi/net_v6.h"
#include "common/abi/net_v7.h"
#include "common/abi/net_v8.h"
#include "common/abi/net_v9.h"

namespace duofi::p2p::test {
namespace {

struct Request;
/// One connection: messages on their way, receives that wait.
struct Pipe {
    std::deque<std::vector<char>> messages;
    std::deque<Request*> waiting;
    int open_requests = 0;
};
struct Comm {
    std::shared_ptr<Pipe> pipe;
    bool sends = false;
    std::set<Request*> open{};  ///< requests that are not done; end with the comm
};
struct Listener {
    std::uint64_t id = 0;
    int attempts = 0;
    std::deque<std::shared_ptr<Pipe>> arrived;
};
struct Request {
    Comm* comm = nullptr;
    int tests = 0;
    char* to = nullptr;  ///< of a receive
    std::size_t room = 0;
    std::vector<char> data;
    bool filled = false;
    std::size_t stored = 0;
};
struct Handle {
    std::uint64_t id;
    std::int32_t attempts;
};

struct Net {
    std::mutex mutex;
    FakePlan plan;
    FakeCounts counts;
    int version = 6;
    std::uint64_t next_id = 1;
    std::map<std::uint64_t, Listener*> listeners;
    std::map<std::string, int> calls;
    int posts = 0;

    /// Lock held.
    ncclResult_t told(const char* entry) {
        if (plan.fail != entry) return ncclSuccess;
        return calls[entry]++ < plan.fail_after ? ncclSuccess : plan.result;
    }
    bool refuses() { return plan.refusals != 0 && ++posts % plan.refusals == 0; }
};
Net& net() {
    static Net instance;
    return instance;
}
#define FAKE_ENTRY(name)                         \
    const std::scoped_lock lock(net().mutex);    \
    if (const ncclResult_t told = net().told(name); told != ncclSuccess) return told

ncclResult_t listen(void* handle, void** comm) {
    FAKE_ENTRY("listen");
    auto* made = new Listener;
    made->id = net().next_id++;
    net().listeners[made->id] = made;
    const Handle text{made->id, 0};
    std::memset(handle, 0x5a, NCCL_NET_HANDLE_MAXSIZE);  // all of it is the plugin's
    std::memcpy(handle, &text, sizeof(text));
    ++net().counts.listens;
    *comm = made;
    return ncclSuccess;
}

ncclResult_t connect(void* handle, void** comm) {
    FAKE_ENTRY("connect");
    Handle text;
    std::memcpy(&text, handle, sizeof(text));
    *comm = nullptr;
    const auto found = net().listeners.find(text.id);
    if (net().plan.never_connects || ++text.attempts < net().plan.attempts) {
        std::memcpy(handle, &text, sizeof(text));  // notes between attempts live in the handle
        return ncclSuccess;
    }
    if (found == net().listeners.end()) return ncclRemoteError;
    auto pipe = std::make_shared<Pipe>();
    found->second->arrived.push_back(pipe);
    *comm = new Comm{pipe, true};
    ++net().counts.send_comms;
    return ncclSuccess;
}

ncclResult_t accept(void* listener, void** comm) {
    FAKE_ENTRY("accept");
    auto& from = *static_cast<Listener*>(listener);
    *comm = nullptr;
    if (++from.attempts < net().plan.attempts || from.arrived.empty()) return ncclSuccess;
    *comm = new Comm{from.arrived.front(), false};
    from.arrived.pop_front();
    ++net().counts.recv_comms;
    return ncclSuccess;
}

ncclResult_t register_memory(void* comm, void** mhandle) {
    FAKE_ENTRY("regMr");
    if (comm == nullptr) return ncclInvalidArgument;
    ++net().counts.registrations;
    *mhandle = new char;
    return ncclSuccess;
}
ncclResult_t deregister(void* mhandle) {
    FAKE_ENTRY("deregMr");
    --net().counts.registrations;
    delete static_cast<char*>(mhandle);
    return ncclSuccess;
}

Request* new_request(Comm& comm) {
    auto* made = new Request;
    made->comm = &comm;
    comm.open.insert(made);
    ++net().counts.requests;
    net().counts.most_requests = std::max(net().counts.most_requests, static_cast<int>(comm.open.size()));
    return made;
}

ncclResult_t send(void* comm, const void* data, std::size_t bytes, void* mhandle, void** request) {
    FAKE_ENTRY("isend");
    auto& of = *static_cast<Comm*>(comm);
    if (mhandle == nullptr || !of.sends) return ncclInvalidArgument;
    *request = nullptr;
    if (net().refuses()) return ncclSuccess;
    const auto* from = static_cast<const char*>(data);
    of.pipe->messages.emplace_back(from, from + bytes);
    ++net().counts.messages;
    *request = new_request(of);
    return ncclSuccess;
}

ncclResult_t receive(void* comm, void* data, std::size_t bytes, void* mhandle, void** request) {
    FAKE_ENTRY("irecv");
    auto& of = *static_cast<Comm*>(comm);
    if (mhandle == nullptr || of.sends) return ncclInvalidArgument;
    *request = nullptr;
    if (net().refuses()) return ncclSuccess;
    Request* made = new_request(of);
    made->to = static_cast<char*>(data);
    made->room = bytes;
    of.pipe->waiting.push_back(made);
    *request = made;
    return ncclSuccess;
}

/// The second half of the bytes is there before the first one.
void store_part(Request& request, bool last) {
    const std::size_t half = request.data.size() / 2;
    if (request.data.empty()) return;
    std::memcpy(request.to + half, request.data.data() + half, request.data.size() - half);
    if (last) std::memcpy(request.to, request.data.data(), half);
}

ncclResult_t test(void* request, int* done, int* bytes) {
    FAKE_ENTRY("test");
    auto& of = *static_cast<Request*>(request);
    *done = 0;
    Pipe& pipe = *of.comm->pipe;
    if (!of.comm->sends && !of.filled) {
        if (pipe.waiting.front() != &of || pipe.messages.empty()) return ncclSuccess;
        of.data = std::move(pipe.messages.front());
        pipe.messages.pop_front();
        pipe.waiting.pop_front();
        of.filled = true;
        if (of.data.size() > of.room) return ncclInvalidArgument;
    }
    const bool last = ++of.tests >= net().plan.tests;
    if (!of.comm->sends) store_part(of, last);
    if (!last) return ncclSuccess;
    *done = 1;
    *bytes = static_cast<int>(of.data.size());
    of.comm->open.erase(&of);
    --net().counts.requests;
    delete &of;
    return ncclSuccess;
}

ncclResult_t close(void* comm, int FakeCounts::*count) {
    const std::scoped_lock lock(net().mutex);
    auto* of = static_cast<Comm*>(comm);
    if (!of->open.empty()) ++net().counts.closed_with_requests;
    net().counts.requests -= static_cast<int>(of->open.size());
    --(net().counts.*count);
    for (Request* request : of->open) delete request;
    if (!of->sends) of->pipe->waiting.clear();
    delete of;
    return ncclSuccess;
}
ncclResult_t close_send(void* comm) {
    return close(comm, &FakeCounts::send_comms);
}
ncclResult_t close_recv(void* comm) {
    return close(comm, &FakeCounts::recv_comms);
}
ncclResult_t close_listen(void* comm) {
    const std::scoped_lock lock(net().mutex);
    auto* of = static_cast<Listener*>(comm);
    net().listeners.erase(of->id);
    --net().counts.listens;
    delete of;
    return ncclSuccess;
}

template <typename Properties>
ncclResult_t properties(int device, Properties* out) {
    static char path[] = "/sys/devices/pci0000:00/0000:00:01.0";
    if (device < 0 || device >= net().plan.devices) return ncclInvalidArgument;
    out->pciPath = path;
    return ncclSuccess;
}

using DeviceHandle = ncclNetDeviceHandle_v7_t;

/// What is the same in all versions.
template <typename Table, typename Properties>
Table common_part() {
    Table t{};
    t.name = "FAKE";
    t.getProperties = properties<Properties>;
    t.deregMr = [](void*, void* mhandle) { return deregister(mhandle); };
    t.test = test;
    t.closeSend = close_send;
    t.closeRecv = close_recv;
    t.closeListen = close_listen;
    return t;
}

template <typename Table>
void with_int_messages(Table& t) {
    t.isend = [](void* c, void* d, int n, int, void* m, void** r) {
        return send(c, d, static_cast<std::size_t>(n), m, r);
    };
    t.irecv = [](void* c, int, void** d, int* n, int*, void** m, void** r) {
        return receive(c, d[0], static_cast<std::size_t>(n[0]), m[0], r);
    };
}
template <typename Table>
void with_profiled_messages(Table& t) {
    t.isend = [](void* c, void* d, std::size_t n, int, void* m, void*, void** r) {
        return send(c, d, n, m, r);
    };
    t.irecv = [](void* c, int, void** d, std::size_t* n, int*, void** m, void** p, void** r) {
        return p != nullptr ? receive(c, d[0], n[0], m[0], r) : ncclInvalidArgument;
    };
}
template <typename Table>
void with_device_handles(Table& t) {
    t.accept = [](void* l, void** c, DeviceHandle** h) {
        return h != nullptr ? accept(l, c) : ncclInvalidArgument;
    };
}
int context_word = 0;
template <typename Table>
void with_context(Table& t) {
    t.listen = [](void* x, int, void* h, void** c) {
        return x == &context_word ? listen(h, c) : ncclInvalidArgument;
    };
    t.connect = [](void* x, int, void* h, void** c, DeviceHandle**) {
        return x == &context_word ? connect(h, c) : ncclInvalidArgument;
    };
    with_device_handles(t);
    with_profiled_messages(t);
}

template <typename Table>
void with_plain_listen(Table& t) {
    t.listen = [](int, void* h, void** c) { return listen(h, c); };
}
template <typename Table>
void with_size_registration(Table& t) {
    t.regMr = [](void* c, void*, std::size_t, int type, void** m) {
        return type == NCCL_PTR_HOST ? register_memory(c, m) : ncclInvalidArgument;
    };
}
template <typename Table>
void with_int_registration(Table& t) {
    t.regMr = [](void* c, void*, int, int type, void** m) {
        return type == NCCL_PTR_HOST ? register_memory(c, m) : ncclInvalidArgument;
    };
}
template <typename Table>
void with_handle_connect(Table& t) {
    t.connect = [](int, void* h, void** c, DeviceHandle**) { return connect(h, c); };
    with_plain_listen(t);
    with_device_handles(t);
}

const void* table_of(int version) {
    static const ncclNet_v6_t v6 = [] {
        auto t = common_part<ncclNet_v6_t, ncclNetProperties_v6_t>();
        t.connect = [](int, void* h, void** c) { return connect(h, c); };
        t.accept = [](void* l, void** c) { return accept(l, c); };
        with_plain_listen(t);
        with_int_registration(t);
        with_int_messages(t);
        return t;
    }();
    static const ncclNet_v7_t v7 = [] {
        auto t = common_part<ncclNet_v7_t, ncclNetProperties_v7_t>();
        with_handle_connect(t);
        with_int_registration(t);
        with_int_messages(t);
        return t;
    }();
    static const ncclNet_v8_t v8 = [] {
        auto t = common_part<ncclNet_v8_t, ncclNetProperties_v8_t>();
        with_handle_connect(t);
        with_size_registration(t);
        with_int_messages(t);
        return t;
    }();
    static const ncclNet_v9_t v9 = [] {
        auto t = common_part<ncclNet_v9_t, ncclNetProperties_v9_t>();
        with_handle_connect(t);
        with_size_registration(t);
        t.isend = [](void* c, void* d, std::size_t n, int, void* m, void** r) {
            return send(c, d, n, m, r);
        };
        t.irecv = [](void* c, int, void** d, std::size_t* n, int*, void** m, void** r) {
            return receive(c, d[0], n[0], m[0], r);
        };
        return t;
    }();
    static const ncclNet_v10_t v10 = [] {
        auto t = common_part<ncclNet_v10_t, ncclNetProperties_v10_t>();
        t.connect = [](int, ncclNetCommConfig_v10_t* x, void* h, void** c, DeviceHandle**) {
            return x != nullptr ? connect(h, c) : ncclInvalidArgument;
        };
        with_plain_listen(t);
        with_device_handles(t);
        with_size_registration(t);
        with_profiled_messages(t);
        return t;
    }();
    static const ncclNet_v11_t v11 = [] {
        auto t = common_part<ncclNet_v11_t, ncclNetProperties_v11_t>();
        with_context(t);
        with_size_registration(t);
        return t;
    }();
    static const ncclNet_v12_t v12 = [] {
        auto t = common_part<ncclNet_v12_t, ncclNetProperties_v12_t>();
        with_context(t);
        with_size_registration(t);
        return t;
    }();
    const std::map<int, const void*> tables{{6, &v6},   {7, &v7},   {8, &v8},  {9, &v9},
                                            {10, &v10}, {11, &v11}, {12, &v12}};
    const auto found = tables.find(version);
    return found != tables.end() ? found->second : &v6;
}

}  // namespace

OpenedNet open_fake_net() {
    const std::scoped_lock lock(net().mutex);
    ++net().counts.attached;
    ++net().counts.inits;
    OpenedNet opened{table_of(net().version), net().version, nullptr, "FAKE", net().plan.devices, {}};
    if (net().version >= 11) opened.context = &context_word;
    opened.close = [] {
        const std::scoped_lock again(net().mutex);
        --net().counts.attached;
    };
    return opened;
}

void use_fake_net(int version, const FakePlan& plan) {
    set_net_opener([](std::uint64_t) -> Result<OpenedNet> { return open_fake_net(); });
    const std::scoped_lock lock(net().mutex);
    net().version = version;
    net().plan = plan;
    net().counts = {};
    net().calls.clear();
    net().posts = 0;
}

void stop_fake_net() {
    set_net_opener({});
}

void change_fake_plan(const FakePlan& plan) {
    const std::scoped_lock lock(net().mutex);
    net().plan = plan;
    net().calls.clear();
}

FakeCounts fake_counts() {
    const std::scoped_lock lock(net().mutex);
    return net().counts;
}

bool fake_net_is_closed() {
    const FakeCounts now = fake_counts();
    return now.attached == 0 && now.listens == 0 && now.send_comms == 0 && now.recv_comms == 0 &&
           now.registrations == 0 && now.requests == 0;
}

}  // namespace duofi::p2p::test
