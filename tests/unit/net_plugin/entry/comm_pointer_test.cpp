// Comm pointers of the wrong kind and after close: a code, one line, no crash (net contract 3.7).
#include <functional>

#include "net_plugin/caller_memory.hpp"
#include "tests/unit/net_plugin/entry/fake_protocol.hpp"

namespace duofi::net::entry_test {
namespace {

class CommPointers : public EntryTest {
  protected:
    CommPointers() {
        send = connected(listening(&listener));
        recv = accepted(listener);
    }
    struct Call {
        const char* name;
        std::function<ncclResult_t(void*)> run;
        bool send, recv, listen;  ///< kinds it takes
    };
    std::vector<Call> every_call() {
        return {
            {"accept", [&](void* c) { return table.accept(c, &out); }, false, false, true},
            {"regMr", [&](void* c) { return table.regMr(c, data, 8, NCCL_PTR_HOST, &out); }, true,
             true, false},
            {"regMrDmaBuf",
             [&](void* c) { return table.regMrDmaBuf(c, data, 8, NCCL_PTR_HOST, 0, 3, &out); },
             true, true, false},
            {"isend", [&](void* c) { return table.isend(c, data, 8, 1, nullptr, &out); }, true,
             false, false},
            {"irecv",
             [&](void* c) { return table.irecv(c, 1, pointers, &size, &tag, nullptr, &out); },
             false, true, false},
            {"iflush", [&](void* c) { return table.iflush(c, 1, pointers, &size, nullptr, &out); },
             false, true, false},
            {"closeSend", [&](void* c) { return table.closeSend(c); }, true, false, false},
            {"closeRecv", [&](void* c) { return table.closeRecv(c); }, false, true, false},
            {"closeListen", [&](void* c) { return table.closeListen(c); }, false, false, true},
        };
    }
    void expect_refused(const Call& call, void* comm, const char* what) {
        EXPECT_EQ(call.run(comm), ncclInternalError) << call.name << " on " << what;
        EXPECT_EQ(
            lines(),
            list({(std::string("NET/OFI ") + call.name + ": the comm is closed or not of this kind")
                      .c_str()}))
            << what;
        EXPECT_TRUE(calls().empty()) << call.name << " on " << what;
    }
    void close_all() {
        EXPECT_EQ(table.closeSend(send), ncclSuccess);
        EXPECT_EQ(table.closeRecv(recv), ncclSuccess);
        EXPECT_EQ(table.closeListen(listener), ncclSuccess);
        (void)calls();
    }
    void* listener = nullptr;
    void* send = nullptr;
    void* recv = nullptr;
    void* out = nullptr;
    char data[16] = {};
    void* pointers[1] = {data};
    int size = 8, tag = 1;
};

TEST_F(CommPointers, of_the_wrong_kind_are_refused) {
    for (const Call& call : every_call()) {
        if (!call.send) expect_refused(call, send, "send comm");
        if (!call.recv) expect_refused(call, recv, "recv comm");
        if (!call.listen) expect_refused(call, listener, "listen comm");
    }
    close_all();
}

TEST_F(CommPointers, of_an_attempt_under_way_are_refused) {
    HandleArray handle{};
    void* other = nullptr;
    handle = listening(&other);
    fake.script.connect_steps = 2;
    void* comm = nullptr;
    ASSERT_EQ(table.connect(0, handle.data(), &comm), ncclSuccess);
    HandleBytes bytes;
    std::copy(handle.begin(), handle.end(), reinterpret_cast<char*>(bytes.bytes));
    const auto state = read_connect_state(bytes);
    ASSERT_TRUE(state.has_value());
    (void)calls();
    for (const Call& call : every_call()) expect_refused(call, state->attempt, "attempt");
    ASSERT_EQ(table.connect(0, handle.data(), &comm), ncclSuccess);
    EXPECT_EQ(table.closeSend(comm), ncclSuccess);
    EXPECT_EQ(table.closeListen(other), ncclSuccess);
    close_all();
}

TEST_F(CommPointers, after_close_are_refused) {
    close_all();
    for (const Call& call : every_call()) {
        expect_refused(call, send, "closed send comm");
        expect_refused(call, recv, "closed recv comm");
        expect_refused(call, listener, "closed listen comm");
    }
}

TEST_F(CommPointers, other_pointers_of_ours_are_refused) {
    MemoryHandle memory;
    memory.magic = MemoryHandle::kLive;
    fake.endpoint.request.state = RequestState::pending;
    for (const Call& call : every_call()) {
        expect_refused(call, &memory, "mhandle");
        expect_refused(call, &fake.endpoint.request, "request");
    }
    fake.endpoint.request.state = RequestState::free;
    close_all();
}

TEST_F(CommPointers, a_closed_pointer_is_not_given_out_again_soon) {
    close_all();
    for (int i = 0; i < 20; ++i) {
        void* comm = nullptr;
        listening(&comm);
        EXPECT_NE(comm, listener);
        EXPECT_NE(comm, send);
        EXPECT_NE(comm, recv);
        EXPECT_EQ(table.closeListen(comm), ncclSuccess);
    }
}

TEST_F(CommPointers, memory_is_bounded_over_many_comms) {
    close_all();
    const std::size_t before = caller_memory().comm_handles.in_use();
    std::vector<void*> seen;
    for (int i = 0; i < 500; ++i) {
        void* comm = nullptr;
        listening(&comm);
        seen.push_back(comm);
        EXPECT_EQ(table.closeListen(comm), ncclSuccess);
    }
    EXPECT_EQ(caller_memory().comm_handles.in_use(), before);
    std::sort(seen.begin(), seen.end());
    EXPECT_LT(std::unique(seen.begin(), seen.end()) - seen.begin(), 100);
}

}  // namespace
}  // namespace duofi::net::entry_test
