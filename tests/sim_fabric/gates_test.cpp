// The gates of the net contract (4.5, 4.8, 4.9) and of the RMA tables, end to end over providers that only the simulated
// fabric can show here. DUOFI_TEST_LIBFABRIC: folder of a libfabric from 1.22 on, for the gates that an older one does
// not reach.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "tests/sim_fabric/sim_groups.hpp"
#include "tests/support/log_capture.hpp"
#include "tests/support/memory_buffer.hpp"
#include "tests/support/message_plan.hpp"
#include "tests/support/net_link.hpp"
#include "tests/support/plugin_module.hpp"
#include "tests/support/rma_driver.hpp"

namespace duofi::test {
namespace {

bool logged(const std::string& part) {
    return log_capture::count(NCCL_LOG_INFO, part) + log_capture::count(NCCL_LOG_WARN, part) > 0;
}

// A connection of this process with itself, and messages over it.
void exchange_with_self(const Net& net, int dev) {
    Listener listener = open_listener(net, dev);
    Connecting connecting(net, dev, listener.handle);
    Link link = finish_link(connecting, listener);
    for (const std::size_t bytes : {std::size_t{100}, std::size_t{200000}}) {
        MemoryBuffer out(bytes), in(bytes);
        out.fill(bytes);
        in.poison();
        const Registration send_mr(link.send, out.data(), bytes), recv_mr(link.recv, in.data(), bytes);
        const Part part{in.data(), static_cast<int>(bytes), 1, recv_mr.handle()};
        void* recv = post_recv(link.recv, {&part, 1});
        void* send = post_send(link.send, {out.data(), static_cast<int>(bytes), 1, send_mr.handle()});
        wait(net, send);
        require(wait(net, recv)[0] == static_cast<int>(bytes) && !first_mismatch(in.data(), bytes, bytes), "wrong data");
    }
}

// result= of init, line= of the log; with result 0 a message goes round.
DUOFI_RANK_BODY(gate) {
    log_capture::expect_warn("");
    PluginModule module;
    const Net net(module.net_v6());
    const auto wanted = static_cast<ncclResult_t>(rank.number("result", 0));
    const ncclResult_t result = net->init(&log_capture::record);
    require(result == wanted, "init gave {}\n{}", result_name(result), log_capture::dump());
    const std::string line = rank.text("line");
    require(line.empty() || logged(line), "no \"{}\" in\n{}", line, log_capture::dump());
    if (wanted != ncclSuccess) return;
    exchange_with_self(net, 0);
}

DUOFI_RANK_BODY(devices_and_links) {
    PluginModule module;
    const Net net(module.net_v6());
    require(net->init(&log_capture::record) == ncclSuccess, "init");
    require(net.devices() == 3, "{} devices", net.devices());
    const int speeds[] = {400000, 200000, 200000};  // in the order of the PCI addresses
    for (int dev = 0; dev < 3; ++dev) {
        const auto properties = net.properties(dev);
        require(properties.speed == speeds[dev], "device {}: {} Mbit/s", dev, properties.speed);
        require(std::strncmp(properties.name, "duofi_cxi", 9) == 0, "{}", properties.name);
        exchange_with_self(net, dev);
    }
}

// Engines that exist need more order than these grant: the tables say so and decline.
DUOFI_RANK_BODY(rma_declines) {
    void* instance = nullptr;
    const ncclResult_t result = Rma::process()->init(&instance, 1, &log_capture::record);
    require(result == ncclSystemError, "init gave {}", result_name(result));
    require(logged("cannot serve one-sided operations: the provider grants no one-sided operations with ordered signals"), "{}",
            log_capture::dump());
}

void expect_gate(GroupOptions options, ncclResult_t result, const std::string& line,
                 const std::map<std::string, std::string>& env = {}) {
    for (const auto& [name, value] : env) options.env[name] = value;
    options.args["result"] = std::to_string(static_cast<int>(result));
    options.args["line"] = line;
    run_group("gate", options);
}

GroupOptions exact_efa() {
    GroupOptions options = on_personality("efa", 1, {{"PERSONALITY", "efa"}, {"EXACT_NAME", "1"}});
    options.env["FI_PROVIDER"] = "efa";
    return options;
}

const char* newer_libfabric() { return std::getenv("DUOFI_TEST_LIBFABRIC"); }

TEST(Gates, EfaNeedsANewerLibfabric) {
    if (newer_libfabric() != nullptr) GTEST_SKIP() << "this one is new enough";
    expect_gate(exact_efa(), ncclSystemError, "EFA provider requires at least libfabric version 1.22.0.");
    expect_gate(on_personality("efa", 1), ncclSuccess, "Selected provider is duofisim;efa");
}

TEST(Gates, GdrIsRequiredOnSomeMachines) {
    if (newer_libfabric() == nullptr) GTEST_SKIP() << "efa is refused before; DUOFI_TEST_LIBFABRIC names no newer libfabric";
    const std::map<std::string, std::string> base{{"LD_LIBRARY_PATH", newer_libfabric()}};
    auto env = base;
    expect_gate(exact_efa(), ncclSuccess, "Selected provider is efa", env);
    env["OFI_NCCL_PLATFORM"] = "AWS";
    env["OFI_NCCL_FORCE_PRODUCT_NAME"] = "p4d.24xlarge";
    expect_gate(exact_efa(), ncclInternalError, "GDR disabled on GDR-supported instance type p4d.24xlarge", env);
    env["OFI_NCCL_DISABLE_GDR_REQUIRED_CHECK"] = "1";
    expect_gate(exact_efa(), ncclSuccess, "", env);
}

TEST(Gates, KeysAreTheProvidersOrOurs) {
    const std::map<std::string, std::string> long_keys{{"OFI_NCCL_MR_KEY_SIZE", "8"}};
    expect_gate(on_personality("cxi", 1), ncclSuccess, "", long_keys);
    expect_gate(on_personality("cxi", 1, {{"APPLICATION_KEYS", "1"}}), ncclSuccess, "");
    expect_gate(on_personality("cxi", 1, {{"APPLICATION_KEYS", "1"}}), ncclInternalError,
                "supports MR key size of 4, but 8 was requested", long_keys);
    expect_gate(on_personality("ideal", 1), ncclSuccess, "", long_keys);
}

TEST(Gates, DmaBufNeedsDeviceMemory) {
    expect_gate(on_personality("efa", 1), ncclSuccess, "Support for DMA-BUF registrations: false");
    expect_gate(on_personality("efa", 1, {{"DEVICE_MEMORY", "1"}}), ncclSuccess, "Support for DMA-BUF registrations: false",
                {{"OFI_NCCL_DISABLE_DMABUF", "1"}});
}

TEST(Gates, NicsAreDevices) {
    run_group("devices_and_links",
              on_personality("cxi", 1, {{"NICS", "0000:41:00.0,0000:01:00.0@400,0001:01:00.0@200"}}));
}

TEST(Gates, RmaDeclinesWithItsReason) {
    for (const char* personality : {"efa", "cxi"}) {
        GroupOptions options = on_personality(personality, 1);
        options.env["DUOFI_RMA"] = "1";
        run_group("rma_declines", options);
    }
}

}  // namespace
}  // namespace duofi::test
