// Two processes with different settings work together, or one refuses the connection and says why: net contract T30.
#include <algorithm>

#include "tests/conformance/conformance.hpp"
#include "tests/support/scoped_env.hpp"

namespace duofi::test {
namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

struct Difference {
    const char* name;
    Settings even;  ///< of ranks 0, 2, ...
    Settings odd;
};

const std::vector<Difference>& differences() {
    static const std::vector<Difference> all = {
        {"eager_limit", {{"OFI_NCCL_EAGER_MAX_SIZE", "64"}}, {{"OFI_NCCL_EAGER_MAX_SIZE", "65536"}}},
        {"eager_off", {{"OFI_NCCL_EAGER_MAX_SIZE", "-1"}}, {}},
        {"stripe", {{"OFI_NCCL_MIN_STRIPE_SIZE", "4096"}}, {{"OFI_NCCL_MIN_STRIPE_SIZE", "1048576"}}},
        {"completions", {{"OFI_NCCL_CQ_READ_COUNT", "1"}}, {{"OFI_NCCL_CQ_READ_COUNT", "64"}}},
        {"all",
         {{"OFI_NCCL_EAGER_MAX_SIZE", "0"}, {"OFI_NCCL_MIN_STRIPE_SIZE", "1"}, {"OFI_NCCL_CQ_READ_COUNT", "3"}},
         {{"OFI_NCCL_EAGER_MAX_SIZE", "16384"},
          {"OFI_NCCL_MIN_STRIPE_SIZE", "262144"},
          {"OFI_NCCL_CQ_READ_COUNT", "16"}}}};
    return all;
}

enum class Outcome { pending, open, refused };

// One look at both halves of a connection.
Outcome look(const Net& net, Connecting& connecting, const Listener& listener, Link& link) {
    void* comm = nullptr;
    if (!link.send) {
        if (connecting.raw_poll(&comm) != ncclSuccess) return Outcome::refused;
        if (comm != nullptr) link.send = Comm(net, CommKind::send, comm);
    }
    comm = nullptr;
    if (!link.recv) {
        if (net->accept(listener.comm.get(), &comm) != ncclSuccess) return Outcome::refused;
        if (comm != nullptr) link.recv = Comm(net, CommKind::recv, comm);
    }
    return link.send && link.recv ? Outcome::open : Outcome::pending;
}

// The link with the partner; nullopt: a rank refused, with a warning. Collective.
std::optional<Link> connect_unless_refused(Rank& rank, const Net& net) {
    Listener listener = open_listener(net);
    const auto handles = rank.all_gather(listener.handle);
    Connecting connecting(net, 0, handles[static_cast<std::size_t>(partner_of(rank))]);
    Link link;
    Outcome mine = Outcome::pending;
    const Deadline deadline(kStepPatience);
    for (;;) {
        const Deadline slice(5 * kMillisecond);
        while (mine == Outcome::pending && !slice.passed()) {
            mine = look(net, connecting, listener, link);
            relax();
        }
        const auto all = rank.all_gather(mine);
        if (std::all_of(all.begin(), all.end(), [](Outcome one) { return one == Outcome::open; })) return link;
        if (std::any_of(all.begin(), all.end(), [](Outcome one) { return one == Outcome::refused; })) break;
        require(!deadline.passed(), "the connection neither opens nor is refused");
    }
    require(mine != Outcome::refused || log_capture::count(NCCL_LOG_WARN, "") > 0, "refused without a message");
    log_capture::expect_warn("");
    return std::nullopt;
}

// Sizes on both sides of everything that the ranks disagree about.
Plan across_all_limits() {
    Plan plan;
    for (const int limit : {0, 64, 4096, 8192, 16384, 65536, 131072, 262144, 1 << 20}) {
        for (const int bytes : {std::max(limit - 1, 0), limit, limit + 1}) {
            plan.add(bytes, bytes, 3);
            plan.add(bytes, bytes / 2, 3);
            plan.add(bytes / 2, bytes, 3);
        }
    }
    for (int group = 0; group < 8; ++group) {
        RecvSpec parts;
        for (int tag = 0; tag < NCCL_NET_MAX_RECVS; ++tag) {
            const int bytes = 30 * (1 << (tag + group) % 14);
            plan.sends.push_back({bytes, 10 + tag});
            parts.push_back({bytes, 10 + tag});
        }
        plan.recvs.push_back(parts);
    }
    for (int i = 0; i < 200; ++i) plan.add(20 + i * 7 % 900, 2000, 9);  // small ones may share packets
    plan.send_window = 64;
    plan.recv_window = 16;
    return plan;
}

DUOFI_RANK_BODY(ranks_with_different_settings) {
    const Difference& difference = differences().at(static_cast<std::size_t>(rank.number("difference", 0)));
    std::vector<std::unique_ptr<ScopedEnv>> set;
    for (const auto& [name, value] : rank.index % 2 == 0 ? difference.even : difference.odd)
        set.push_back(std::make_unique<ScopedEnv>(name, value));
    const std::optional<Link> link = connect_unless_refused(rank, Net::process());
    if (!link) return rank.barrier();
    Plan plan = across_all_limits();
    for (const Lead lead : {Lead::free, Lead::sender_first, Lead::receiver_first}) {
        plan.lead = lead;
        run_plan(rank, *link, plan);
    }
    rank.barrier();
}

// Settings belong to a process: where ranks are threads there is nothing to differ.
std::vector<int> cases() {
    std::vector<int> all;
    if (conformance_choice().mode != RankMode::processes) return all;
    for (std::size_t i = 0; i < differences().size(); ++i) all.push_back(static_cast<int>(i));
    return all;
}

class DifferentSettings : public testing::TestWithParam<int> {};

TEST_P(DifferentSettings, work_together_or_are_refused) {
    GroupOptions options = conformance_options(2);
    options.args["difference"] = std::to_string(GetParam());
    run_group("ranks_with_different_settings", options);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DifferentSettings);
INSTANTIATE_TEST_SUITE_P(ranks, DifferentSettings, testing::ValuesIn(cases()), [](const auto& info) {
    return std::string(differences()[static_cast<std::size_t>(info.param)].name);
});

}  // namespace
}  // namespace duofi::test
