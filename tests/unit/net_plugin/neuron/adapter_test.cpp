// Neuron's adapters on a plugin of the test's own: conversions, v4's waiting calls, and what leaves the C boundary
// (net contract 1.5, 2.2, 3.4; the guard lines of the seed). Units: net_plugin/neuron/calls.
#include <gtest/gtest.h>

#include <cstring>
#include <system_error>

#include "common/abi/net_neuron.h"
#include "net_plugin/comm_registry.hpp"
#include "net_plugin/entry.hpp"
#include "net_plugin/neuron/calls.hpp"
#include "tests/unit/util/log_lines.hpp"

extern "C" {
extern ncclNet_neuron_v4_t ncclNetPlugin_v4;
extern ncclNet_neuron_v5_t ncclNetPlugin_v5;
extern ncclNet_neuron_v6_t ncclNetPlugin_v6;
}

namespace duofi::net {
namespace {

struct Told {
    std::size_t size = 0;
    int tag = -1;
    int count = 0;
    void* memory = nullptr;
};

class SpySend : public SendComm {
  public:
    SpySend(Endpoint& endpoint, Told& told) : SendComm(endpoint), told_(told) {}
    Result<void*> register_memory(void*, std::size_t size) override {
        told_.size = size;
        return &told_;
    }
    Result<Request*> isend(void*, std::size_t size, int tag, void* memory) override {
        told_ = {size, tag, 1, memory};
        return nullptr;
    }
    void close() override { delete this; }

  private:
    Told& told_;
};

class SpyRecv : public RecvComm {
  public:
    SpyRecv(Endpoint& endpoint, Told& told) : RecvComm(endpoint), told_(told) {}
    Result<void*> register_memory(void*, std::size_t) override { return &told_; }
    Result<Request*> irecv(const RecvBuffer* buffers, int count) override {
        told_ = {buffers[0].size, buffers[0].tag, count, buffers[0].memory};
        return nullptr;
    }
    Result<Request*> iflush(const RecvBuffer* buffers, int count) override { return irecv(buffers, count); }
    void close() override { delete this; }

  private:
    Told& told_;
};

class SpyListen : public ListenComm {
  public:
    SpyListen(Endpoint& endpoint, Told& told, int& accepts_left)
        : ListenComm(endpoint), told_(told), accepts_left_(accepts_left) {}
    Result<RecvComm*> accept() override;
    void close() override { delete this; }

  private:
    Told& told_;
    int& accepts_left_;
};

// Plugin, device and endpoint in one.
class Spy : public Plugin, public Device, public Endpoint {
  public:
    Spy() { set_plugin(this), set_handle_provider(7); }
    ~Spy() override { set_plugin(nullptr); }
    [[nodiscard]] int device_count() const noexcept override { return 1; }
    [[nodiscard]] Device* get_device(int index) noexcept override { return index == 0 ? this : nullptr; }
    Result<Endpoint*> get_endpoint() override {
        if (mutex_fails) throw std::system_error(EINVAL, std::generic_category(), "pthread_mutex_lock");
        ++references;
        return this;
    }
    [[nodiscard]] const DeviceProperties& properties() const noexcept override { return properties_; }
    Result<ListenComm*> listen(Handle& handle) override {
        handle.provider = 7;
        handle.port = 1;
        handle.nonce.fill(std::byte{5});
        handle.name.length = 16;
        handle.name.bytes.fill(std::byte{0});
        handle.name.bytes[0] = std::byte{9};
        return new SpyListen(*this, told, accepts_left);
    }
    Result<ConnectProgress> connect(const Handle&, SendComm* attempt) override {
        ++connects;
        if (connect_fails) {
            if (attempt != nullptr) attempt->close();
            return fail(Errc::remote, "connect");
        }
        return ConnectProgress{attempt != nullptr ? attempt : new SpySend(*this, told), false, connects >= asked_after};
    }
    void add_reference() override { ++references; }
    void release() override { --references; }

    Told told;
    bool mutex_fails = false, connect_fails = false;
    int references = 0, connects = 0, asked_after = 1, accepts_left = 0;

