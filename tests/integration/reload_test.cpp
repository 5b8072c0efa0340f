// Units: net_plugin/plugin.
// Load, use and unload many times without finalize: user report A5, net contract 1.7, T3.
#include <dlfcn.h>
#include <rdma/fabric.h>

#include "tests/integration/integration.hpp"
#include "tests/support/plugin_module.hpp"
#include "tests/support/process_facts.hpp"
#include "tests/support/scoped_env.hpp"

namespace duofi::test {
namespace {

constexpr int kSettled = 3;  // rounds after which nothing may grow

struct Growth {
    int threads, descriptors, mappings, shm;
    long rss_kib;
};

Growth growth(const ProcessFacts& from, const ProcessFacts& to) {
    return {to.threads - from.threads,
            static_cast<int>(to.descriptors.size()) - static_cast<int>(from.descriptors.size()),
            to.mappings - from.mappings,
            static_cast<int>(to.shm_entries.size()) - static_cast<int>(from.shm_entries.size()),
            to.rss_kib - from.rss_kib};
}

// The control: only opens libfabric, lets it look for providers, and closes it.
void control_round() {
    void* library = ::dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
    require(library != nullptr, "no libfabric");
    const auto getinfo = reinterpret_cast<decltype(&::fi_getinfo)>(::dlsym(library, "fi_getinfo"));
    const auto freeinfo =
        reinterpret_cast<decltype(&::fi_freeinfo)>(::dlsym(library, "fi_freeinfo"));
    fi_info* info = nullptr;
    if (getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, nullptr, &info) == 0) freeinfo(info);
    ::dlclose(library);
}

void plugin_round(int round) {
    PluginModule module;
    const Net net(module.net_v6());
    expect_success(net->init(&log_capture::record), "init");
    require(net.devices() > 0, "no device");
    {
        Link link = connect_self(net);
        transfer_self(link, 100, static_cast<std::uint64_t>(round));
        transfer_self(link, 200000, static_cast<std::uint64_t>(round));
    }
    module.close();
    require(!ProcessFacts::now().maps_library("libduofi-plugin"),
            "the library stayed mapped in round {}", round);
}

template <typename Round>
Growth measure(Rank& rank, int rounds, Round one_round) {
    ProcessFacts settled;
    for (int i = 0; i < rounds; ++i) {
        rank.step("round " + std::to_string(i));
        one_round(i);
        if (i + 1 == kSettled) settled = ProcessFacts::now();
    }
    const ProcessFacts last = ProcessFacts::now();
    const Growth grown = growth(settled, last);
    if (grown.descriptors > 0 || grown.threads > 0 || grown.shm > 0) {
        std::fprintf(stderr, "rank %d\n after %d: %s\n after %d: %s\n", rank.index, kSettled,
                     settled.to_string().c_str(), rounds, last.to_string().c_str());
    }
    return grown;
}

// Rank 0 is the control, rank 1 loads the plugin.
DUOFI_RANK_BODY(reload_many_times) {
    const int rounds = rank.number("rounds", 100);
    const Growth mine = rank.index == 0
                            ? measure(rank, rounds, [](int) { control_round(); })
                            : measure(rank, rounds, [](int round) { plugin_round(round); });
    const auto all = rank.all_gather(mine);
    const Growth& control = all[0];
    const Growth& plugin = all[1];
    require(plugin.threads <= std::max(control.threads, 0), "threads grow by {}, control {}",
            plugin.threads, control.threads);
    require(plugin.descriptors <= std::max(control.descriptors, 0),
            "descriptors grow by {}, control {}", plugin.descriptors, control.descriptors);
    require(plugin.shm <= std::max(control.shm, 0), "/dev/shm grows by {}, control {}", plugin.shm,
            control.shm);
    if (kSanitized) return;  // the sanitizers' own tables grow
    require(plugin.mappings <= std::max(control.mappings, 0) + 2, "mappings grow by {}, control {}",
            plugin.mappings, control.mappings);
    require(plugin.rss_kib <= std::max(control.rss_kib, 0L) + rank.number("memory_kib", 4096),
            "memory grows by {} KiB, control {} KiB", plugin.rss_kib, control.rss_kib);
}

// 1.7: a second init without finalize succeeds and is cheap; comms of before stay usable.
DUOFI_RANK_BODY(init_twice) {
    Net& net = Net::process();
    Link link = connect_self(net);
    for (int i = 0; i < 5; ++i) {
        const Nanoseconds start = now_ns();
        expect_success(net->init(&log_capture::record), "another init");
        require(now_ns() - start < patience(100 * kMillisecond), "another init is slow");
        transfer_self(link, 5000, static_cast<std::uint64_t>(i));
    }
    require(net.devices() > 0, "no device");
}

// A failed init leaves nothing behind: the next one starts from zero and works.
DUOFI_RANK_BODY(failed_init_then_good_init) {
    for (const char* line :
         {"OFI_NCCL_PROTOCOL", "initialization failed", "has not been initialized yet"}) {
        log_capture::expect_warn(line);
    }
    PluginModule module;
    const Net net(module.net_v6());
    for (int i = 0; i < 3; ++i) {
        const ScopedEnv bad("OFI_NCCL_PROTOCOL", "CARRIER_PIGEON");
        require(net->init(&log_capture::record) == ncclInternalError,
                "a bad protocol was accepted");
        int devices = 0;
        require(net->devices(&devices) == ncclInternalError, "devices answers after a failed init");
    }
    expect_success(net->init(&log_capture::record), "init");
    Link link = connect_self(net);
    transfer_self(link, 20000, 1);
}

class Reload : public OnProvider {};

TEST_P(Reload, nothing_grows_and_the_library_leaves) {
    GroupOptions options = on_provider(GetParam(), 2);
    // An endpoint of rxm takes 68-131 MiB; the memory of one may stay with the allocator.
    if (std::string(GetParam()) == "rxm") options.args["memory_kib"] = std::to_string(160 * 1024);
    const bool brief = kSanitized || (std::string(GetParam()) != "native" && !full_tier());
    options.args["rounds"] = brief ? "20" : "100";
    options.timeout = 180 * kSecond;
    run_group("reload_many_times", options);
}

TEST_P(Reload, init_again_without_finalize) {
    run_group("init_twice", on_provider(GetParam(), 1));
}

INSTANTIATE_TEST_SUITE_P(providers, Reload, testing::Values("native", "rxm", "shm"),
                         provider_test_name);

TEST(Init, works_after_a_failed_one) {
    run_group("failed_init_then_good_init", on_provider("native", 1));
}

}  // namespace
}  // namespace duofi::test
