// Where there is nothing to find, and providers and containers that differ: user reports A4, A22;
// net contract 4.11, T24, T25.
#include "tests/integration/integration.hpp"
#include "tests/support/plugin_module.hpp"
#include "tests/support/scoped_env.hpp"

namespace duofi::test {
namespace {

// No usable provider is a normal answer: quick, quiet, with the reason, and harmless.
DUOFI_RANK_BODY(nothing_is_found) {
    const bool named = rank.number("named", 0) != 0;
    if (named) log_capture::expect_warn("");
    PluginModule module;
    const Net net(module.net_v6());
    for (int i = 0; i < 2; ++i) {
        const Nanoseconds start = now_ns();
        const ncclResult_t result = net->init(&log_capture::record);
        require(now_ns() - start < patience(kSecond), "init took {} ms",
                (now_ns() - start) / kMillisecond);
        require(result == ncclSystemError, "init gave {}", result_name(result));
    }
    require(log_capture::count(NCCL_LOG_INFO, "No eligible providers were found") +
                    log_capture::count(NCCL_LOG_WARN, "No eligible providers were found") >
                0,
            "no reason in\n{}", log_capture::dump());
    require((log_capture::count(NCCL_LOG_WARN, "") > 0) == named, "warnings: {}",
            log_capture::count(NCCL_LOG_WARN, ""));
    require(env_value("NCCL_PROTO") == std::nullopt, "a failed init set NCCL_PROTO");
    log_capture::expect_warn("");  // calls after a failed init are the caller's mistake
    int devices = -1;
    ncclNetProperties_v6_t properties{};
    Handle handle{};
    void* comm = nullptr;
    require(net->devices(&devices) != ncclSuccess || devices == 0,
            "devices after a failed init: {}", devices);
    require(net->getProperties(0, &properties) != ncclSuccess, "getProperties after a failed init");
    require(net->listen(0, handle.data(), &comm) != ncclSuccess, "listen after a failed init");
}

// A provider by name either works or is refused cleanly.
DUOFI_RANK_BODY(provider_works_or_is_refused) {
    PluginModule module;
    const Net net(module.net_v6());
    const ncclResult_t result = net->init(&log_capture::record);
    if (rank.number("must", 0) == 0 && result == ncclSystemError) return;
    expect_success(result, "init");
    require(net.devices() > 0, "no device");
    require(log_capture::count(NCCL_LOG_INFO, "Selected provider is " + rank.text("name")) == 1,
            "{}", log_capture::dump());
    Link link = connect_self(net);
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{8192}, std::size_t{300000}})
        transfer_self(link, bytes, bytes);
}

DUOFI_RANK_BODY(transfer_in_a_container) {
    Net& net = Net::process();
    Link link = connect_self(net);
    transfer_self(link, 100, 1);
    transfer_self(link, 500000, 2);
    const auto properties = net.properties(0);
    require(rank.number("no_path", 0) == 0 || properties.pciPath == nullptr,
            "a PCI path without /sys: {}", properties.pciPath == nullptr ? "" : properties.pciPath);
}

std::vector<std::string> shell(const std::string& setup) {
    return {"sh", "-c", setup + " && exec \"$@\"", "sh"};
}

std::vector<std::string> own_mounts(const std::string& setup) {
    std::vector<std::string> words = {"unshare", "-m"};
    for (std::string& word : shell(setup)) words.push_back(std::move(word));
    return words;
}

bool may(const std::string& command) {
    return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

GroupOptions raw_provider(const char* fi_provider) {
    GroupOptions options = on_provider("native", 1);
    options.env["FI_PROVIDER"] = fi_provider;
    options.env["NCCL_NET_PLUGIN"] = kUnset;
    options.env["NCCL_NET"] = kUnset;
    options.env["NCCL_PROTO"] = kUnset;
    return options;
}

TEST(Discovery, of_nothing_is_quiet) {
    for (const char* provider : {"efa", "tpc", "no such thing"})
        run_group("nothing_is_found", raw_provider(provider));
}

TEST(Discovery, of_nothing_is_a_warning_when_the_user_named_us) {
    GroupOptions options = raw_provider("tpc");
    options.args["named"] = "1";
    options.env["NCCL_NET_PLUGIN"] = "duofi";
    run_group("nothing_is_found", options);
    options.env["NCCL_NET_PLUGIN"] = kUnset;
    options.env["NCCL_NET"] = "duofi";
    run_group("nothing_is_found", options);
}

TEST(Discovery, survives_a_tiny_dev_shm) {
    if (!may("unshare -m true")) GTEST_SKIP() << "no permission for mount namespaces";
    GroupOptions options = raw_provider("shm");
    options.prefixes = {own_mounts("mount -t tmpfs -o size=256k tmpfs /dev/shm")};
    run_group("nothing_is_found", options);
}

TEST(Providers, each_works_or_is_refused_cleanly) {
    struct Case {
        const char* provider;
        const char* name;
        const char* must;
    };
    const std::string native = provider_name("native");
    for (const Case& c :
         {Case{native.c_str(), native.c_str(), "1"}, Case{"tcp;ofi_rxm", "tcp;ofi_rxm", "1"},
          Case{"tcp", "tcp", "1"}, Case{"shm", "shm", "1"}, Case{"sockets", "sockets", "1"},
          Case{"udp", "udp", "0"}}) {
        GroupOptions options = raw_provider(c.provider);
        options.args["name"] = c.name;
        options.args["must"] = c.must;
        SCOPED_TRACE(c.provider);
        run_group("provider_works_or_is_refused", options);
    }
}

TEST(Containers, only_loopback) {
    if (!may("unshare -n true")) GTEST_SKIP() << "no permission for network namespaces";
    for (const char* lo : {"ip link set lo up", "true"}) {
        GroupOptions options = on_provider("native", 1);
        options.prefixes = {{"unshare", "-n"}};
        for (std::string& word : shell(lo)) options.prefixes[0].push_back(std::move(word));
        // With the interface down only addresses are there: a self-test may fail, so only up must
        // work.
        if (std::string(lo) == "true") options.ends[0] = RankEnd::any;
        run_group("transfer_in_a_container", options);
    }
}

TEST(Containers, without_sys) {
    if (!may("unshare -m true")) GTEST_SKIP() << "no permission for mount namespaces";
    GroupOptions options = on_provider("native", 1);
    options.prefixes = {own_mounts("mount -t tmpfs tmpfs /sys")};
    options.args["no_path"] = "1";
    run_group("transfer_in_a_container", options);
}

TEST(Containers, without_locked_memory) {
    GroupOptions options = on_provider("native", 1);
    options.prefixes = {shell("ulimit -l 64")};
    run_group("transfer_in_a_container", options);
}

}  // namespace
}  // namespace duofi::test