  private:
    DeviceProperties properties_;
};

Result<RecvComm*> SpyListen::accept() {
    if (accepts_left_-- > 0) return nullptr;
    endpoint().add_reference();
    return new SpyRecv(endpoint(), told_);
}

class NeuronAdapters : public ::testing::Test {
  protected:
    ~NeuronAdapters() override {
        EXPECT_EQ(spy.references, 0);
        EXPECT_EQ(comm_count(), 0u);
    }
    Spy spy;
    duofi::test::LogLines log{duofi::log::Level::warn};
};

TEST_F(NeuronAdapters, a_mutex_that_fails_is_an_internal_error_everywhere) {
    spy.mutex_fails = true;
    char handle[128];
    void* comm = handle;
    EXPECT_EQ(ncclNetPlugin_v4.listen(0, handle, &comm), ncclInternalError);
    EXPECT_EQ(ncclNetPlugin_v5.listen(0, handle, &comm), ncclInternalError);
    EXPECT_EQ(ncclNetPlugin_v6.listen(0, handle, &comm), ncclInternalError);
    EXPECT_EQ(comm, nullptr);
    EXPECT_NE(log.dump().find("pthread_mutex_lock"), std::string::npos) << log.dump();
}

TEST_F(NeuronAdapters, v4_uses_64_bytes_of_handle_and_no_tags) {
    char memory[192];
    std::memset(memory, 0x6B, sizeof(memory));
    void *listening = nullptr, *send = nullptr, *recv = nullptr, *request = memory;
    ASSERT_EQ(ncclNetPlugin_v4.listen(0, memory, &listening), ncclSuccess);
    for (int i = 64; i < 192; ++i) ASSERT_EQ(memory[i], 0x6B) << i;
    spy.asked_after = 300;
    ASSERT_EQ(ncclNetPlugin_v4.connect(0, memory, &send), ncclSuccess);
    EXPECT_NE(send, nullptr);
    EXPECT_EQ(spy.connects, 300) << "connect returns when its request has left, neither before nor after";
    for (int i = 64; i < 192; ++i) ASSERT_EQ(memory[i], 0x6B) << i;
    spy.accepts_left = 300;
    ASSERT_EQ(ncclNetPlugin_v4.accept(listening, &recv), ncclSuccess);
    EXPECT_NE(recv, nullptr);
    EXPECT_EQ(ncclNetPlugin_v4.isend(send, memory, 17, &spy, &request), ncclSuccess);
    EXPECT_EQ(request, nullptr);
    EXPECT_EQ(spy.told.size, 17u);
    EXPECT_EQ(spy.told.tag, 0);
    EXPECT_EQ(spy.told.memory, &spy);
    EXPECT_EQ(ncclNetPlugin_v4.irecv(recv, memory, 18, &spy, &request), ncclSuccess);
    EXPECT_EQ(spy.told.size, 18u);
    EXPECT_EQ(spy.told.count, 1);
    EXPECT_EQ(ncclNetPlugin_v4.iflush(recv, memory, 19, &spy, &request), ncclSuccess);
    EXPECT_EQ(spy.told.size, 19u);
    EXPECT_EQ(ncclNetPlugin_v4.closeSend(send), ncclSuccess);
    EXPECT_EQ(ncclNetPlugin_v4.closeRecv(recv), ncclSuccess);
    EXPECT_EQ(ncclNetPlugin_v4.closeListen(listening), ncclSuccess);
}

TEST_F(NeuronAdapters, v4_connect_ends_with_its_attempt) {
    char handle[64];
    void *listening = nullptr, *send = handle;
    ASSERT_EQ(ncclNetPlugin_v4.listen(0, handle, &listening), ncclSuccess);
    spy.connect_fails = true;
    EXPECT_EQ(ncclNetPlugin_v4.connect(0, handle, &send), ncclRemoteError);
    EXPECT_EQ(send, nullptr);
    EXPECT_EQ(ncclNetPlugin_v4.closeListen(listening), ncclSuccess);
}

TEST_F(NeuronAdapters, v5_and_v6_connect_without_waiting) {
    char handle[128];
    void *listening = nullptr, *send = handle;
    ASSERT_EQ(ncclNetPlugin_v6.listen(0, handle, &listening), ncclSuccess);
    EXPECT_EQ(ncclNetPlugin_v6.connect(0, handle, &send), ncclSuccess);
    EXPECT_EQ(send, nullptr) << "the request has left, but nobody has accepted";
    EXPECT_EQ(ncclNetPlugin_v5.connect(0, handle, &send), ncclSuccess);
    EXPECT_EQ(spy.connects, 2);
    EXPECT_EQ(ncclNetPlugin_v6.closeListen(listening), ncclSuccess);
    end_attempts();
}

TEST_F(NeuronAdapters, sizes_and_groups_are_checked_before_they_are_read) {
    char memory[128];
    void *listening = nullptr, *recv = nullptr, *request = memory;
    ASSERT_EQ(ncclNetPlugin_v6.listen(0, memory, &listening), ncclSuccess);
    ASSERT_EQ(ncclNetPlugin_v6.accept(listening, &recv), ncclSuccess);
    void* data[8] = {memory, memory, memory, memory, memory, memory, memory, memory};
    void* handles[8] = {&spy};
    int sizes[8] = {100, 1, 1, 1, 1, 1, 1, 1}, tags[8] = {42};
    EXPECT_EQ(ncclNetPlugin_v6.irecv(recv, 8, data, sizes, tags, handles, &request), ncclSuccess);
    EXPECT_EQ(spy.told.count, 8);
    EXPECT_EQ(spy.told.tag, 42);
    for (const int count : {0, 9, -1, 1 << 30}) {
        request = memory;
        EXPECT_EQ(ncclNetPlugin_v6.irecv(recv, count, data, sizes, tags, handles, &request), ncclInvalidArgument);
        EXPECT_EQ(ncclNetPlugin_v6.iflush(recv, count, data, sizes, handles, &request), ncclInvalidArgument);
        EXPECT_EQ(request, nullptr);
    }
    sizes[0] = -1;
    EXPECT_EQ(ncclNetPlugin_v5.irecv(recv, 1, data, sizes, tags, handles, &request), ncclInvalidArgument);
    EXPECT_EQ(ncclNetPlugin_v5.isend(recv, memory, -5, 0, nullptr, &request), ncclInvalidArgument);
    EXPECT_EQ(ncclNetPlugin_v5.closeRecv(recv), ncclSuccess);
    EXPECT_EQ(ncclNetPlugin_v5.closeListen(listening), ncclSuccess);
}

TEST_F(NeuronAdapters, registrations_take_sizes_beyond_an_int) {
    char handle[128];
    void *listening = nullptr, *send = nullptr, *mhandle = nullptr;
    ASSERT_EQ(ncclNetPlugin_v6.listen(0, handle, &listening), ncclSuccess);
    ASSERT_EQ(ncclNetPlugin_v4.connect(0, handle, &send), ncclSuccess);
    const std::size_t bytes = (std::size_t{1} << 33) + 3;
    for (const auto reg_mr : {ncclNetPlugin_v4.regMr, ncclNetPlugin_v5.regMr, ncclNetPlugin_v6.regMr}) {
        spy.told.size = 0;
        EXPECT_EQ(reg_mr(send, handle, bytes, NCCL_PTR_HOST, &mhandle), ncclSuccess);
        EXPECT_EQ(spy.told.size, bytes);
        EXPECT_EQ(reg_mr(send, handle, bytes, NCCL_PTR_NEURON, &mhandle), ncclInvalidArgument);
    }
    EXPECT_EQ(ncclNetPlugin_v6.closeSend(send), ncclSuccess);
    EXPECT_EQ(ncclNetPlugin_v6.closeListen(listening), ncclSuccess);
}

// A protocol without one-sided calls says so instead of crashing.
TEST_F(NeuronAdapters, one_sided_calls_need_a_protocol_that_has_them) {
    char handle[128];
    void *listening = nullptr, *send = nullptr, *request = handle;
    ASSERT_EQ(ncclNetPlugin_v6.listen(0, handle, &listening), ncclSuccess);
    ASSERT_EQ(ncclNetPlugin_v4.connect(0, handle, &send), ncclSuccess);
    EXPECT_EQ(ncclNetPlugin_v6.iwrite(send, handle, 8, nullptr, 1, 2, &request), ncclSystemError);
    EXPECT_EQ(request, nullptr);
    EXPECT_EQ(ncclNetPlugin_v5.iwriteInline(send, handle, 8, 1, 2, &request), ncclSystemError);
    EXPECT_NE(log.dump().find("iwriteInline: provider"), std::string::npos) << log.dump();
    EXPECT_EQ(ncclNetPlugin_v6.closeSend(send), ncclSuccess);
    EXPECT_EQ(ncclNetPlugin_v6.closeListen(listening), ncclSuccess);
}

}  // namespace
}  // namespace duofi::net
