// Environment variables at init: net contract 4.1 I1 and I13, 7, T23; user report A3;
// architecture 4.11, 4.12.
#include <algorithm>

#include "tests/integration/integration.hpp"
#include "tests/support/plugin_module.hpp"
#include "tests/support/scoped_env.hpp"

extern char** environ;

namespace duofi::test {
namespace {

std::vector<std::string> environment() {
    std::vector<std::string> all;
    for (char** at = environ; *at != nullptr; ++at) all.emplace_back(*at);
    std::sort(all.begin(), all.end());
    return all;
}

struct BadValue {
    const char* name;
    const char* value;
};

constexpr BadValue kBadValues[] = {
    {"OFI_NCCL_PROTOCOL", "abc"},
    {"OFI_NCCL_PROTOCOL", "SENDRECV,RDMA"},
    {"OFI_NCCL_USE_IPV6_TCP", "maybe"},
    {"OFI_NCCL_GDR_FLUSH_DISABLE", "2x"},
    {"OFI_NCCL_NIC_DUP_CONNS", "-1"},
    {"OFI_NCCL_NIC_DUP_CONNS", "four"},
    {"OFI_NCCL_MR_KEY_SIZE", "0"},
    {"OFI_NCCL_MR_KEY_SIZE", "99"},
    {"OFI_NCCL_MR_CACHE_DISABLE", ";"},
    {"OFI_NCCL_CQ_READ_COUNT", "0"},
    {"OFI_NCCL_CQ_READ_COUNT", "1e9e"},
    {"OFI_NCCL_CQ_SIZE", "-5"},
    {"OFI_NCCL_CQ_SIZE", "99999999999999999999"},
    {"OFI_NCCL_NET_LATENCY", "fast"},
    {"OFI_NCCL_NET_LATENCY", "-1"},
    {"OFI_NCCL_EAGER_MAX_SIZE", "-2"},
    {"OFI_NCCL_EAGER_MAX_SIZE", "99999999999999999999"},
    {"OFI_NCCL_EAGER_MAX_SIZE", ",,"},
    {"OFI_NCCL_RDMA_MIN_POSTED_EAGER_BUFFERS", "abc"},
    {"OFI_NCCL_RDMA_MAX_POSTED_EAGER_BUFFERS", "-1"},
    {"OFI_NCCL_PROGRESS_MODEL", "SOMETIMES"},
    {"OFI_NCCL_DOMAIN_PER_THREAD", "abc"},
    {"OFI_NCCL_DISABLE_NATIVE_RDMA_CHECK", "abc"},
    {"OFI_NCCL_DISABLE_GDR_REQUIRED_CHECK", "abc"},
    {"OFI_NCCL_DISABLE_DMABUF", "abc"},
    {"OFI_NCCL_PLATFORM", "Mars"},
};

// A bad value of a name that users know fails init, says which and what, and sets nothing.
DUOFI_RANK_BODY(bad_values_fail_init) {
    log_capture::expect_warn("");
    PluginModule module;
    const Net net(module.net_v6());
    for (const BadValue& bad : kBadValues) {
        log_capture::reset();
        log_capture::expect_warn("");
        const ScopedEnv env(bad.name, bad.value);
        const auto before = environment();
        const ncclResult_t result = net->init(&log_capture::record);
        require(result == ncclInternalError, "init with {}={} gave {}", bad.name, bad.value,
                result_name(result));
        const std::string named = std::string(bad.name) + " set to invalid value " + bad.value;
        require(log_capture::count(NCCL_LOG_WARN, named) == 1, "no line '{}' in\n{}", named,
                log_capture::dump());
        require(environment() == before, "a failed init changed the environment ({}={})", bad.name,
                bad.value);
    }
    expect_success(net->init(&log_capture::record), "init after all the failures");
    transfer_self(connect_self(net), 9000, 1);
}

// A bad value of one of our own names is a warning and the default; strict makes it fail.
DUOFI_RANK_BODY(bad_own_values_warn) {
    log_capture::expect_warn("set to invalid value");
    log_capture::expect_warn("initialization failed");
    PluginModule module;
    const Net net(module.net_v6());
    for (const BadValue& bad :
         {BadValue{"DUOFI_STALL_SECONDS", "abc"}, BadValue{"DUOFI_PEER_TIMEOUT", "-1"},
          BadValue{"DUOFI_CONNECT_TIMEOUT", ",,"},
          BadValue{"DUOFI_NET_TCP_RAILS", "99999999999999999999"}}) {
        const ScopedEnv strict("DUOFI_STRICT", "1");
        const ScopedEnv env(bad.name, bad.value);
        require(net->init(&log_capture::record) == ncclInternalError, "strict init accepted {}={}",
                bad.name, bad.value);
    }
    const ScopedEnv first("DUOFI_STALL_SECONDS", "abc");
    const ScopedEnv second("DUOFI_CONNECT_TIMEOUT", "-7");
    expect_success(net->init(&log_capture::record), "init with bad values of our own");
    for (const char* name : {"DUOFI_STALL_SECONDS", "DUOFI_CONNECT_TIMEOUT"}) {
        require(log_capture::count(NCCL_LOG_WARN, std::string(name) + " set to invalid value") >= 1,
                "no line about {}", name);
    }
    transfer_self(connect_self(net), 9000, 1);
}

// A3: a slip in a name of either prefix is one warning that names the nearest real one.
DUOFI_RANK_BODY(unknown_names_are_reported) {
    log_capture::expect_warn("did you mean");
    const ScopedEnv slip("NCCL_OFI_EAGER_MAX_SIZE", "1");
    const ScopedEnv typo("DUOFI_STALL_SECOND", "5");
    Net& net = Net::process();
    require(log_capture::count(NCCL_LOG_WARN, "did you mean OFI_NCCL_EAGER_MAX_SIZE") == 1, "{}",
            log_capture::dump());
    require(log_capture::count(NCCL_LOG_WARN, "did you mean DUOFI_STALL_SECONDS") == 1, "{}",
            log_capture::dump());
    transfer_self(connect_self(net), 9000, 1);
}

// I13: without device memory NCCL_PROTO becomes simple, unless the user chose.
DUOFI_RANK_BODY(protocol_of_the_caller) {
    const auto given = env_value("NCCL_PROTO");
    const auto before = environment();
    (void)Net::process();
    const auto now = env_value("NCCL_PROTO");
    if (given) {
        require(now == given, "NCCL_PROTO was changed to {}", now.value_or("nothing"));
        require(environment() == before, "the environment changed");
    } else {
        require(now == "simple", "NCCL_PROTO is {}", now.value_or("not set"));
        require(environment().size() == before.size() + 1, "more than NCCL_PROTO was set");
    }
}

// Eager limits off, tiny and large: all sizes still arrive, also between ranks that differ (T30).
DUOFI_RANK_BODY(other_eager_limits) {
    const std::vector<std::string> limits = {"-1", "0", "100", "65536"};
    const int which = rank.number("which", 0);
    const bool differ = rank.number("differ", 0) != 0;
    const auto mine = static_cast<std::size_t>(differ && rank.index == 1 ? (which + 1) % 4 : which);
    const ScopedEnv env("OFI_NCCL_EAGER_MAX_SIZE", limits[mine]);
    Net& net = Net::process();
    Link link = connect_pair(rank, net);
    Plan plan = mixed_plan(36, 5);
    for (const int bytes : {1, 99, 100, 101, 65535, 65536, 65537})
        plan.add(bytes, bytes / 2 + 1, 9);
    // Small ones in a row share packets; those must fit what the other side posted.
    for (int i = 0; i < 200; ++i) plan.add(90 + i % 700, 2000, 9);
    plan.send_window = 64;
    for (const Lead lead : {Lead::free, Lead::sender_first, Lead::receiver_first}) {
        plan.lead = lead;
        run_plan(rank, link, plan);
    }
    rank.barrier();
}

// Settings that keep working while data moves.
DUOFI_RANK_BODY(settings_in_use) {
    Net& net = Net::process();
    Link link = connect_pair(rank, net);
    run_plan(rank, link, mixed_plan(60, 3));
    std::vector<std::uint8_t> memory(4096);
    std::vector<Registration> same;
    for (int i = 0; i < 5; ++i) same.emplace_back(link.send, memory.data(), memory.size());
    rank.barrier();
}

GroupOptions with(const char* name, const char* value, int ranks = 1) {
    GroupOptions options = on_provider("native", ranks);
    options.env[name] = value;
    return options;
}

TEST(Settings, bad_values_fail_init_by_name) {
    run_group("bad_values_fail_init", with("NCCL_PROTO", kUnset));
}
TEST(Settings, bad_own_values_warn) {
    run_group("bad_own_values_warn", on_provider("native", 1));
}
TEST(Settings, unknown_names_are_reported) {
    run_group("unknown_names_are_reported", on_provider("native", 1));
}

TEST(Settings, the_callers_protocol_is_set_once_and_never_overridden) {
    for (const char* value : {kUnset, "LL", "Simple", ""})
        run_group("protocol_of_the_caller", with("NCCL_PROTO", value));
}

TEST(Settings, every_eager_limit_works) {
    for (int which = 0; which < 4; ++which) {
        for (const char* differ : {"0", "1"}) {
            GroupOptions options = on_provider("native", 2);
            options.args["which"] = std::to_string(which);
            options.args["differ"] = differ;
            run_group("other_eager_limits", options);
        }
    }
}

TEST(Settings, keep_working) {
    run_group("settings_in_use", with("OFI_NCCL_CQ_READ_COUNT", "1", 2));
    run_group("settings_in_use", with("OFI_NCCL_CQ_SIZE", "64", 2));
    run_group("settings_in_use", with("OFI_NCCL_MR_CACHE_DISABLE", "1", 2));
    run_group("settings_in_use", with("OFI_NCCL_MR_KEY_SIZE", "8", 2));
    run_group("settings_in_use", with("OFI_NCCL_DOMAIN_PER_THREAD", "1", 2));
    run_group("settings_in_use", with("OFI_NCCL_PROGRESS_MODEL", "MANUAL", 2));
    run_group("settings_in_use", with("OFI_NCCL_RDMA_MAX_POSTED_EAGER_BUFFERS", "64", 2));
}

}  // namespace
}  // namespace duofi::test
