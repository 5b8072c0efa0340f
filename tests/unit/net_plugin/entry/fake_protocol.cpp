#include "tests/unit/net_plugin/entry/fake_protocol.hpp"

#include <cerrno>
#include <cstring>
#include <system_error>

namespace duofi::net::entry_test {

namespace {

class FakeSend : public SendComm {
  public:
    FakeSend(Script& script, FakeEndpoint& endpoint)
        : SendComm(endpoint), script_(script), endpoint_(endpoint) {
        ++script_.live_comms;
    }
    ~FakeSend() override { --script_.live_comms; }
    Result<void*> register_memory(void* data, std::size_t) override {
        script_.enter("send.register");
        if (script_.fail_register != Errc{}) return fail(script_.fail_register, "register");
        return data;
    }
    Result<Request*> isend(void*, std::size_t size, int tag, void*) override {
        script_.enter("isend", std::to_string(size) + " tag " + std::to_string(tag));
        if (script_.fail_post != Errc{}) return fail(script_.fail_post, "isend");
        return script_.post_full ? nullptr : endpoint_.post(1);
    }
    void close() override {
        const std::unique_ptr<FakeSend> self(this);
        script_.enter("send.close");
    }
    int steps = 0;

  private:
    Script& script_;
    FakeEndpoint& endpoint_;
};

class FakeRecv : public RecvComm {
  public:
    FakeRecv(Script& script, FakeEndpoint& endpoint)
        : RecvComm(endpoint), script_(script), endpoint_(endpoint) {
        ++script_.live_comms;
    }
    ~FakeRecv() override { --script_.live_comms; }
    Result<void*> register_memory(void* data, std::size_t) override {
        script_.enter("recv.register");
        return data;
    }
    Result<Request*> irecv(const RecvBuffer* buffers, int count) override {
        std::string detail = std::to_string(count) + ":";
        for (int i = 0; i < count; ++i)
            detail += " " + std::to_string(buffers[i].size) + "/" + std::to_string(buffers[i].tag);
        script_.enter("irecv", detail);
        if (script_.fail_post != Errc{}) return fail(script_.fail_post, "irecv");
        return script_.post_full ? nullptr : endpoint_.post(count);
    }
    Result<Request*> iflush(const RecvBuffer*, int count) override {
        script_.enter("iflush", std::to_string(count));
        return nullptr;
    }
    void close() override {
        const std::unique_ptr<FakeRecv> self(this);
        script_.enter("recv.close");
    }

  private:
    Script& script_;
    FakeEndpoint& endpoint_;
};

class FakeListen : public ListenComm {
  public:
    FakeListen(Script& script, FakeEndpoint& endpoint)
        : ListenComm(endpoint), script_(script), endpoint_(endpoint) {
        ++script_.live_comms;
    }
    ~FakeListen() override { --script_.live_comms; }
    Result<RecvComm*> accept() override {
        script_.enter("listen_comm.accept");
        if (!script_.accept_ready) return nullptr;
        endpoint_.add_reference();
        if (script_.fail_accept != Errc{}) return fail(script_.fail_accept, "accept");
        return new FakeRecv(script_, endpoint_);
    }
    void close() override {
        const std::unique_ptr<FakeListen> self(this);
        script_.enter("listen_comm.close");
    }

  private:
    Script& script_;
    FakeEndpoint& endpoint_;
};

}  // namespace

void Script::enter(const std::string& name, const std::string& detail) {
    calls.push_back(detail.empty() ? name : name + " " + detail);
    if (name == throw_in)
        throw std::system_error(EINVAL, std::generic_category(), "pthread_mutex_lock");
}

void FakeOwner::progress(Request& request) {
    script_.enter("progress");
    if (!request.pending() || progresses_until_done-- > 0) return;
    if (outcome == ncclSuccess)
        request.finish();
    else
        request.fail_with(outcome);
}

void FakeOwner::retire(Request& request) noexcept {
    script_.calls.push_back("retire");
    request.state = RequestState::free;
}

Result<ListenComm*> FakeEndpoint::listen(Handle& handle) {
    script_.enter("endpoint.listen");
    if (script_.fail_listen != Errc{}) return fail(script_.fail_listen, "listen");
    handle.provider = ofi::provider_mark(kFakeProvider);
    handle.port = 7;
    handle.nonce[0] = std::byte{9};
    handle.name.length = 4;
    handle.name.bytes[0] = std::byte{1};
    return new FakeListen(script_, *this);
}

Result<ConnectProgress> FakeEndpoint::connect(const Handle&, SendComm* attempt) {
    script_.enter(attempt == nullptr ? "endpoint.connect new" : "endpoint.connect again");
    std::unique_ptr<FakeSend> comm(static_cast<FakeSend*>(attempt));  // ends with an error only
    if (script_.fail_connect != Errc{}) return fail(script_.fail_connect, "connect");
    if (comm == nullptr) comm = std::make_unique<FakeSend>(script_, *this);
    const bool ready = ++comm->steps >= script_.connect_steps;
    return ConnectProgress{comm.release(), ready};
}

void FakeEndpoint::add_reference() noexcept {
    script_.calls.push_back("endpoint.add_reference");
    ++script_.references;
}

void FakeEndpoint::release() {
    script_.calls.push_back("endpoint.release");
    --script_.references;
}

Request* FakeEndpoint::post(int sizes) {
    request.owner = &owner;
    request.size_count = sizes;
    for (int i = 0; i < sizes; ++i) request.sizes[i] = 100 + i;
    request.state = RequestState::pending;
    return &request;
}

Result<Endpoint*> FakeDevice::get_endpoint() {
    script_.enter("device.get_endpoint");
    if (script_.fail_get_endpoint != Errc{}) return fail(script_.fail_get_endpoint, "get_endpoint");
    if (script_.null_endpoint) return nullptr;
    ++script_.references;
    return &endpoint_;
}

Device* FakePlugin::get_device(int index) noexcept {
    script.calls.push_back("plugin.get_device " + std::to_string(index));
    return index == 0 ? &device : nullptr;
}

EntryTest::EntryTest() {
    set_plugin(&fake);
    set_handle_provider(ofi::provider_mark(kFakeProvider));
}

EntryTest::~EntryTest() {
    EXPECT_EQ(open_comms(), open_before_) << "a case left a comm open";
    EXPECT_EQ(fake.script.live_comms, 0);
    EXPECT_EQ(fake.script.references, 0) << "a reference on the endpoint was lost";
    set_plugin(nullptr);
}

HandleArray EntryTest::listening(void** comm) {
    HandleArray handle;
    handle.fill('\x5a');
    EXPECT_EQ(table.listen(0, handle.data(), comm), ncclSuccess) << log.dump();
    (void)calls();
    return handle;
}

void* EntryTest::connected(HandleArray handle) {
    void* comm = nullptr;
    EXPECT_EQ(table.connect(0, handle.data(), &comm), ncclSuccess) << log.dump();
    EXPECT_NE(comm, nullptr);
    (void)calls();
    return comm;
}

void* EntryTest::accepted(void* listen_comm) {
    void* comm = nullptr;
    EXPECT_EQ(table.accept(listen_comm, &comm), ncclSuccess) << log.dump();
    EXPECT_NE(comm, nullptr);
    (void)calls();
    return comm;
}

std::vector<std::string> EntryTest::lines() {
    std::vector<std::string> texts;
    const auto all = log.all();
    for (; lines_seen_ < all.size(); ++lines_seen_) texts.push_back(all[lines_seen_].text);
    return texts;
}

}  // namespace duofi::net::entry_test
