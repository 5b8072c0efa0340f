// Failures at each call of the provider that a short exchange between two ranks reaches: nothing crashes, nothing hangs,
// nothing is left, and what is reported as done is right.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <map>
#include <random>
#include <thread>

#include "tests/sim_fabric/sim_groups.hpp"
#include "tests/support/log_capture.hpp"
#include "tests/support/net_driver.hpp"
#include "tests/support/plugin_module.hpp"
#include "tests/support/process_facts.hpp"

namespace duofi::test {
namespace {

constexpr Nanoseconds kLimit = 5 * kSecond;

/// Two ranks as threads of one process, so that they share the counts of the calls. The first failure of either ends the
/// exchange of both.
struct Exchange {
    explicit Exchange(const ncclNet_v6_t& net) : table(net) {}
    const ncclNet_v6_t& table;
    std::atomic<bool> ended{false};
    std::atomic<int> listening{0}, connected{0};
    std::array<Handle, 2> handles{};
    std::array<std::string, 2> failures{};
    std::array<int, 2> transfers{};
};

class Side {
  public:
    Side(Exchange& exchange, std::size_t index) : all_(exchange), index_(index) {}

    void run() {
        if (go()) return;
        all_.ended = true;
    }

    void close() {
        for (std::size_t i = 0; i < 2; ++i)
            if (regions_[i] != nullptr) all_.table.deregMr(i == 0 ? send_ : recv_, regions_[i]);
        if (send_ != nullptr) all_.table.closeSend(send_);
        if (recv_ != nullptr) all_.table.closeRecv(recv_);
        if (listen_ != nullptr) all_.table.closeListen(listen_);
    }

  private:
    static constexpr int kBytes = 100000;

    bool good(ncclResult_t result, const char* call) {
        if (result == ncclSuccess) return true;
        const bool right = result == ncclSystemError || result == ncclRemoteError || result == ncclInternalError;
        all_.failures[index_] = std::string(call) + " gave " + result_name(result);
        require(right, "{}", all_.failures[index_]);
        return false;
    }

    /// Until `done`; false when the exchange has ended.
    bool wait(const char* what, const std::function<bool(bool&)>& step) {
        const Deadline deadline(kLimit);
        for (bool done = false; !done;) {
            if (all_.ended || !step(done)) return false;
            require(!deadline.passed(), "{} hangs", what);
            relax();
        }
        return true;
    }

    bool connect() {
        if (!good(all_.table.listen(0, all_.handles[index_].data(), &listen_), "listen")) return false;
        ++all_.listening;
        if (!wait("the other side", [&](bool& done) { return done = all_.listening == 2, true; })) return false;
        Handle peer = all_.handles[1 - index_];
        return wait("connect", [&](bool& done) {
            if (send_ == nullptr && !good(all_.table.connect(0, peer.data(), &send_), "connect")) return false;
            if (recv_ == nullptr && !good(all_.table.accept(listen_, &recv_), "accept")) return false;
            done = send_ != nullptr && recv_ != nullptr;
            return true;
        });
    }

    bool transfer(int bytes) {
        void* requests[2] = {nullptr, nullptr};
        bool finished[2] = {false, false};
        int tag = 1, got = 0;
        void* in = in_.data();
        return wait("a transfer", [&](bool& done) {
            if (requests[0] == nullptr && !good(all_.table.irecv(recv_, 1, &in, &bytes, &tag, &regions_[1], &requests[0]), "irecv")) return false;
            if (requests[1] == nullptr && !good(all_.table.isend(send_, out_.data(), bytes, tag, regions_[0], &requests[1]), "isend")) return false;
            for (int i = 0; i < 2; ++i) {
                int now = 0;
                if (requests[i] == nullptr || finished[i]) continue;
                if (!good(all_.table.test(requests[i], &now, i == 0 ? &got : nullptr), "test")) return false;
                finished[i] = now != 0;
            }
            done = finished[0] && finished[1];
            if (done) check(bytes, got);
            return true;
        });
    }

    void check(int bytes, int got) {
        require(got == bytes, "{} bytes of {}", got, bytes);
        for (int i = 0; i < bytes; ++i)
            require(in_[static_cast<std::size_t>(i)] == static_cast<char>(i * 7 + 1 - static_cast<int>(index_)), "wrong byte {}", i);
        ++all_.transfers[index_];
    }

    bool go() {
        for (int i = 0; i < kBytes; ++i) out_[static_cast<std::size_t>(i)] = static_cast<char>(i * 7 + static_cast<int>(index_));
        if (!connect()) return false;
        ++all_.connected;
        if (!good(all_.table.regMr(send_, out_.data(), kBytes, NCCL_PTR_HOST, &regions_[0]), "regMr")) return false;
        if (!good(all_.table.regMr(recv_, in_.data(), kBytes, NCCL_PTR_HOST, &regions_[1]), "regMr")) return false;
        for (const int bytes : {100, kBytes, 0, 5000, kBytes})
            if (!transfer(bytes)) return false;
        return true;
    }

