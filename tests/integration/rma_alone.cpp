#include "tests/integration/rma_integration.hpp"

namespace duofi::test {

RmaAlone::RmaAlone(const Rma& table, std::uint64_t comm_id) {
    team_.rma = &table;
    team_.index = 0;
    team_.count = 1;
    team_.instance = open_instance(table, comm_id);
    RmaListener listener = rma_listen(table, team_.instance.get());
    void* comm = nullptr;
    expect_success(
        rma_connect(table, team_.instance.get(), {listener.handle}, 0, listener.comm.get(), &comm),
        "connect");
    team_.coll = own_coll(table, comm);
    listener.comm.close();
    team_.context = open_context(table, comm);
}

void RmaAlone::use(std::size_t bytes, std::uint64_t seed) {
    RmaMemory window(team_, 2 * bytes);
    SignalWords words(team_, 1);
    exchange_self(team_, window, words, seed);
}

}  // namespace duofi::test
