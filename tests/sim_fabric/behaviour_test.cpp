// The knobs: each does what it says, and nothing else goes wrong meanwhile.
// Units: sim_fabric/link_model, sim_fabric/knobs, sim_fabric/faults, sim_fabric/pipe, sim_fabric/packet
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "tests/sim_fabric/fabric_ends.hpp"
#include "tests/sim_fabric/sim_groups.hpp"

namespace duofi::test {
namespace {

struct NameBytes {
    char bytes[32];
    std::uint32_t length;
};

/// One endpoint per rank; all know each other.
struct Member {
    explicit Member(Rank& rank) : end(opened), region(opened, end.ep, 1 << 20, 1) {
        NameBytes mine{};
        const std::string name = end.name();
        std::memcpy(mine.bytes, name.data(), name.size());
        mine.length = static_cast<std::uint32_t>(name.size());
        for (const NameBytes& each : rank.all_gather(mine)) peers.push_back(end.insert({each.bytes, each.length}));
        struct Remote {
            std::uint64_t address, key;
        };
        for (const Remote& each : rank.all_gather(Remote{region.address(), region.key()})) {
            addresses.push_back(each.address);
            keys.push_back(each.key);
        }
    }
    ssize_t receive(std::size_t at, std::size_t bytes, void* context = nullptr) {
        return fi_recv(end.ep, region.bytes.data() + at, bytes, region.descriptor(), FI_ADDR_UNSPEC, context);
    }
    ssize_t send(int to, std::size_t at, std::size_t bytes, void* context = nullptr) {
        return post([&] { return fi_send(end.ep, region.bytes.data() + at, bytes, region.descriptor(), peers[static_cast<std::size_t>(to)], context); }, {&end});
    }
    ssize_t write(int to, std::size_t at, std::size_t bytes, std::uint64_t flags = 0) {
        const auto peer = static_cast<std::size_t>(to);
        const iovec part{region.bytes.data() + at, bytes};
        void* descriptor = region.descriptor();
        const fi_rma_iov target{addresses[peer] + at, bytes, keys[peer]};
        const fi_msg_rma message{&part, &descriptor, 1, peers[peer], &target, 1, nullptr, 0};
        return post([&] { return fi_writemsg(end.ep, &message, FI_COMPLETION | flags); }, {&end});
    }
    Opened opened;
    End end;
    Region region;
    std::vector<fi_addr_t> peers;
    std::vector<std::uint64_t> addresses, keys;
};

// Half of a round trip. The fastest of many: the link's latency, and what is added when nothing else runs on the machine's
// cores; a busy machine gets more rounds for a quiet moment.
DUOFI_RANK_BODY(latency) {
    Member my(rank);
    const double wanted = rank.number("wanted_us", 0);
    constexpr std::uint64_t kLast = 1;
    double fastest = 1e9;
    const Deadline deadline(20 * kSecond);
    for (bool last = false; !last;) {
        require(my.receive(0, 8) == 0, "fi_recv");
        const Nanoseconds begin = now_ns();
        const auto take = [&] {
            for (Event event; !(my.end.poll(event) && (event.entry.flags & FI_RECV) != 0);)
                require(now_ns() - begin < 10 * kSecond, "no answer");
        };
        if (rank.index == 1) take();
        last = rank.index == 1 ? my.region.bytes[0] == kLast : fastest <= wanted * 1.2 || deadline.passed();
        my.region.bytes[8] = last ? kLast : 0;
        require(my.send(1 - rank.index, 8, 8) == 0, "fi_send");
        if (rank.index == 1) continue;
        take();
        fastest = std::min(fastest, static_cast<double>(now_ns() - begin) / 2000);
    }
    rank.barrier();
    if (rank.index != 0) return;
    std::printf("one way: %.1f us, the link has %.0f us\n", fastest, wanted);
    require(fastest >= wanted && fastest <= wanted * 1.2, "{} us", fastest);
}

// A message behind a write overtakes it where no order is promised, and nowhere else; messages keep their order.
DUOFI_RANK_BODY(reorder) {
    Member my(rank);
    constexpr std::uint32_t kRounds = 100;
    auto* words = reinterpret_cast<volatile std::uint32_t*>(my.region.bytes.data());
    for (std::uint32_t i = 0; rank.index == 1 && i < 2 * kRounds; ++i) require(my.receive(8192 + 4 * i, 4) == 0, "fi_recv");
    rank.barrier();
    int overtaken = 0;
    for (std::uint32_t i = 0; i < kRounds; ++i) {
        if (rank.index == 0) {
            words[2 * i] = 2 * i + 1;
            words[2 * i + 1] = 2 * i + 2;
            require(my.write(1, 8 * i, 8) == 0 && my.send(1, 8 * i, 4) == 0 && my.send(1, 8 * i + 4, 4) == 0, "post");
            for (int done = 0; done < 3; ++done) require(my.end.next().error == 0, "completion");
            continue;
        }
        for (std::uint32_t k = 2 * i; k < 2 * i + 2; ++k) {
            require(my.end.next().error == 0, "receive");
            if (words[k] == 0) ++overtaken;
            std::uint32_t got = 0;
            std::memcpy(&got, my.region.bytes.data() + 8192 + 4 * k, 4);
            require(got == k + 1, "message {} came as number {}", got, k + 1);
        }
    }
    rank.barrier();
    if (rank.index == 0) return;
    for (std::uint32_t k = 0; k < 2 * kRounds; ++k) require(words[k] == k + 1, "write {} is lost", k);
    std::printf("writes overtaken by their message: %d of %u\n", overtaken, 2 * kRounds);
    require((overtaken > 0) == (rank.number("overtakes", 0) != 0), "{} were overtaken", overtaken);
}

DUOFI_RANK_BODY(busy) {
    Member my(rank);
    constexpr int kMessages = 2000;
    int refused = 0, received = 0, sent = 0, posted = 0;
    rank.barrier();
    const Deadline deadline(20 * kSecond);
    while ((sent < kMessages || received < kMessages) && !deadline.passed()) {
        if (rank.index == 1 && posted < kMessages && my.receive(0, 64) == 0) ++posted;
        if (rank.index == 0 && posted < kMessages) {
            const ssize_t code = fi_send(my.end.ep, my.region.bytes.data(), 64, my.region.descriptor(), my.peers[1], nullptr);
            require(code == 0 || code == -FI_EAGAIN, "fi_send: {}", code);
            (code == 0 ? posted : refused) += 1;
        }
        for (Event event; my.end.poll(event);) {
            require(event.error == 0, "completion: {}", event.error);
            ++((event.entry.flags & FI_SEND) != 0 ? sent : received);
        }
        if (rank.index == 0) received = kMessages; else sent = kMessages;
    }
    require(sent == kMessages && received == kMessages, "{} sent, {} received", sent, received);
    if (rank.index == 0) require((refused > 0) == (rank.number("refuses", 0) != 0), "{} posts were refused", refused);
    rank.barrier();
}

// Rank 1 is dead, cut off or killed: rank 0 gets errors and goes on.
DUOFI_RANK_BODY(unreachable) {
    std::optional<Member> my(std::in_place, rank);
    if (rank.index == 1) {
        rank.barrier();
        if (rank.number("kills", 0) != 0) ::kill(::getpid(), SIGKILL);
        const Deadline deadline(2 * kSecond);
        for (Event event; !deadline.passed();) static_cast<void>(my->end.poll(event));
        return;
    }
    rank.barrier();
    const Deadline deadline(10 * kSecond);
    int failed = 0;
    while (failed == 0 && !deadline.passed()) {
        const ssize_t code = my->send(1, 0, 100);
        require(code == 0, "fi_send: {}", code);
        failed = my->end.next().error;
    }
    require(failed != 0, "no error from a peer that is gone");
    if (rank.text("personality") == "efa") require(failed == FI_EHOSTUNREACH, "{}", failed);
}

DUOFI_RANK_BODY(freeze) {
    Member my(rank);
    constexpr int kMessages = 50;
    for (int i = 0; rank.index == 1 && i < kMessages; ++i) require(my.receive(0, 64) == 0, "fi_recv");
    rank.barrier();
    const Nanoseconds begin = now_ns();
    for (int i = 0; rank.index == 0 && i < kMessages; ++i) require(my.send(1, 0, 64) == 0, "fi_send");
    for (int i = 0; i < kMessages; ++i) require(my.end.next().error == 0, "completion");
    require(now_ns() - begin >= 300 * kMillisecond, "nobody was frozen");
    rank.barrier();
}

// An operation whose completion comes although its endpoint is closed.
DUOFI_RANK_BODY(late) {
    Pair pair;
    int context = 0;
    require(fi_send(pair.a.ep, pair.at_a.bytes.data(), 8, pair.at_a.descriptor(), pair.to_b, &context) == 0, "fi_send");
    pair.at_a.close();
    pair.a.close_endpoint();
    Event event;
    require(!pair.a.poll(event), "too early");
    event = pair.a.next();
    require(event.error == 0 && event.entry.op_context == &context, "late completion");
}

DUOFI_RANK_BODY(bare_completions) {
    Pair pair;
    require(fi_recv(pair.b.ep, pair.at_b.bytes.data(), 64, pair.at_b.descriptor(), FI_ADDR_UNSPEC, nullptr) == 0, "fi_recv");
    require(post([&] { return fi_inject(pair.a.ep, pair.at_a.bytes.data(), 64, pair.to_b); }, {&pair.a, &pair.b}) == 0, "fi_inject");
    const Event event = pair.b.next({&pair.a});
    require(event.entry.len == 0 && event.source == FI_ADDR_NOTAVAIL, "length {}", event.entry.len);
}

DUOFI_RANK_BODY(mutants) {
    Pair pair;
    std::vector<std::uint8_t> in(64);
    for (int i = 0; i < 3; ++i)
        require(fi_recv(pair.b.ep, pair.at_b.bytes.data() + 64 * i, 64, pair.at_b.descriptor(), FI_ADDR_UNSPEC, nullptr) == 0, "fi_recv");
    for (int i = 0; i < 2; ++i)
        require(post([&] { return fi_inject(pair.a.ep, pair.at_a.bytes.data(), 64, pair.to_b); }, {&pair.a, &pair.b}) == 0, "fi_inject");
    const int messages = rank.number("messages", 2);
    for (int i = 0; i < messages; ++i) static_cast<void>(pair.b.next({&pair.a}));
    Event more;
    for (int i = 0; i < 200; ++i) require(!pair.b.poll(more), "one message too many");
    const bool same = std::equal(pair.at_b.bytes.begin(), pair.at_b.bytes.begin() + 64, pair.at_a.bytes.begin());
    require(same == (rank.number("corrupts", 0) == 0), "content");
}

// fails=<site>: that call, or that completion, is the one that fails.
DUOFI_RANK_BODY(failing_calls) {
    const std::string site = rank.text("fails");
    if (site == "mr_reg") {
        try {
            Pair pair;
        } catch (const std::exception& failure) {
            require(std::string(failure.what()).find("fi_mr_reg") == 0, "{}", failure.what());
            return;
        }
        require(false, "fi_mr_reg did not fail");
    }
    Pair pair;
    const auto send = [&] { return post([&] { return fi_send(pair.a.ep, pair.at_a.bytes.data(), 8, pair.at_a.descriptor(), pair.to_b, nullptr); }, {&pair.a, &pair.b}); };
    require(send() == 0, "the first");
    const ssize_t second = send();
    require(second == (site == "send" ? -FI_EIO : 0), "{}", second);
    require(pair.a.next({&pair.b}).error == 0, "completion of the first");
    if (site == "sent") require(pair.a.next({&pair.b}).error == 122, "completion of the second");
}

TEST(Latency, IsThatOfTheLinkWithinAFifth) {
    for (const char* wanted : {"10", "200"}) {
        GroupOptions options = on_personality("ideal", 2, {{"LATENCY", wanted}});
        options.args["wanted_us"] = wanted;
        run_group("latency", options);
    }
}

TEST(Reordering, OnlyWhereNoOrderIsPromised) {
    const std::map<std::string, std::string> knobs{{"REORDER", "300us"}, {"SEED", "5"}};
    GroupOptions options = on_personality("efa", 2, knobs);
    options.args["overtakes"] = "1";
    run_group("reorder", options);
    run_group("reorder", on_personality("ideal", 2, knobs));
    run_group("reorder", on_personality("verbs", 2, knobs));
}

TEST(Busy, RefusesNowAndThen) {
    for (const auto& knobs : {std::map<std::string, std::string>{{"AGAIN", "200"}}, {{"CREDITS", "4"}}}) {
        GroupOptions options = on_personality("ideal", 2, knobs);
        options.args["refuses"] = "1";
        run_group("busy", options);
    }
    run_group("busy", on_personality("ideal", 2));
    run_group("busy", on_personality("ideal", 2, {{"MANUAL", "1"}}));
}

TEST(Trouble, PeerIsKilledDeadOrCutOff) {
    for (const char* personality : {"ideal", "efa"}) {
        GroupOptions options = on_personality(personality, 2);
        options.args["kills"] = "1";
        options.ends[1] = RankEnd::killed;
        run_group("unreachable", options);
    }
    run_group("unreachable", on_personality("ideal", 2, {{"DIE_AFTER", "5"}}));
    run_group("unreachable", on_personality("cxi", 2, {{"CUT_AFTER", "5"}}));
}

TEST(Trouble, EndpointIsFrozenForAWhile) {
    run_group("freeze", on_personality("ideal", 2, {{"FREEZE_AFTER", "10"}, {"FREEZE_MS", "400"}}));
}

TEST(Trouble, CompletionsAfterTheClose) { run_group("late", on_personality("ideal", 1, {{"LATE_MS", "100"}, {"MANUAL", "1"}})); }

TEST(Trouble, CompletionsWithoutLengthAndSource) {
    run_group("bare_completions", on_personality("efa", 1, {{"NO_LENGTH", "1"}, {"NO_SOURCE", "1"}}));
}

TEST(Mutants, OnlyWhenAskedFor) {
    run_group("mutants", on_personality("ideal", 1));
    GroupOptions options = on_personality("ideal", 1, {{"DUPLICATE", "1"}});
    options.args["messages"] = "3";
    run_group("mutants", options);
    options = on_personality("ideal", 1, {{"CORRUPT", "1"}});
    options.args["corrupts"] = "1";
    run_group("mutants", options);
}

TEST(Faults, TheCallThatIsNamed) {
    const std::map<std::string, std::string> rules{{"send", "send:2"}, {"sent", "sent:2:122"}, {"mr_reg", "mr_reg:2"}};
    for (const auto& [site, rule] : rules) {
        SCOPED_TRACE(rule);
        GroupOptions options = on_personality("ideal", 1, {{"FAIL", rule}});
        options.args["fails"] = site;
        run_group("failing_calls", options);
    }
}

}  // namespace
}  // namespace duofi::test
