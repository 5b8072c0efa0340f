// Units: rma_plugin/abi/rma_v13, rma_plugin/abi/rma_v14, rma_plugin/abi/rma_v15, rma_plugin/abi/rma_v16.
// The same calls through each table: every argument arrives where it belongs (rma contract 2.4 to 2.7).
#include <cstring>

#include "common/abi/rma_v13.h"
#include "common/abi/rma_v14.h"
#include "common/abi/rma_v15.h"
#include "tests/unit/rma_plugin/scripted_group.hpp"

extern "C" const ncclRma_v13_t ncclRmaPlugin_v13;
extern "C" const ncclRma_v14_t ncclRmaPlugin_v14;
extern "C" const ncclRma_v15_t ncclRmaPlugin_v15;
extern "C" const ncclRma_v16_t ncclRmaPlugin_v16;

namespace duofi::rma::unit {
namespace {

// What differs between the versions, brought to the newest form.
template <typename Table>
class Calls {
  public:
    explicit Calls(const Table& table) : table_(table) {}
    static constexpr bool kFirst = std::is_same_v<Table, ncclRma_v13_t>;
    static constexpr bool kHasHints = std::is_same_v<Table, ncclRma_v15_t> || std::is_same_v<Table, ncclRma_v16_t>;

    ncclResult_t create_context(void* coll, int count, void** context) const {
        if constexpr (kFirst) {
            ncclGinConfig_v13_t config{16, 16, count, 0, -1};
            int mark = 0;
            auto* device = reinterpret_cast<ncclNetDeviceHandle_v7_t*>(&mark);
            const ncclResult_t code = table_.createContext(coll, &config, context, &device);
            EXPECT_EQ(device, nullptr) << "there is no device side";
            return code;
        } else {
            ncclRmaConfig_v14_t config{count, -1, 3};
            return table_.createContext(coll, &config, context);
        }
    }
    ncclResult_t reg(void* coll, void* data, std::size_t size, std::uint64_t flags, void** mhandle) const {
        if constexpr (kFirst) {
            void* device = this_pointer();
            const ncclResult_t code = table_.regMrSym(coll, data, size, NCCL_PTR_HOST, flags, mhandle, &device);
            EXPECT_EQ(device, nullptr);
            return code;
        } else {
            return table_.regMrSym(coll, data, size, NCCL_PTR_HOST, flags, mhandle);
        }
    }
    ncclResult_t reg_dmabuf(void* coll, void* data, std::size_t size, void** mhandle) const {
        if constexpr (kFirst) {
            void* device = this_pointer();
            const ncclResult_t code = table_.regMrSymDmaBuf(coll, data, size, NCCL_PTR_HOST, 0, -1, 0, mhandle, &device);
            EXPECT_EQ(device, nullptr);
            return code;
        } else {
            return table_.regMrSymDmaBuf(coll, data, size, NCCL_PTR_HOST, 0, -1, 0, mhandle);
        }
    }
    ncclResult_t put(void* context, std::uint64_t from, void* src, std::size_t size, std::uint64_t to, void* dst,
                     std::uint32_t rank, void** request) const {
        if constexpr (kHasHints)
            return table_.iput(context, 0, from, src, size, to, dst, rank, ~0u, request);
        else
            return table_.iput(context, 0, from, src, size, to, dst, rank, request);
    }
    ncclResult_t put_signal(void* context, std::uint64_t from, void* src, std::size_t size, std::uint64_t to, void* dst,
                            std::uint32_t rank, std::uint64_t word, void* signal, std::uint64_t value,
                            void** request) const {
        constexpr std::uint32_t kAdd = 2;
        if constexpr (kFirst)
            return table_.iputSignal(context, 0, from, src, size, to, dst, rank, word, signal, value, kAdd, request);
        else if constexpr (kHasHints)
            return table_.iputSignal(context, 0, from, src, size, to, dst, rank, word, signal, value, kAdd, false, 1,
                                     request);
        else
            return table_.iputSignal(context, 0, from, src, size, to, dst, rank, word, signal, value, kAdd, false,
                                     request);
    }
    ncclResult_t get(void* context, std::uint64_t from, void* remote, std::size_t size, std::uint64_t to, void* local,
                     std::uint32_t rank, void** request) const {
        if constexpr (kHasHints)
            return table_.iget(context, 0, from, remote, size, to, local, rank, ~0u, request);
        else
            return table_.iget(context, 0, from, remote, size, to, local, rank, request);
    }
    ncclResult_t progress(void* context) const {
        if constexpr (kFirst)
            return table_.ginProgress(context);
        else
            return table_.rmaProgress(context);
    }

  private:
    void* this_pointer() const { return const_cast<Calls*>(this); }
    const Table& table_;
};

class Tables : public ScriptedGroup {
  protected:
    void SetUp() override { join(); }

