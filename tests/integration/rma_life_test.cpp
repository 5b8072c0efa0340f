// Units: rma_plugin/instance, rma_plugin/adoption.
// Life of the RMA tables in a process: rma contract 1.4, L-3, L-4, L-14 to L-17, architecture 2,
// user report A5.
#include <dlfcn.h>

#include <thread>

#include "tests/integration/rma_integration.hpp"
#include "tests/support/plugin_module.hpp"
#include "tests/support/process_facts.hpp"
#include "tests/support/scoped_env.hpp"

namespace duofi::test {
namespace {

// One communicator as a caller has it: two instances, one of them at work; either goes first.
void one_communicator(const Rma& rma, std::uint64_t id, bool gin_first) {
    RmaOwned gin = open_instance(rma, id);
    RmaAlone alone(rma, id);
    require(gin.get() != alone.team().instance.get(), "init gave one instance twice");
    alone.use(3000, id);
    if (gin_first) gin.close();
    alone.team().close();
}

struct Held {
    explicit Held(const ProcessFacts& facts)
        : threads(facts.threads),
          descriptors(static_cast<int>(facts.descriptors.size())),
          mappings(facts.mappings),
          shm(static_cast<int>(facts.shm_entries.size())),
          rss_kib(facts.rss_kib) {}
    int threads, descriptors, mappings, shm;
    long rss_kib;
};

void expect_no_growth(const ProcessFacts& before, const ProcessFacts& after, long memory_kib) {
    const Held from(before);
    const Held to(after);
    require(to.threads <= from.threads && to.descriptors <= from.descriptors && to.shm <= from.shm,
            "something stayed behind:\n{}\n{}", before.to_string(), after.to_string());
    if (kSanitized) return;  // the sanitizers' own tables grow
    require(to.mappings <= from.mappings + 2, "mappings grow by {}", to.mappings - from.mappings);
    require(to.rss_kib <= from.rss_kib + memory_kib, "memory grows by {} KiB",
            to.rss_kib - from.rss_kib);
}

// A5, L-17: open, use, finalize, close, again and again.
DUOFI_RANK_BODY(rma_reload_many_times) {
    constexpr int kSettled = 5;
    ProcessFacts settled;
    const int rounds = rank.number("rounds", 100);
    for (int round = 0; round < rounds; ++round) {
        rank.step("round " + std::to_string(round));
        RmaModule module(plugin_path());
        const Rma rma(module.table(kOldestRma + round % 4), kOldestRma + round % 4);
        one_communicator(rma, static_cast<std::uint64_t>(round), round % 2 == 0);
        expect_success(rma->finalize(nullptr), "finalize of NULL");
        module.close();
        const ProcessFacts now = ProcessFacts::now();
        require(!now.maps_library("libduofi-plugin"), "the library stayed mapped");
        if (round + 1 == kSettled) settled = now;
    }
    expect_no_growth(settled, ProcessFacts::now(), rank.number("memory_kib", 4096));
}

// One thread's share: four communicators, all alive at once, ended in either order.
void four_communicators(const Rma& rma, std::size_t thread) {
    std::vector<RmaOwned> gins;
    std::vector<std::unique_ptr<RmaAlone>> communicators;
    for (std::uint64_t i = 0; i < 4; ++i) {
        communicators.push_back(std::make_unique<RmaAlone>(rma, 10 * thread + i));
        gins.push_back(open_instance(rma, 10 * thread + i));
    }
    for (auto& one : communicators) one->use(2000, thread);
    for (std::size_t i = 0; i < 4; ++i) {
        if (thread % 2 == 0) gins[i].close();
        communicators[i]->team().close();
        gins[i].close();
    }
}

// L-14, L-15: eight threads with four communicators each, all of them alive at once.
DUOFI_RANK_BODY(eight_threads_with_four_communicators) {
    const Rma& rma = Rma::process();
    std::optional<ProcessFacts> settled;
    for (int round = 0; round < rank.number("rounds", 3); ++round) {
        std::vector<std::thread> threads;
        std::vector<std::string> failures(8);
        for (std::size_t t = 0; t < 8; ++t) {
            threads.emplace_back([&, t] {
                try {
                    four_communicators(rma, t);
                } catch (const std::exception& error) {
                    failures[t] = error.what();
                }
            });
        }
        for (std::thread& thread : threads) thread.join();
        for (const std::string& failure : failures) require(failure.empty(), "{}", failure);
        // Stacks for eight threads are kept after the first round.
        if (!settled) settled = ProcessFacts::now();
    }
    expect_no_growth(*settled, ProcessFacts::now(), rank.number("memory_kib", 16384));
}

// Architecture 2, L-4: found beside a net plugin the tables decline, quietly.
DUOFI_RANK_BODY(adoption_is_a_decision) {
    struct Case {
        std::optional<std::string> rma, plugin;
        bool offered;
    };
    using Text = std::optional<std::string>;
    for (const Case& one :
         {Case{Text(), Text(), false}, Case{Text("1"), Text(), true},
          Case{Text("0"), Text("duofi"), false}, Case{Text(), Text("duofi"), true},
          Case{Text(), Text("other"), false}, Case{Text("0"), Text(), false}}) {
        log_capture::reset();
        const ScopedEnv force("DUOFI_RMA", one.rma);
        const ScopedEnv named("NCCL_RMA_PLUGIN", one.plugin);
        RmaModule module(plugin_path());
        const Rma rma(module.table(kNewestRma), kNewestRma);
        void* ctx = nullptr;
        const ncclResult_t result = rma->init(&ctx, 1, &log_capture::record);
        require((result == ncclSuccess) == one.offered,
                "DUOFI_RMA={} NCCL_RMA_PLUGIN={}: init gave {}", one.rma.value_or("-"),
                one.plugin.value_or("-"), result_name(result));
        if (result == ncclSuccess) {
            expect_success(rma->finalize(ctx), "finalize");
        } else {
            require(log_capture::count(NCCL_LOG_WARN, "") == 0, "declining warned:\n{}",
                    log_capture::dump());
            require(log_capture::count(NCCL_LOG_INFO, "DUOFI_RMA") > 0, "declining gave no reason");
        }
    }
}

// 3.12: devices and properties answer before init.
DUOFI_RANK_BODY(properties_before_init) {
    RmaModule module(plugin_path());
    const Rma rma(module.table(kNewestRma), kNewestRma);
    require(rma.devices() > 0, "no device before init");
    require(rma.properties(0).name != nullptr, "no name before init");
    RmaAlone alone(rma);
    alone.use(1000, 1);
}

class RmaLife : public OnProvider {};

TEST_P(RmaLife, nothing_grows_and_the_library_leaves) {
    GroupOptions options = rma_on_provider(GetParam(), 1);
    if (std::string(GetParam()) == "rxm") options.args["memory_kib"] = std::to_string(160 * 1024);
    const bool brief = kSanitized || (std::string(GetParam()) != "native" && !full_tier());
    options.args["rounds"] = brief ? "20" : "100";
    options.timeout = 180 * kSecond;
    run_group("rma_reload_many_times", options);
}

TEST_P(RmaLife, many_communicators_in_many_threads) {
    GroupOptions options = rma_on_provider(GetParam(), 1);
    options.args["rounds"] = full_tier() ? "100" : "4";
    options.env["MALLOC_ARENA_MAX"] = "1";  // areas of the allocator would hide what we hold
    if (std::string(GetParam()) == "rxm") options.args["memory_kib"] = std::to_string(1024 * 1024);
    run_group("eight_threads_with_four_communicators", options);
}

TEST_P(RmaLife, properties_come_before_init) {
    run_group("properties_before_init", rma_on_provider(GetParam(), 1));
}

INSTANTIATE_TEST_SUITE_P(providers, RmaLife, testing::Values("native", "rxm", "shm"),
                         provider_test_name);

TEST(RmaAdoption, is_a_decision) {
    GroupOptions options = on_provider("native", 1);
    run_group("adoption_is_a_decision", options);
}

}  // namespace
}  // namespace duofi::test
