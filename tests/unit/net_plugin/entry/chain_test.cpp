// Units: net_plugin/abi/nccl_v6.
// The walk of the seed, section 2: plugin > device > endpoint > comms, and back on errors.
#include "tests/unit/net_plugin/entry/fake_protocol.hpp"

namespace duofi::net::entry_test {
namespace {

using Chain = EntryTest;

TEST_F(Chain, listen_walks_from_plugin_to_endpoint) {
    HandleArray handle;
    void* comm = nullptr;
    ASSERT_EQ(table.listen(0, handle.data(), &comm), ncclSuccess);
    ASSERT_NE(comm, nullptr);
    EXPECT_EQ(calls(), list({"plugin.get_device 0", "device.get_endpoint", "endpoint.listen"}));
    EXPECT_EQ(fake.script.references, 1);
    ASSERT_EQ(table.closeListen(comm), ncclSuccess);
    EXPECT_EQ(calls(), list({"listen_comm.close", "endpoint.release"}));
}

TEST_F(Chain, connect_walks_from_plugin_to_endpoint) {
    void* listener = nullptr;
    HandleArray handle = listening(&listener);
    void* comm = nullptr;
    ASSERT_EQ(table.connect(0, handle.data(), &comm), ncclSuccess);
    ASSERT_NE(comm, nullptr);
    EXPECT_EQ(calls(),
              list({"plugin.get_device 0", "device.get_endpoint", "endpoint.connect new"}));
    ASSERT_EQ(table.closeSend(comm), ncclSuccess);
    EXPECT_EQ(calls(), list({"send.close", "endpoint.release"}));
    ASSERT_EQ(table.closeListen(listener), ncclSuccess);
}

TEST_F(Chain, accept_asks_the_listen_comm_and_walks_nowhere) {
    void* listener = nullptr;
    listening(&listener);
    void* comm = nullptr;
    ASSERT_EQ(table.accept(listener, &comm), ncclSuccess);
    ASSERT_NE(comm, nullptr);
    EXPECT_EQ(calls(), list({"listen_comm.accept", "endpoint.add_reference"}));
    ASSERT_EQ(table.closeRecv(comm), ncclSuccess);
    EXPECT_EQ(calls(), list({"recv.close", "endpoint.release"}));
    ASSERT_EQ(table.closeListen(listener), ncclSuccess);
}

TEST_F(Chain, accept_with_nobody_there_gives_null_and_success) {
    void* listener = nullptr;
    listening(&listener);
    fake.script.accept_ready = false;
    void* comm = &listener;
    EXPECT_EQ(table.accept(listener, &comm), ncclSuccess);
    EXPECT_EQ(comm, nullptr);
    EXPECT_EQ(calls(), list({"listen_comm.accept"}));
    ASSERT_EQ(table.closeListen(listener), ncclSuccess);
}

TEST_F(Chain, failed_listen_gives_the_endpoint_back) {
    fake.script.fail_listen = Errc::system;
    HandleArray handle;
    handle.fill('\x5a');
    const HandleArray before = handle;
    void* comm = &handle;
    EXPECT_EQ(table.listen(0, handle.data(), &comm), ncclSystemError);
    EXPECT_EQ(comm, nullptr);
    EXPECT_EQ(handle, before) << "outputs are set only on success";
    EXPECT_EQ(calls(), list({"plugin.get_device 0", "device.get_endpoint", "endpoint.listen",
                             "endpoint.release"}));
}

TEST_F(Chain, failed_connect_gives_the_endpoint_back) {
    void* listener = nullptr;
    HandleArray handle = listening(&listener);
    fake.script.fail_connect = Errc::remote;
    void* comm = &handle;
    EXPECT_EQ(table.connect(0, handle.data(), &comm), ncclRemoteError);
    EXPECT_EQ(comm, nullptr);
    EXPECT_EQ(calls(), list({"plugin.get_device 0", "device.get_endpoint", "endpoint.connect new",
                             "endpoint.release"}));
    ASSERT_EQ(table.closeListen(listener), ncclSuccess);
}

TEST_F(Chain, failed_accept_recovers_through_the_listen_comms_endpoint) {
    void* listener = nullptr;
    listening(&listener);
    fake.script.fail_accept = Errc::remote;
    void* comm = &listener;
    EXPECT_EQ(table.accept(listener, &comm), ncclRemoteError);
    EXPECT_EQ(comm, nullptr);
    EXPECT_EQ(calls(), list({"listen_comm.accept", "endpoint.add_reference", "endpoint.release"}));
    EXPECT_EQ(fake.script.references, 1) << "the listen comm keeps its own";
    fake.script.fail_accept = {};
    void* later = accepted(listener);
    EXPECT_EQ(table.closeRecv(later), ncclSuccess);
    ASSERT_EQ(table.closeListen(listener), ncclSuccess);
}

TEST_F(Chain, a_failed_or_missing_endpoint_is_told_and_nothing_released) {
    HandleArray handle;
    void* comm = nullptr;
    fake.script.fail_get_endpoint = Errc::no_memory;
    EXPECT_EQ(table.listen(0, handle.data(), &comm), ncclSystemError);
    EXPECT_EQ(lines(), list({"Error accessing endpoint. Endpoint has not been initialized."}));
    fake.script.fail_get_endpoint = {};
    fake.script.null_endpoint = true;
    EXPECT_EQ(table.listen(0, handle.data(), &comm), ncclInternalError);
    EXPECT_EQ(lines(), list({"Error accessing endpoint. Endpoint has not been initialized."}));
    EXPECT_EQ(calls(), list({"plugin.get_device 0", "device.get_endpoint", "plugin.get_device 0",
                             "device.get_endpoint"}));
}

TEST_F(Chain, data_calls_reach_the_comm_with_their_arguments) {
    void* listener = nullptr;
    void* send = connected(listening(&listener));
    void* recv = accepted(listener);
    char data[2][8] = {};
    void* request = nullptr;
    EXPECT_EQ(table.isend(send, data[0], 8, -3, nullptr, &request), ncclSuccess);
    EXPECT_EQ(request, &fake.endpoint.request);
    void* pointers[] = {data[0], data[1]};
    int sizes[] = {8, 0};
    int tags[] = {5, 5};
    request = nullptr;
    EXPECT_EQ(table.irecv(recv, 2, pointers, sizes, tags, nullptr, &request), ncclSuccess);
    EXPECT_EQ(request, &fake.endpoint.request);
    request = data;
    EXPECT_EQ(table.iflush(recv, 2, pointers, sizes, nullptr, &request), ncclSuccess);
    EXPECT_EQ(request, nullptr) << "nothing to flush";
    void* region = nullptr;
    EXPECT_EQ(table.regMr(send, data, 16, NCCL_PTR_HOST, &region), ncclSuccess);
    EXPECT_EQ(region, data);
    EXPECT_EQ(table.regMr(recv, data, 16, NCCL_PTR_HOST, &region), ncclSuccess);
    EXPECT_EQ(calls(), list({"isend 8 tag -3", "irecv 2: 8/5 0/5", "iflush 2", "send.register",
                             "recv.register"}));
    fake.endpoint.request.state = RequestState::free;
    EXPECT_EQ(table.closeSend(send), ncclSuccess);
    EXPECT_EQ(table.closeRecv(recv), ncclSuccess);
    EXPECT_EQ(table.closeListen(listener), ncclSuccess);
}

TEST_F(Chain, a_full_queue_is_success_without_a_request) {
    void* listener = nullptr;
    void* send = connected(listening(&listener));
    void* recv = accepted(listener);
    fake.script.post_full = true;
    char data[8] = {};
    void* pointers[] = {data};
    int size = 8, tag = 1;
    void* request = data;  // garbage on entry is overwritten (net contract 3.4)
    EXPECT_EQ(table.isend(send, data, 8, 1, nullptr, &request), ncclSuccess);
    EXPECT_EQ(request, nullptr);
    request = data;
    EXPECT_EQ(table.irecv(recv, 1, pointers, &size, &tag, nullptr, &request), ncclSuccess);
    EXPECT_EQ(request, nullptr);
    EXPECT_TRUE(lines().empty());
    fake.script.fail_post = Errc::remote;
    request = data;
    EXPECT_EQ(table.isend(send, data, 8, 1, nullptr, &request), ncclRemoteError);
    EXPECT_EQ(request, nullptr);
    EXPECT_EQ(table.closeSend(send), ncclSuccess);
    EXPECT_EQ(table.closeRecv(recv), ncclSuccess);
    EXPECT_EQ(table.closeListen(listener), ncclSuccess);
}

}  // namespace
}  // namespace duofi::net::entry_test
