// Which transport is asked, in which order, how often: V-2, V-3, C-11 to C-14.
// Units: p2p/transport/select.
#include "p2p/transport/select.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "tests/unit/util/log_lines.hpp"

namespace duofi::p2p::test {
namespace {

/// What the mocks were asked and what they answer, by index.
struct Record {
    int asked[2] = {};
    int sends[2] = {};
    int receives[2] = {};
    int accepts[2] = {};
    ncclResult_t answer = ncclSuccess;
    ncclTopoGraph* graph = nullptr;
    int channel = -1;
};
Record record;

template <int Index>
ncclResult_t can(int* ret, ncclTopoSystem*, ncclTopoGraph* graph, ncclPeerInfo*, ncclPeerInfo*) {
    ++record.asked[Index];
    record.graph = graph;
    *ret = record.accepts[Index];
    return record.answer;
}

template <int Index, bool Send>
ncclResult_t setup(ncclComm*, ncclTopoGraph*, ncclPeerInfo*, ncclPeerInfo*, ncclConnect* blob,
                   ncclConnector*, int channel) {
    ++(Send ? record.sends : record.receives)[Index];
    record.channel = channel;
    blob->data[0] = static_cast<unsigned char>(Index + 1);
    return ncclSuccess;
}

template <int Index>
constexpr ncclTransport kMock = {
    "mock",
    &can<Index>,
    {&setup<Index, true>, nullptr, nullptr, nullptr, nullptr, nullptr},
    {&setup<Index, false>, nullptr, nullptr, nullptr, nullptr, nullptr}};

/// A table that ends where the next page cannot be read.
class GuardedTable {
  public:
    GuardedTable() : page_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))) {
        memory_ = static_cast<char*>(
            ::mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        EXPECT_NE(memory_, MAP_FAILED);
        EXPECT_EQ(::mprotect(memory_ + page_, page_, PROT_NONE), 0);
        const ncclTransport* const entries[2] = {&kMock<0>, &kMock<1>};
        std::memcpy(memory_ + page_ - sizeof(entries), entries, sizeof(entries));
    }
    ~GuardedTable() { ::munmap(memory_, 2 * page_); }
    GuardedTable(const GuardedTable&) = delete;
    GuardedTable& operator=(const GuardedTable&) = delete;
    [[nodiscard]] const ncclTransport* const* get() const {
        return reinterpret_cast<const ncclTransport* const*>(memory_ + page_) - 2;
    }

  private:
    std::size_t page_;
    char* memory_;
};

struct SelectTest : testing::Test {
    GuardedTable table;
    ncclComm comm;
    ncclConnect blob{};
    ncclConnector connector{};
    duofi::test::LogLines lines;

    void SetUp() override {
        record = {};
        comm.n_ranks = 2;
        comm.peer_info.resize(2);
        comm.peer_info[0].cudaDev = 4;
        comm.peer_info[1].rank = 1;
        comm.peer_info[1].cudaDev = 9;
        comm.transports = table.get();
    }
};

// graph or none, oneself or another, P2P accepts or refuses: eight combinations.
TEST_F(SelectTest, starts_at_net_for_oneself_without_graph_and_at_p2p_otherwise) {  // V-2, C-11
    ncclTopoGraph* const some_graph = reinterpret_cast<ncclTopoGraph*>(&blob);
    for (ncclTopoGraph* graph : {static_cast<ncclTopoGraph*>(nullptr), some_graph})
        for (const int peer : {0, 1})
            for (const int p2p : {0, 1}) {
                record = {};
                record.accepts[0] = p2p;
                record.accepts[1] = 1;
                const bool starts_at_net = graph == nullptr && peer == 0;
                const int chosen = starts_at_net || p2p == 0 ? 1 : 0;
                SCOPED_TRACE(testing::Message()
                             << "graph " << graph << " peer " << peer << " p2p " << p2p);
                ASSERT_EQ(select_transport<Direction::send>(comm, graph, peer, blob, connector, 5),
                          ncclSuccess);
                EXPECT_EQ(record.asked[0], starts_at_net ? 0 : 1);
                EXPECT_EQ(record.asked[1], chosen);
                EXPECT_EQ(record.sends[chosen], 1);
                EXPECT_EQ(record.sends[1 - chosen], 0);
                EXPECT_EQ(record.receives[0] + record.receives[1], 0);
                EXPECT_EQ(record.graph, graph);
                EXPECT_EQ(record.channel, 5);
                EXPECT_EQ(blob.data[0], chosen + 1);
                EXPECT_EQ(connector.transportComm, chosen == 0 ? &kMock<0>.send : &kMock<1>.send);
            }
}

TEST_F(SelectTest, the_receiving_half_is_the_other_one) {  // C-12, C-14
    record.accepts[0] = 1;
    ASSERT_EQ(select_transport<Direction::recv>(comm, nullptr, 1, blob, connector, 0), ncclSuccess);
    EXPECT_EQ(record.receives[0], 1);
    EXPECT_EQ(record.sends[0], 0);
    EXPECT_EQ(connector.transportComm, &kMock<0>.recv);
    EXPECT_EQ(connector.comm, &comm) << "p2p contract 1.9";
}

TEST_F(SelectTest, nobody_accepts) {  // V-3, C-13
    for (const int peer : {0, 1}) {   // oneself starts at index 1: the guard page is not touched
        record = {};
        EXPECT_EQ(select_transport<Direction::send>(comm, nullptr, peer, blob, connector, 0),
                  ncclInternalError);
        EXPECT_EQ(record.asked[0], peer);
        EXPECT_EQ(record.asked[1], 1);
        EXPECT_TRUE(lines.warn("No transport found between devices 4 and " +
                               std::string(peer == 0 ? "4" : "9") +
                               ". Possible replica group misconfiguration"))
            << lines.dump();
        EXPECT_EQ(connector.transportResources, nullptr) << "nothing to leak";
    }
}

TEST_F(SelectTest, an_error_of_can_connect_ends_the_walk) {
    record.answer = ncclSystemError;
    EXPECT_EQ(select_transport<Direction::send>(comm, nullptr, 1, blob, connector, 0),
              ncclSystemError);
    EXPECT_EQ(record.asked[1], 0);
}

}  // namespace
}  // namespace duofi::p2p::test
