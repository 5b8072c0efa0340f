// Guard lines word for word and in their order; each NULL argument of each entry.
#include <climits>

#include "tests/unit/net_plugin/entry/fake_protocol.hpp"

namespace duofi::net::entry_test {
namespace {

constexpr char kNoPlugin[] = "Error accessing plugin. Plugin has not been initialized yet.";
constexpr char kNoHandle[] = "Provided handle is NULL";

using Guards = EntryTest;

TEST_F(Guards, every_entry_refuses_before_init) {
    set_plugin(nullptr);
    HandleArray handle{};
    ncclNetProperties_v6_t properties;
    void* out = this;
    void* pointers[] = {&handle};
    int size = 8, tag = 1, count = 0, done = 0;
    const std::vector<ncclResult_t> results = {
        table.devices(&count),
        table.getProperties(0, &properties),
        table.listen(0, handle.data(), &out),
        table.connect(0, handle.data(), &out),
        table.accept(&handle, &out),
        table.regMr(&handle, &handle, 8, NCCL_PTR_HOST, &out),
        table.regMrDmaBuf(&handle, &handle, 8, NCCL_PTR_HOST, 0, -1, &out),
        table.deregMr(&handle, &handle),
        table.isend(&handle, &handle, 8, 0, nullptr, &out),
        table.irecv(&handle, 1, pointers, &size, &tag, nullptr, &out),
        table.iflush(&handle, 1, pointers, &size, nullptr, &out),
        table.test(&handle, &done, nullptr),
        table.closeSend(&handle),
        table.closeRecv(&handle),
        table.closeListen(&handle),
    };
    for (std::size_t i = 0; i < results.size(); ++i)
        EXPECT_EQ(results[i], ncclInternalError) << "entry " << i;
    EXPECT_EQ(out, nullptr);
    EXPECT_EQ(lines(), std::vector<std::string>(results.size(), kNoPlugin));
}

TEST_F(Guards, listen_checks_plugin_then_device_then_handle_then_output) {
    void* comm = nullptr;
    set_plugin(nullptr);
    EXPECT_EQ(table.listen(7, nullptr, nullptr), ncclInternalError);
    EXPECT_EQ(lines(), list({kNoPlugin}));
    set_plugin(&fake);
    EXPECT_EQ(table.listen(7, nullptr, nullptr), ncclInternalError);
    EXPECT_EQ(lines(), list({"Error accessing device 7."}));
    EXPECT_EQ(table.listen(-1, nullptr, nullptr), ncclInternalError);
    EXPECT_EQ(lines(), list({"Error accessing device -1."}));
    EXPECT_EQ(table.listen(0, nullptr, nullptr), ncclInvalidArgument);
    EXPECT_EQ(lines(), list({kNoHandle}));
    EXPECT_EQ(table.listen(0, nullptr, &comm), ncclInvalidArgument);
    EXPECT_EQ(lines(), list({kNoHandle}));
    HandleArray handle{};
    EXPECT_EQ(table.listen(0, handle.data(), nullptr), ncclInternalError);
    EXPECT_EQ(lines(), list({"NET/OFI listen: argument listenComm is NULL"}));
    (void)calls();
}

TEST_F(Guards, connect_checks_plugin_then_handle_then_device) {
    void* listener = nullptr;
    HandleArray handle = listening(&listener);
    void* comm = nullptr;
    EXPECT_EQ(table.connect(7, nullptr, &comm), ncclInvalidArgument);
    EXPECT_EQ(lines(), list({kNoHandle}));
    EXPECT_EQ(table.connect(0, handle.data(), nullptr), ncclInternalError);
    EXPECT_EQ(lines(), list({"NET/OFI connect: argument sendComm is NULL"}));
    EXPECT_EQ(table.connect(7, handle.data(), &comm), ncclInternalError);
    EXPECT_EQ(lines(), list({"Error accessing device 7."}));
    EXPECT_EQ(calls(), list({"plugin.get_device 7"}));
    fake.script.null_endpoint = true;
    EXPECT_EQ(table.connect(0, handle.data(), &comm), ncclInternalError);
    EXPECT_EQ(lines(), list({"Error accessing endpoint. Endpoint has not been initialized."}));
    EXPECT_EQ(table.closeListen(listener), ncclSuccess);
}

TEST_F(Guards, devices_and_properties) {
    int count = -1;
    EXPECT_EQ(table.devices(&count), ncclSuccess);
    EXPECT_EQ(count, 1);
    EXPECT_EQ(table.devices(nullptr), ncclInternalError);
    EXPECT_EQ(lines(), list({"NET/OFI devices: argument ndev is NULL"}));
    ncclNetProperties_v6_t properties;
    EXPECT_EQ(table.getProperties(0, &properties), ncclSuccess);
    for (const int bad : {1, -1, INT_MAX, INT_MIN}) {
        EXPECT_EQ(table.getProperties(bad, &properties), ncclInternalError);
        EXPECT_EQ(lines(), list({("Error accessing device " + std::to_string(bad) + ".").c_str()}));
    }
    EXPECT_EQ(table.getProperties(0, nullptr), ncclInternalError);
    EXPECT_EQ(lines(), list({"NET/OFI getProperties: argument props is NULL"}));
}

class DataGuards : public EntryTest {
  protected:
    DataGuards() {
        send = connected(listening(&listener));
        recv = accepted(listener);
    }
    ~DataGuards() override {
        EXPECT_EQ(table.closeSend(send), ncclSuccess);
        EXPECT_EQ(table.closeRecv(recv), ncclSuccess);
        EXPECT_EQ(table.closeListen(listener), ncclSuccess);
    }
    std::string only_line() {
        const auto told = lines();
        EXPECT_EQ(told.size(), 1u) << log.dump();
        return told.empty() ? "" : told[0];
    }
    void* listener = nullptr;
    void* send = nullptr;
    void* recv = nullptr;
    char data[16] = {};
};

TEST_F(DataGuards, null_outputs_are_named) {
    void* pointers[] = {data};
    int size = 8, tag = 1;
    EXPECT_EQ(table.accept(listener, nullptr), ncclInternalError);
    EXPECT_EQ(only_line(), "NET/OFI accept: argument recvComm is NULL");
    EXPECT_EQ(table.regMr(send, data, 8, NCCL_PTR_HOST, nullptr), ncclInternalError);
    EXPECT_EQ(only_line(), "NET/OFI regMr: argument mhandle is NULL");
    EXPECT_EQ(table.isend(send, data, 8, 1, nullptr, nullptr), ncclInternalError);
    EXPECT_EQ(only_line(), "NET/OFI isend: argument request is NULL");
    EXPECT_EQ(table.irecv(recv, 1, pointers, &size, &tag, nullptr, nullptr), ncclInternalError);
    EXPECT_EQ(only_line(), "NET/OFI irecv: argument request is NULL");
    EXPECT_EQ(table.iflush(recv, 1, pointers, &size, nullptr, nullptr), ncclInternalError);
    EXPECT_EQ(only_line(), "NET/OFI iflush: argument request is NULL");
    EXPECT_EQ(calls(), list({}));
}

TEST_F(DataGuards, null_comms_are_named) {
    void* pointers[] = {data};
    int size = 8, tag = 1;
    void* out = data;
    const auto closed = [](const char* entry) {
        return std::string("NET/OFI ") + entry + ": the comm is closed or not of this kind";
    };
    EXPECT_EQ(table.accept(nullptr, &out), ncclInternalError);
    EXPECT_EQ(only_line(), closed("accept"));
    EXPECT_EQ(table.regMr(nullptr, data, 8, NCCL_PTR_HOST, &out), ncclInternalError);
    EXPECT_EQ(only_line(), closed("regMr"));
    EXPECT_EQ(table.regMrDmaBuf(nullptr, data, 8, NCCL_PTR_HOST, 0, 3, &out), ncclInternalError);
    EXPECT_EQ(only_line(), closed("regMrDmaBuf"));
    EXPECT_EQ(table.isend(nullptr, data, 8, 1, nullptr, &out), ncclInternalError);
    EXPECT_EQ(only_line(), closed("isend"));
    EXPECT_EQ(table.irecv(nullptr, 1, pointers, &size, &tag, nullptr, &out), ncclInternalError);
    EXPECT_EQ(only_line(), closed("irecv"));
    EXPECT_EQ(table.iflush(nullptr, 1, pointers, &size, nullptr, &out), ncclInternalError);
    EXPECT_EQ(only_line(), closed("iflush"));
    EXPECT_EQ(table.closeSend(nullptr), ncclInternalError);
    EXPECT_EQ(only_line(), closed("closeSend"));
    EXPECT_EQ(table.closeRecv(nullptr), ncclInternalError);
    EXPECT_EQ(only_line(), closed("closeRecv"));
    EXPECT_EQ(table.closeListen(nullptr), ncclInternalError);
    EXPECT_EQ(only_line(), closed("closeListen"));
    EXPECT_EQ(out, nullptr);
}

TEST_F(DataGuards, registration_refuses_bad_ranges_and_types) {
    void* region = data;
    EXPECT_EQ(table.regMr(send, data, 0, NCCL_PTR_HOST, &region), ncclInvalidArgument);
    EXPECT_NE(only_line().find("regMr: size=0"), std::string::npos);
    EXPECT_EQ(region, nullptr);
    EXPECT_EQ(table.regMr(send, data, -5, NCCL_PTR_HOST, &region), ncclInvalidArgument);
    (void)only_line();
    EXPECT_EQ(table.regMr(send, nullptr, 8, NCCL_PTR_HOST, &region), ncclInvalidArgument);
    (void)only_line();
    for (const int type : {0, 2, 3, 4, -1, INT_MAX}) {
        EXPECT_EQ(table.regMr(recv, data, 8, type, &region), ncclInvalidArgument);
        EXPECT_NE(only_line().find("type=" + std::to_string(type)), std::string::npos);
    }
    EXPECT_EQ(calls(), list({}));
    EXPECT_EQ(table.regMrDmaBuf(send, data, 8, NCCL_PTR_HOST, 0, 3, &region), ncclInvalidUsage);
    EXPECT_NE(only_line().find("DMA-BUF"), std::string::npos);
    EXPECT_EQ(table.deregMr(send, nullptr), ncclSuccess);
    fake.script.fail_register = Errc::no_memory;
    region = data;
    EXPECT_EQ(table.regMr(send, data, 8, NCCL_PTR_HOST, &region), ncclSystemError);
    EXPECT_EQ(region, nullptr);
}

TEST_F(DataGuards, negative_sizes_are_refused) {
    void* request = data;
    EXPECT_EQ(table.isend(send, data, -1, 1, nullptr, &request), ncclInvalidArgument);
    EXPECT_NE(only_line().find("isend: size=-1"), std::string::npos);
    EXPECT_EQ(request, nullptr);
    void* pointers[] = {data, data};
    int sizes[] = {8, -2147483647 - 1};
    int tags[] = {1, 1};
    request = data;
    EXPECT_EQ(table.irecv(recv, 2, pointers, sizes, tags, nullptr, &request), ncclInvalidArgument);
    EXPECT_NE(only_line().find("irecv: size=-2147483648"), std::string::npos);
    EXPECT_EQ(request, nullptr);
    EXPECT_EQ(calls(), list({}));
}

}  // namespace
}  // namespace duofi::net::entry_test
