// connect over several calls: the state lives in the caller's copy of the handle (net
// contract 3.2).
#include <cstring>

#include "common/util/clock.hpp"
#include "net_plugin/comm_registry.hpp"
#include "tests/unit/net_plugin/entry/fake_protocol.hpp"

namespace duofi::net::entry_test {
namespace {

class Connect : public EntryTest {
  protected:
    Connect() { handle = listening(&listener); }
    ~Connect() override {
        if (listener == nullptr) return;
        EXPECT_EQ(table.closeListen(listener), ncclSuccess);
    }
    static bool scratch_is_zero(const HandleArray& h) {
        for (std::size_t i = ofi::kListenHandleBytes; i < h.size(); ++i)
            if (h[i] != 0) return false;
        return true;
    }
    /// As if the last call on the attempt in this handle was `ago` earlier.
    static void age(const HandleArray& h, Nanoseconds ago) {
        HandleBytes bytes;
        std::memcpy(&bytes, h.data(), sizeof(bytes));
        const auto state = read_connect_state(bytes);
        ASSERT_TRUE(state.has_value());
        CommHandle* attempt = find_attempt(*state);
        ASSERT_NE(attempt, nullptr);
        attempt->last_call -= ago;
    }
    void* listener = nullptr;
    HandleArray handle{};
};

TEST_F(Connect, resumes_from_the_handle_without_a_device_walk) {
    fake.script.connect_steps = 3;
    void* comm = &handle;
    ASSERT_EQ(table.connect(0, handle.data(), &comm), ncclSuccess);
    EXPECT_EQ(comm, nullptr);
    EXPECT_EQ(calls(),
              list({"plugin.get_device 0", "device.get_endpoint", "endpoint.connect new"}));
    EXPECT_FALSE(scratch_is_zero(handle));
    ASSERT_EQ(table.connect(0, handle.data(), &comm), ncclSuccess);
    EXPECT_EQ(comm, nullptr);
    ASSERT_EQ(table.connect(0, handle.data(), &comm), ncclSuccess);
    EXPECT_NE(comm, nullptr);
    EXPECT_EQ(calls(), list({"endpoint.connect again", "endpoint.connect again"}));
    EXPECT_TRUE(scratch_is_zero(handle)) << "the copy can be used again";
    EXPECT_EQ(open_comms(), 2u) << "the attempt became the comm";
    EXPECT_EQ(table.closeSend(comm), ncclSuccess);
}

TEST_F(Connect, an_error_on_the_way_ends_the_attempt) {
    fake.script.connect_steps = 3;
    void* comm = nullptr;
    ASSERT_EQ(table.connect(0, handle.data(), &comm), ncclSuccess);
    (void)calls();
    fake.script.fail_connect = Errc::remote;
    EXPECT_EQ(table.connect(0, handle.data(), &comm), ncclRemoteError);
    EXPECT_EQ(comm, nullptr);
    EXPECT_EQ(calls(), list({"endpoint.connect again", "endpoint.release"}));
    EXPECT_TRUE(scratch_is_zero(handle));
    EXPECT_EQ(open_comms(), 1u);
    fake.script.fail_connect = {};
    fake.script.connect_steps = 1;
    EXPECT_EQ(table.connect(0, handle.data(), &comm), ncclSuccess);
    EXPECT_EQ(calls(),
              list({"plugin.get_device 0", "device.get_endpoint", "endpoint.connect new"}));
    EXPECT_EQ(table.closeSend(comm), ncclSuccess);
}

TEST_F(Connect, copies_of_a_handle_are_independent_connections) {
    fake.script.connect_steps = 2;
    HandleArray other = handle;
    void* first = nullptr;
    void* second = nullptr;
    ASSERT_EQ(table.connect(0, handle.data(), &first), ncclSuccess);
    ASSERT_EQ(table.connect(0, other.data(), &second), ncclSuccess);
    ASSERT_EQ(table.connect(0, handle.data(), &first), ncclSuccess);
    ASSERT_EQ(table.connect(0, other.data(), &second), ncclSuccess);
    ASSERT_NE(first, nullptr);
    ASSERT_NE(second, nullptr);
    EXPECT_NE(first, second);
    EXPECT_EQ(table.closeSend(first), ncclSuccess);
    EXPECT_EQ(table.closeSend(second), ncclSuccess);
}

TEST_F(Connect, a_replayed_copy_of_a_finished_attempt_starts_anew) {
    fake.script.connect_steps = 2;
    void* comm = nullptr;
    ASSERT_EQ(table.connect(0, handle.data(), &comm), ncclSuccess);
    HandleArray replay = handle;  // with the state of the attempt in it
    ASSERT_EQ(table.connect(0, handle.data(), &comm), ncclSuccess);
    ASSERT_NE(comm, nullptr);
    (void)calls();
    fake.script.connect_steps = 1;
    void* again = nullptr;
    ASSERT_EQ(table.connect(0, replay.data(), &again), ncclSuccess);
    EXPECT_EQ(calls(),
              list({"plugin.get_device 0", "device.get_endpoint", "endpoint.connect new"}));
    EXPECT_EQ(table.closeSend(comm), ncclSuccess);
    EXPECT_EQ(table.closeSend(again), ncclSuccess);
}

TEST_F(Connect, garbage_in_the_scratch_part_is_no_attempt) {
    for (std::size_t i = ofi::kListenHandleBytes; i < handle.size(); ++i) handle[i] = '\xff';
    void* comm = nullptr;
    ASSERT_EQ(table.connect(0, handle.data(), &comm), ncclSuccess);
    ASSERT_NE(comm, nullptr);
    EXPECT_EQ(table.closeSend(comm), ncclSuccess);
    HandleBytes bytes;
    std::memcpy(&bytes, handle.data(), sizeof(bytes));
    write_connect_state(bytes, {reinterpret_cast<void*>(0x10), 1});  // a pointer of nobody
    std::memcpy(handle.data(), &bytes, sizeof(bytes));
    ASSERT_EQ(table.connect(0, handle.data(), &comm), ncclSuccess);
    ASSERT_NE(comm, nullptr);
    EXPECT_EQ(table.closeSend(comm), ncclSuccess);
}

TEST_F(Connect, bad_handles_have_their_codes_and_one_line) {
    void* comm = &handle;
    HandleArray bad{};
    EXPECT_EQ(table.connect(0, bad.data(), &comm), ncclInvalidArgument);
    EXPECT_EQ(comm, nullptr);
    bad.fill('\xff');
    EXPECT_EQ(table.connect(0, bad.data(), &comm), ncclInvalidArgument);
    bad = handle;
    bad[4] = 99;  // version
    EXPECT_EQ(table.connect(0, bad.data(), &comm), ncclInvalidUsage);
    set_handle_provider(ofi::provider_mark("another"));
    bad = handle;
    EXPECT_EQ(table.connect(0, bad.data(), &comm), ncclInvalidUsage);
    const auto told = lines();
    ASSERT_EQ(told.size(), 4u) << log.dump();
    EXPECT_NE(told[0].find("malformed"), std::string::npos);
    EXPECT_NE(told[1].find("malformed"), std::string::npos);
    EXPECT_NE(told[2].find("of another version or provider"), std::string::npos);
    EXPECT_NE(told[3].find("of another version or provider"), std::string::npos);
    EXPECT_TRUE(calls().empty()) << "nothing was opened for a bad handle";
}

TEST_F(Connect, an_abandoned_attempt_is_swept_when_alone_for_a_second) {
    fake.script.connect_steps = 9;
    void* comm = nullptr;
    ASSERT_EQ(table.connect(0, handle.data(), &comm), ncclSuccess);
    ASSERT_EQ(comm, nullptr);
    age(handle, 2 * kSecond);
    sweep_attempts();
    EXPECT_EQ(open_comms(), 2u) << "with a listen comm open two seconds are nothing";
    (void)calls();
    ASSERT_EQ(table.closeListen(listener), ncclSuccess);  // sweeps: the attempt is all there is
    listener = nullptr;
    EXPECT_EQ(calls(),
              list({"listen_comm.close", "endpoint.release", "send.close", "endpoint.release"}));
    EXPECT_EQ(open_comms(), 0u);
}

TEST_F(Connect, an_attempt_that_is_continued_is_never_swept) {
    fake.script.connect_steps = 4;
    void* comm = nullptr;
    ASSERT_EQ(table.connect(0, handle.data(), &comm), ncclSuccess);
    age(handle, 100 * kSecond);
    ASSERT_EQ(table.connect(0, handle.data(), &comm), ncclSuccess);
    age(handle, 100 * kSecond);
    sweep_attempts();
    ASSERT_EQ(table.connect(0, handle.data(), &comm), ncclSuccess);
    ASSERT_EQ(table.connect(0, handle.data(), &comm), ncclSuccess);
    ASSERT_NE(comm, nullptr);
    EXPECT_EQ(table.closeSend(comm), ncclSuccess);
}

TEST_F(Connect, a_late_call_for_a_swept_attempt_starts_anew) {
    fake.script.connect_steps = 2;
    void* comm = nullptr;
    ASSERT_EQ(table.connect(0, handle.data(), &comm), ncclSuccess);
    age(handle, 1000 * kSecond);
    HandleArray other = handle;
    std::memset(other.data() + ofi::kListenHandleBytes, 0, ofi::kListenHandleBytes);
    void* second = nullptr;
    ASSERT_EQ(table.connect(0, other.data(), &second), ncclSuccess);  // sweeps the old one
    (void)calls();
    ASSERT_EQ(table.connect(0, handle.data(), &comm), ncclSuccess);
    EXPECT_EQ(comm, nullptr);
    EXPECT_EQ(calls(),
              list({"plugin.get_device 0", "device.get_endpoint", "endpoint.connect new"}));
    ASSERT_EQ(table.connect(0, handle.data(), &comm), ncclSuccess);
    ASSERT_EQ(table.connect(0, other.data(), &second), ncclSuccess);
    ASSERT_NE(comm, nullptr);
    ASSERT_NE(second, nullptr);
    EXPECT_EQ(table.closeSend(comm), ncclSuccess);
    EXPECT_EQ(table.closeSend(second), ncclSuccess);
}

}  // namespace
}  // namespace duofi::net::entry_test
