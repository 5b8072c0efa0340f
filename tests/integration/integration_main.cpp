#include "tests/integration/integration.hpp"

#include <algorithm>
#include <cstring>

namespace duofi::test {
namespace {

bool full = false;

}  // namespace

bool full_tier() {
    return full;
}

void choose_tier(int argc, char** argv) {
    full = std::any_of(argv, argv + argc,
                       [](const char* word) { return std::strcmp(word, "--full") == 0; });
}

GroupOptions on_provider(const std::string& word, int ranks) {
    GroupOptions options;
    options.ranks = ranks;
    options.mode = RankMode::processes;
    options.env["FI_PROVIDER"] = provider_name(word);
    options.env["NCCL_DEBUG"] = "INFO";
    options.args["provider"] = word;
    options.args["full"] = full ? "1" : "0";
    return options;
}

Link connect_self(const Net& net, int dev) {
    Listener listener = open_listener(net, dev);
    Connecting connecting(net, dev, listener.handle);
    Link link = finish_link(connecting, listener);
    listener.comm.close();
    return link;
}

void transfer_self(const Link& link, std::size_t bytes, std::uint64_t seed) {
    MemoryBuffer out(bytes);
    MemoryBuffer in(bytes);
    out.fill(seed);
    in.poison();
    const Registration send_mr(link.send, out.data(), bytes);
    const Registration recv_mr(link.recv, in.data(), bytes);
    const Part part{in.data(), static_cast<int>(bytes), 1, recv_mr.handle()};
    void* recv = post_recv(link.recv, {&part, 1});
    void* send = post_send(link.send, {out.data(), static_cast<int>(bytes), 1, send_mr.handle()});
    wait(link.send.net(), send);
    const int got = wait(link.recv.net(), recv)[0];
    require(got == static_cast<int>(bytes), "{} bytes arrived, {} were sent", got, bytes);
    require(!first_mismatch(in.data(), bytes, seed) && in.guards_intact(), "wrong data");
}

Plan mixed_plan(int messages, std::uint64_t seed) {
    constexpr std::array<int, 6> kSizes = {0, 64, 8192, 8193, 70000, 300000};
    Plan plan;
    plan.seed = seed;
    plan.send_window = plan.recv_window = 8;
    for (int i = 0; i < messages; ++i) {
        const int bytes = kSizes[static_cast<std::size_t>(i) % kSizes.size()];
        plan.add(bytes, bytes, i % 3);
    }
    return plan;
}

std::string provider_test_name(const testing::TestParamInfo<const char*>& info) {
    return info.param;
}

}  // namespace duofi::test

int main(int argc, char** argv) {
    if (const int code = duofi::test::run_rank_of_command_line(argc, argv); code >= 0) return code;
    duofi::test::choose_tier(argc, argv);
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
