#include "tools/duofi/p2p_ranks.hpp"

#include <fmt/core.h>

#include "common/loader/host_logger.hpp"

namespace duofi::tool {

void P2pRank::FreeBootstrap::operator()(duofiP2pBootstrap* bootstrap) const noexcept {
    (void)duofiP2pBootstrapFree(bootstrap);
    delete bootstrap;
}

void P2pRank::AbortComm::operator()(duofiP2pComm* comm) const noexcept {
    (void)duofiP2pCommAbort(comm);
    (void)duofiP2pCommDestroy(comm);
}

Outcome<void> P2pRank::refusal(ncclResult_t result, const char* call) const {
    return failed(fmt::format("rank {}: shared memory: {}: result {}: {}", rank_, call,
                              static_cast<int>(result), duofiP2pGetLastError(comm_.get())));
}

Outcome<P2pRank> P2pRank::open(int rank, int size, std::uint16_t port, Nanoseconds limit) {
    P2pRank made;
    made.rank_ = rank;
    made.size_ = size;
    const int limit_ms = static_cast<int>(limit / kMillisecond);
    duofiP2pBootstrap bootstrap{};
    const auto reached = duofiP2pBootstrapTcp("127.0.0.1", port, rank, size, limit_ms, &bootstrap);
    if (auto done = made.judge(reached, "bootstrap"); !done) return failed(done.error());
    made.bootstrap_.reset(new duofiP2pBootstrap(bootstrap));
    duofiP2pConfig config{};
    if (auto done = made.judge(duofiP2pConfigInit(&config), "config"); !done)
        return failed(done.error());
    config.timeoutMs = limit_ms;
    config.logger = loader::host_logger();
    duofiP2pComm* comm = nullptr;
    const auto created = duofiP2pCommCreate(&comm, made.bootstrap_.get(), &config);
    if (auto done = made.judge(created, "create"); !done) return failed(done.error());
    made.comm_.reset(comm);
    if (auto done = made.judge(duofiP2pConnectRing(comm), "connect"); !done)
        return failed(done.error());
    return made;
}

Outcome<void> P2pRank::all_reduce(const float* input, float* output, std::size_t count) {
    return judge(duofiP2pAllReduce(input, output, count, duofiP2pFloat32, duofiP2pSum, comm_.get()),
                 "all-reduce");
}

Outcome<void> P2pRank::send(const void* data, std::size_t bytes, int peer) {
    return judge(duofiP2pSend(data, bytes, duofiP2pUint8, peer, comm_.get()), "send");
}

Outcome<void> P2pRank::receive(void* data, std::size_t bytes, int peer) {
    return judge(duofiP2pRecv(data, bytes, duofiP2pUint8, peer, comm_.get()), "receive");
}

Outcome<void> P2pRank::close() {
    const auto destroyed = duofiP2pCommDestroy(comm_.release());
    if (auto done = judge(destroyed, "destroy"); !done) return done;
    bootstrap_.reset();
    return {};
}

std::string P2pRank::edge_to_next() const {
    const char* text = "";
    if (size_ < 2) return "nothing";
    if (duofiP2pEdge(comm_.get(), (rank_ + 1) % size_, &text) != ncclSuccess) return "unknown";
    return text;
}

}  // namespace duofi::tool