    Exchange& all_;
    std::size_t index_;
    void* listen_ = nullptr;
    void* send_ = nullptr;
    void* recv_ = nullptr;
    void* regions_[2] = {nullptr, nullptr};
    std::vector<char> out_ = std::vector<char>(kBytes), in_ = std::vector<char>(kBytes);
};

DUOFI_RANK_BODY(short_exchange) {
    log_capture::expect_warn("");
    PluginModule module;
    const std::size_t before = ProcessFacts::now().descriptors.size();
    const Net net(module.net_v6());
    const bool fails = rank.number("fails", 1) != 0;
    if (net->init(&log_capture::record) != ncclSuccess) return require(fails, "init failed");
    Exchange exchange(net.table());
    Side sides[2] = {{exchange, 0}, {exchange, 1}};
    std::array<std::string, 2> thrown;
    const auto guarded = [&](std::size_t i) {
        try {
            sides[i].run();
        } catch (const std::exception& failure) {
            thrown[i] = failure.what();
            exchange.ended = true;
        }
    };
    std::thread other(guarded, std::size_t{1});
    guarded(0);
    other.join();
    const Nanoseconds start = now_ns();
    for (Side& side : sides) side.close();
    require(now_ns() - start < patience(5 * kSecond), "the close takes {} ms", (now_ns() - start) / kMillisecond);
    for (const std::string& text : thrown) require(text.empty(), "{}", text);
    if (!fails) require(exchange.transfers[0] == 5 && exchange.transfers[1] == 5, "{} {}", exchange.failures[0], exchange.failures[1]);
    // An attempt to connect that nobody asks after any more stays, with its endpoint, until another call comes a second later.
    if (exchange.connected != 2) {
        if (!kSanitized) return;
        ::usleep(1'500'000);
        Handle handle{};
        void* listen = nullptr;
        if (net->listen(0, handle.data(), &listen) == ncclSuccess) net->closeListen(listen);
        return;
    }
    const std::size_t left = ProcessFacts::now().descriptors.size();
    require(left <= before + 2, "{} descriptors became {}", before, left);  // libfabric keeps its own
}

using Counts = std::map<std::string, std::uint64_t>;

Counts run_with(const std::string& rule, const std::string& report, bool fails) {
    GroupOptions options = on_personality("efa", 1, {{"REPORT", report}});
    options.env["DUOFI_CONNECT_TIMEOUT"] = "2";
    if (!rule.empty()) options.env["DUOFISIM_FAIL"] = rule;
    options.args["fails"] = fails ? "1" : "0";
    ::unlink(report.c_str());
    run_group("short_exchange", options);
    Counts counts;
    std::ifstream file(report);
    for (std::string name; file >> name;) file >> counts[name];
    ::unlink(report.c_str());
    return counts;
}

TEST(Sites, EachCallAndRandomOnes) {
    const std::string report = testing::TempDir() + "duofisim-report-" + std::to_string(::getpid());
    const Counts reached = run_with("", report, false);
    ASSERT_TRUE(reached.contains("send")) << "no report";
    const std::uint64_t deepest = full_tier() ? 64 : 2;
    const int random_points = full_tier() ? 200 : 12;
    int runs = 0, hit = 0, sites = 0;
    for (const auto& [name, count] : reached) {
        if (name == "any" || name == "failed" || name == "cq_read") continue;
        ++sites;
        for (std::uint64_t n = 1; n <= std::min(deepest, count); ++n, ++runs) {
            SCOPED_TRACE(name + ":" + std::to_string(n));
            hit += run_with(name + ":" + std::to_string(n), report, true)["failed"] != 0 ? 1 : 0;
        }
    }
    std::mt19937_64 random(20240517);
    const std::uint64_t calls = reached.at("any") - (reached.contains("cq_read") ? reached.at("cq_read") : 0);
    for (int i = 0; i < random_points; ++i, ++runs) {
        const std::uint64_t n = 1 + random() % (calls * 2);
        SCOPED_TRACE("any:" + std::to_string(n));
        hit += run_with("any:" + std::to_string(n), report, true)["failed"] != 0 ? 1 : 0;
    }
    std::printf("%d kinds of calls, %llu calls in one exchange; %d runs, the failure was reached in %d\n", sites,
                static_cast<unsigned long long>(reached.at("any")), runs, hit);
    EXPECT_GT(hit, runs / 2);
}

}  // namespace
}  // namespace duofi::test
