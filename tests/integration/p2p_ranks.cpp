#include "tests/integration/p2p_ranks.hpp"

#include <exception>
#include <thread>
#include <utility>

#include "common/bootstrap/local_spawn.hpp"
#include "tests/integration/integration.hpp"

namespace duofi::test {
namespace {

constexpr int kPatienceMs = 30'000;

}  // namespace

P2pMember::P2pMember(int rank, int size, int port, const std::string& host,
                     int device)
    : rank_(rank), size_(size) {
    require_success(duofiP2pBootstrapTcp(host.c_str(), port, rank, size, kPatienceMs, &bootstrap_),
                    "bootstrap");
    duofiP2pConfig config{};
    require_success(duofiP2pConfigInit(&config), "config");
    config.device = device;
    const ncclResult_t made = duofiP2pCommCreate(&comm_, &bootstrap_, &config);
    if (made != ncclSuccess) (void)duofiP2pBootstrapFree(&bootstrap_);
    require_success(made, "create");
}

P2pMember::~P2pMember() {
    if (comm_ == nullptr) return;
    (void)duofiP2pCommAbort(comm_);
    (void)duofiP2pCommDestroy(comm_);
    (void)duofiP2pBootstrapFree(&bootstrap_);
}

void P2pMember::close() {
    duofiP2pComm* ended = std::exchange(comm_, nullptr);  // the text of a failure is the thread's then
    require_success(duofiP2pCommDestroy(ended), "destroy");
    require_success(duofiP2pBootstrapFree(&bootstrap_), "free");
}

void P2pMember::require_success(ncclResult_t result, const std::string& call) const {
    require(result == ncclSuccess, "rank {}: {}: result {}: {}", rank_, call,
            static_cast<int>(result), duofiP2pGetLastError(comm_));
}

void run_members(Rank& process, const std::function<void(P2pMember&)>& body) {
    const int threads = process.number("threads", 1);
    const int size = process.count * threads;
    std::vector<std::exception_ptr> failures(static_cast<std::size_t>(threads));
    std::vector<std::thread> running;
    for (int i = 0; i < threads; ++i)
        running.emplace_back([&, i] {
            try {
                const int rank = process.index * threads + i;
                P2pMember member(rank, size, process.number("port", 0),
                                 process.text("host", "127.0.0.1"),
                                 process.number("devices", 0) != 0 ? rank : 0);
                body(member);
                member.close();
            } catch (...) {
                failures[static_cast<std::size_t>(i)] = std::current_exception();
            }
        });
    for (std::thread& thread : running) thread.join();
    for (const std::exception_ptr& failure : failures)
        if (failure) std::rethrow_exception(failure);
}

GroupOptions p2p_options(const Mix& mix, const std::map<std::string, std::string>& env) {
    const auto port = bootstrap::free_port();
    require(port.has_value(), "no free port");
    GroupOptions options;
    options.ranks = mix.processes;
    options.mode = RankMode::processes;
    options.timeout = 120 * kSecond;
    options.env = env;
    options.env["DUOFI_P2P_TIMEOUT"] = "60";
    options.args["threads"] = std::to_string(mix.threads);
    options.args["port"] = std::to_string(*port);
    options.args["full"] = full_tier() ? "1" : "0";
    return options;
}

}  // namespace duofi::test
