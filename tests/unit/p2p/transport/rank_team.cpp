#include "tests/unit/p2p/transport/rank_team.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "p2p/transport/thread_bootstrap.hpp"

namespace duofi::p2p::test {

CommunicatorOptions options_for(const std::string& runtime) {
    CommunicatorOptions options;
    options.settings.p2p_runtime = runtime;
    options.timeout = 20 * kSecond;
    return options;
}

const char* name_of(Wiring wiring) {
    return wiring == Wiring::direct ? "direct" : wiring == Wiring::ipc ? "ipc" : "relay";
}

void wire_as(Wiring wiring, bool read, int rank, CommunicatorOptions& options) {
    options.settings.nccl_p2p_read_enable = read ? "1" : "0";
    if (wiring == Wiring::ipc) options.pid_salt = static_cast<std::uint64_t>(rank) + 1;
    if (wiring != Wiring::relay) return;
    options.path = [](const ncclPeerInfo& low, const ncclPeerInfo& high) {
        return PathAnswer{.p2p = true, .intermediate = low.rank == 0 && high.rank == 1 ? 2 : -1};
    };
}

void run_threads(int ranks, const std::function<void(int rank, Bootstrap& bootstrap)>& body) {
    const auto ends = thread_bootstraps(ranks);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
        threads.emplace_back([&, rank] { body(rank, *ends[static_cast<std::size_t>(rank)]); });
    for (std::thread& thread : threads) thread.join();
}

Status RecordingBootstrap::send(int peer, MessageType type, std::span<const std::byte> data,
                                const char* name, const Deadline& deadline) {
    Message message{type, {data.begin(), data.end()}};
    if (tamper_ && !tamper_(rank(), peer, message)) return {};
    sent_.push_back({peer, message});
    return inner_->send(peer, message.type, message.bytes, name, deadline);
}

Team::Team(int ranks, const std::string& runtime, const Change& change,
           const RecordingBootstrap::Tamper& tamper)
    : ranks_(static_cast<std::size_t>(ranks)) {
    for (auto& end : thread_bootstraps(ranks))
        ends_.push_back(std::make_unique<RecordingBootstrap>(std::move(end), tamper));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
        threads.emplace_back([&, rank] {
            CommunicatorOptions options = options_for(runtime);
            if (change) change(rank, options);
            auto made = Communicator::create(bootstrap(rank), options);
            EXPECT_TRUE(made) << "rank " << rank << ": " << made.error().place;
            if (made) ranks_[static_cast<std::size_t>(rank)] = std::move(*made);
        });
    for (std::thread& thread : threads) thread.join();
}

Team::~Team() = default;

bool Team::whole() const {
    return std::ranges::all_of(ranks_, [](const auto& rank) { return rank != nullptr; });
}

void Team::run(const std::function<void(int rank, Communicator& communicator)>& body) {
    std::vector<std::thread> threads;
    for (int index = 0; index < static_cast<int>(ranks_.size()); ++index)
        threads.emplace_back([&, index] { body(index, rank(index)); });
    for (std::thread& thread : threads) thread.join();
}

void Team::connect_all() {
    run([](int rank, Communicator& communicator) {
        const Status connected = communicator.connect_all();
        EXPECT_TRUE(connected) << "rank " << rank << ": " << connected.error().place;
    });
}

void Team::tear_down() {
    run([](int rank, Communicator& communicator) {
        const Status done = communicator.tear_down();
        EXPECT_TRUE(done) << "rank " << rank << ": " << done.error().place;
    });
}

}  // namespace duofi::p2p::test
