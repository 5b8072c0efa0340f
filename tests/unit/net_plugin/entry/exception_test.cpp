// A mutex that fails is ncclInternalError at the table, not the end of the process, and leaves
// nothing held.
#include "tests/unit/net_plugin/entry/fake_protocol.hpp"

namespace duofi::net::entry_test {
namespace {

class Exceptions : public EntryTest {
  protected:
    /// One line that names the function and the failure.
    void expect_told(const char* function) {
        const auto told = lines();
        ASSERT_EQ(told.size(), 1u) << log.dump();
        EXPECT_NE(told[0].find(function), std::string::npos) << told[0];
        EXPECT_NE(told[0].find("pthread_mutex_lock"), std::string::npos) << told[0];
    }
};

TEST_F(Exceptions, in_get_endpoint) {
    fake.script.throw_in = "device.get_endpoint";
    HandleArray handle{};
    void* comm = &handle;
    EXPECT_EQ(table.listen(0, handle.data(), &comm), ncclInternalError);
    EXPECT_EQ(comm, nullptr);
    expect_told("listen");
}

TEST_F(Exceptions, in_listen_gives_the_endpoint_back) {
    fake.script.throw_in = "endpoint.listen";
    HandleArray handle{};
    void* comm = &handle;
    EXPECT_EQ(table.listen(0, handle.data(), &comm), ncclInternalError);
    EXPECT_EQ(comm, nullptr);
    expect_told("listen");
    EXPECT_EQ(fake.script.references, 0);
    fake.script.references = 0;
}

TEST_F(Exceptions, in_a_first_connect_gives_the_endpoint_back) {
    void* listener = nullptr;
    HandleArray handle = listening(&listener);
    fake.script.throw_in = "endpoint.connect new";
    void* comm = &handle;
    EXPECT_EQ(table.connect(0, handle.data(), &comm), ncclInternalError);
    EXPECT_EQ(comm, nullptr);
    expect_told("connect");
    EXPECT_EQ(fake.script.references, 1);
    fake.script.references = 1;
    EXPECT_EQ(table.closeListen(listener), ncclSuccess);
}

TEST_F(Exceptions, in_a_later_connect_leaves_the_attempt_as_it_was) {
    void* listener = nullptr;
    HandleArray handle = listening(&listener);
    fake.script.connect_steps = 2;
    void* comm = nullptr;
    ASSERT_EQ(table.connect(0, handle.data(), &comm), ncclSuccess);
    fake.script.throw_in = "endpoint.connect again";
    EXPECT_EQ(table.connect(0, handle.data(), &comm), ncclInternalError);
    EXPECT_EQ(comm, nullptr);
    expect_told("connect");
    EXPECT_EQ(open_comms(), 2u);
    EXPECT_EQ(fake.script.references, 2);
    fake.script.throw_in.clear();
    ASSERT_EQ(table.connect(0, handle.data(), &comm), ncclSuccess);
    ASSERT_NE(comm, nullptr);
    EXPECT_EQ(table.closeSend(comm), ncclSuccess);
    EXPECT_EQ(table.closeListen(listener), ncclSuccess);
}

TEST_F(Exceptions, in_calls_on_comms) {
    void* listener = nullptr;
    void* send = connected(listening(&listener));
    void* recv = accepted(listener);
    char data[8] = {};
    void* pointers[] = {data};
    int size = 8, tag = 1;
    void* out = nullptr;
    fake.script.throw_in = "listen_comm.accept";
    EXPECT_EQ(table.accept(listener, &out), ncclInternalError);
    expect_told("accept");
    fake.script.throw_in = "send.register";
    EXPECT_EQ(table.regMr(send, data, 8, NCCL_PTR_HOST, &out), ncclInternalError);
    expect_told("reg_mr");
    fake.script.throw_in = "isend";
    EXPECT_EQ(table.isend(send, data, 8, 1, nullptr, &out), ncclInternalError);
    expect_told("isend");
    fake.script.throw_in = "irecv";
    EXPECT_EQ(table.irecv(recv, 1, pointers, &size, &tag, nullptr, &out), ncclInternalError);
    expect_told("irecv");
    fake.script.throw_in = "iflush";
    EXPECT_EQ(table.iflush(recv, 1, pointers, &size, nullptr, &out), ncclInternalError);
    expect_told("iflush");
    EXPECT_EQ(out, nullptr);
    fake.script.throw_in = "progress";
    int done = 5;
    EXPECT_EQ(table.test(fake.endpoint.post(1), &done, nullptr), ncclInternalError);
    EXPECT_EQ(done, 0);
    expect_told("test");
    fake.endpoint.request.state = RequestState::free;
    fake.script.throw_in.clear();
    EXPECT_EQ(table.closeSend(send), ncclSuccess);
    EXPECT_EQ(table.closeRecv(recv), ncclSuccess);
    EXPECT_EQ(table.closeListen(listener), ncclSuccess);
}

TEST_F(Exceptions, in_close_still_ends_the_comm) {
    void* listener = nullptr;
    void* send = connected(listening(&listener));
    fake.script.throw_in = "send.close";
    EXPECT_EQ(table.closeSend(send), ncclInternalError);
    expect_told("close_send");
    fake.script.throw_in.clear();
    EXPECT_EQ(table.closeSend(send), ncclInternalError) << "closed, although not cleanly";
    EXPECT_EQ(lines(), list({"NET/OFI closeSend: the comm is closed or not of this kind"}));
    EXPECT_EQ(open_comms(), 1u);
    EXPECT_EQ(fake.script.references, 1);
    fake.script.references = 1;
    EXPECT_EQ(table.closeListen(listener), ncclSuccess);
}

}  // namespace
}  // namespace duofi::net::entry_test