    template <typename Table>
    void carry_every_argument(const Table& table) {
        EXPECT_STREQ(table.name, "duofi");
        const Calls<Table> calls(table);
        void* made = nullptr;
        ASSERT_EQ(calls.create_context(group->handle, 4, &made), ncclSuccess);
        auto* of_table = find_object<Context>(made);
        ASSERT_NE(of_table, nullptr);
        EXPECT_TRUE(of_table->has_stream(3));
        EXPECT_FALSE(of_table->has_stream(4));
        EXPECT_EQ(calls.create_context(group->handle, 0, &made), ncclInvalidArgument);
        EXPECT_EQ(made, nullptr);
        made = of_table->handle;

        void* mhandle = nullptr;
        ASSERT_EQ(calls.reg(group->handle, bytes + 1024, 512, 9, &mhandle), ncclSuccess);
        EXPECT_EQ(window(mhandle).data(), bytes + 1024);
        EXPECT_EQ(window(mhandle).part(kOwn).flags, 9u);
        void* none = this;
        EXPECT_EQ(calls.reg_dmabuf(group->handle, bytes, 512, &none), ncclInvalidUsage);
        EXPECT_EQ(none, nullptr);

        void* request = nullptr;
        ASSERT_EQ(calls.put(made, 8, mhandle, 24, 32, memory, kHigh, &request), ncclSuccess);
        expect_transfer(false, 24, bytes + 1024 + 8, 32);
        finish(table, request, 1);
        ASSERT_EQ(calls.put_signal(made, 16, mhandle, 40, 48, memory, kHigh, 56, mhandle, 77, &request), ncclSuccess);
        expect_transfer(false, 40, bytes + 1024 + 16, 48);
        const auto signals = said(kHigh, MessageKind::rma_signal);
        ASSERT_EQ(signals.size(), 1u);
        SignalBody body;
        std::memcpy(&body, signals[0].payload.data(), sizeof(body));
        EXPECT_EQ(signals[0].header.word, window(mhandle).id());
        EXPECT_EQ(signals[0].header.value, 56u);
        EXPECT_EQ(body.addend, 77u);
        finish(table, request, 2);
        ASSERT_EQ(calls.get(made, 64, memory, 72, 80, mhandle, kHigh, &request), ncclSuccess);
        expect_transfer(true, 72, bytes + 1024 + 80, 64);
        finish(table, request, 2);
        ASSERT_EQ(table.iflush(made, 0, mhandle, kHigh, &request), ncclSuccess);
        finish(table, request, 2);

        EXPECT_EQ(calls.progress(made), ncclSuccess);
        EXPECT_EQ(calls.progress(nullptr), ncclInvalidArgument);
        bool failed = true;
        EXPECT_EQ(table.queryLastError(made, &failed), ncclSuccess);
        EXPECT_FALSE(failed);
        EXPECT_EQ(table.destroyContext(made), ncclSuccess);
        EXPECT_EQ(table.destroyContext(made), ncclInvalidArgument);
        EXPECT_EQ(table.destroyContext(nullptr), ncclSuccess);
        EXPECT_EQ(table.deregMrSym(group->handle, mhandle), ncclSuccess);
    }

    void expect_transfer(bool read, std::size_t size, const std::byte* local, std::uint64_t remote_offset) {
        ASSERT_FALSE(fake->transfers().empty());
        const auto last = fake->transfers().back();
        EXPECT_EQ(last.read, read);
        EXPECT_EQ(last.size, size);
        EXPECT_EQ(last.data, local);
        EXPECT_EQ(last.address, part_of(kHigh, 0).address + remote_offset);
    }
    template <typename Table>
    void finish(const Table& table, void* request, std::uint64_t sequence) {
        say(kHigh, MessageKind::rma_applied, 0, sequence);
        int done = 0;
        EXPECT_EQ(table.test(group->handle, request, &done), ncclSuccess);
        EXPECT_EQ(done, 1);
        EXPECT_EQ(table.test(group->handle, request, &done), ncclInvalidArgument);
        EXPECT_EQ(done, 0);
    }
};

TEST_F(Tables, v13) { carry_every_argument(ncclRmaPlugin_v13); }
TEST_F(Tables, v14) { carry_every_argument(ncclRmaPlugin_v14); }
TEST_F(Tables, v15) { carry_every_argument(ncclRmaPlugin_v15); }
TEST_F(Tables, v16) {
    carry_every_argument(ncclRmaPlugin_v16);
    ncclRmaProperties_v16_t properties;
    std::memset(&properties, 0xa5, sizeof(properties));
    EXPECT_EQ(ncclRmaPlugin_v16.getRmaProperties(group->handle, &properties), ncclSuccess);
    EXPECT_FALSE(properties.flushesAllPutsOnAnySignal);
    EXPECT_EQ(ncclRmaPlugin_v16.getRmaProperties(group->handle, nullptr), ncclInvalidArgument);
    EXPECT_EQ(ncclRmaPlugin_v16.getRmaProperties(nullptr, &properties), ncclInvalidArgument);
}

template <typename Table>
void check_control_calls(const Table& table) {
    void* out = &out;
    char handle[128];
    EXPECT_EQ(table.init(nullptr, 1, nullptr), ncclInvalidArgument);
    EXPECT_EQ(table.finalize(nullptr), ncclSuccess);
    EXPECT_EQ(table.finalize(handle), ncclInvalidArgument);
    EXPECT_EQ(table.listen(nullptr, 0, handle, &out), ncclInvalidArgument);
    EXPECT_EQ(out, nullptr);
    out = &out;
    EXPECT_EQ(table.connect(nullptr, nullptr, 1, 0, nullptr, &out), ncclInvalidArgument);
    EXPECT_EQ(out, nullptr);
    EXPECT_EQ(table.closeListen(nullptr), ncclSuccess);
    EXPECT_EQ(table.closeListen(handle), ncclInvalidArgument);
    EXPECT_EQ(table.closeColl(nullptr), ncclSuccess);
    EXPECT_EQ(table.closeColl(handle), ncclInvalidArgument);
    EXPECT_EQ(table.devices(nullptr), ncclInvalidArgument);
    EXPECT_EQ(table.getProperties(0, nullptr), ncclInvalidArgument);
}

TEST(TablesAlone, refuse_pointers_that_are_none_of_ours) {
    const duofi::test::LogLines log;
    check_control_calls(ncclRmaPlugin_v13);
    check_control_calls(ncclRmaPlugin_v14);
    check_control_calls(ncclRmaPlugin_v15);
    check_control_calls(ncclRmaPlugin_v16);
}

}  // namespace
}  // namespace duofi::rma::unit
