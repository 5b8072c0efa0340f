// Parts of the simulated fabric without libfabric around them.
// Units: sim_fabric/knobs, sim_fabric/faults, sim_fabric/link_model, sim_fabric/atomics, sim_fabric/pipe
#include <gtest/gtest.h>
#include <rdma/fi_errno.h>

#include <fcntl.h>

#include <cstring>
#include <fstream>

#include "sim_fabric/atomics.hpp"
#include "sim_fabric/knobs.hpp"
#include "sim_fabric/link_model.hpp"
#include "sim_fabric/pipe.hpp"

namespace duofi::sim {
namespace {

Lookup variables(std::map<std::string, std::string> values) {
    return [values = std::move(values)](const std::string& name) -> std::optional<std::string> {
        const auto found = values.find(name);
        return found != values.end() ? std::optional(found->second) : std::nullopt;
    };
}

TEST(SimKnobs, AreReadFromVariablesAndFile) {
    const std::string path = testing::TempDir() + "duofisim.conf";
    std::ofstream(path) << "# a file\nlatency = 5us\nseed=7\nunknown = 1\nreorder=1ms\n";
    std::vector<std::string> complaints;
    const Knobs knobs = read_knobs(variables({{"DUOFISIM_CONFIG", path},
                                              {"DUOFISIM_LATENCY", "12"},
                                              {"DUOFISIM_NICS", "0000:20:01.0@400@3,0001:21:00.1"},
                                              {"DUOFISIM_FAIL", "send:3,any:9:5"},
                                              {"DUOFISIM_AGAIN", "many"}}),
                                   complaints);
    std::remove(path.c_str());
    EXPECT_EQ(knobs.latency_us, 12);
    EXPECT_EQ(knobs.seed, 7U);
    EXPECT_EQ(knobs.reorder_us, 1000);
    ASSERT_EQ(knobs.nics.size(), 2U);
    EXPECT_EQ(knobs.nics[0].pci_bus, 0x20);
    EXPECT_EQ(knobs.nics[0].gbps, 400);
    EXPECT_EQ(knobs.nics[0].latency_us, 3);
    EXPECT_EQ(knobs.nics[1].pci_domain, 1);
    EXPECT_EQ(knobs.nics[1].pci_function, 1);
    ASSERT_EQ(knobs.faults.size(), 2U);
    EXPECT_EQ(knobs.faults[0].site, Site::send);
    EXPECT_EQ(knobs.faults[1].site, Site::count);
    EXPECT_EQ(knobs.again_permille, 0U);
    EXPECT_EQ(complaints.size(), 2U);
    EXPECT_EQ(knobs.personality->name, "ideal");
}

TEST(SimKnobs, WhatStandsBehindANicIsNotDropped) {
    for (const char* text : {"0000:10:00.0@100@1ms", "0000:10:00.0zzz", "0000:10:00.0@nan", "0000:10:00.0@1@2@3"}) {
        std::vector<std::string> complaints;
        (void)read_knobs(variables({{"DUOFISIM_NICS", text}}), complaints);
        EXPECT_EQ(complaints.size(), 1U) << text;
    }
}

TEST(SimKnobs, ProviderListNamesThePersonality) {
    std::vector<std::string> complaints;
    EXPECT_EQ(read_knobs(variables({{"FI_PROVIDER", "duofisim;cxi,cxi"}}), complaints).personality->name, "cxi");
    EXPECT_EQ(read_knobs(variables({{"DUOFI_OFI_PROVIDER", "duofisim;efa"}}), complaints).personality->name, "efa");
    EXPECT_EQ(read_knobs(variables({{"FI_PROVIDER", "duofisim"}}), complaints).personality->name, "ideal");
    EXPECT_TRUE(complaints.empty());
    EXPECT_EQ(read_knobs(variables({{"FI_PROVIDER", "duofisim;what"}}), complaints).personality->name, "ideal");
    EXPECT_EQ(complaints.size(), 1U);
}

TEST(SimFaults, TheCallThatIsNamedFails) {
    FaultRule rule;
    for (const char* bad : {"", "send", "send:0", "send:x", "nothing:1", "send:1:0", "send:1:2:3"}) EXPECT_FALSE(parse_fault(bad, rule)) << bad;
    ASSERT_TRUE(parse_fault("recv:2:11", rule));
    Faults faults;
    faults.set(&rule, 1);
    EXPECT_EQ(faults.reach(Site::recv), 0);
    EXPECT_EQ(faults.reach(Site::send), 0);
    EXPECT_EQ(faults.reach(Site::recv), 11);
    EXPECT_EQ(faults.reach(Site::recv), 0);
    EXPECT_EQ(faults.count(Site::recv), 3U);
    EXPECT_EQ(faults.report(), "send 1\nrecv 3\nany 4\nfailed 1\n");
    ASSERT_TRUE(parse_fault("any:5", rule));
    EXPECT_EQ(faults.reach(Site::mr_reg), FI_ENOMEM);
}

TEST(SimOrder, KeepsWhatIsPromised) {
    Order strict(FI_ORDER_SAS | FI_ORDER_SAW | FI_ORDER_WAW);
    EXPECT_EQ(strict.place(Kind::write, false, 100), 100);
    EXPECT_EQ(strict.place(Kind::message, false, 50), 100) << "a send behind an earlier write";
    EXPECT_EQ(strict.place(Kind::write, false, 20), 100);
    EXPECT_EQ(strict.place(Kind::read, false, 20), 20) << "nothing is promised for reads";
    Order loose(FI_ORDER_SAS);
    EXPECT_EQ(loose.place(Kind::write, false, 100), 100);
    EXPECT_EQ(loose.place(Kind::message, false, 50), 50);
    EXPECT_EQ(loose.place(Kind::tagged, false, 40), 50) << "a send behind an earlier send";
    EXPECT_EQ(loose.place(Kind::write, true, 10), 100) << "behind a fence";
    EXPECT_EQ(loose.place(Kind::ack, false, 10), 10);
}

TEST(SimChance, RepeatsWithItsSeed) {
    Chance a(3), b(3), c(4);
    EXPECT_EQ(a.next(), b.next());
    EXPECT_NE(a.next(), c.next());
    for (int i = 0; i < 100; ++i) EXPECT_LT(a.below(7), 7U);
}

TEST(SimAtomics, DoWhatTheySay) {
    std::uint64_t word = 5, old = 0, operand = 9;
    EXPECT_TRUE(apply_atomic(FI_MAX, FI_UINT64, &word, &operand, &old, 1));
    EXPECT_EQ(word, 9U);
    EXPECT_EQ(old, 5U);
    EXPECT_TRUE(apply_atomic(FI_ATOMIC_READ, FI_UINT64, &word, &operand, &old, 1));
    EXPECT_EQ(old, 9U);
    std::int32_t words[2] = {-1, 7}, operands[2] = {2, -9}, olds[2];
    EXPECT_TRUE(apply_atomic(FI_MIN, FI_INT32, words, operands, olds, 2));
    EXPECT_EQ(words[0], -1);
    EXPECT_EQ(words[1], -9);
    EXPECT_FALSE(apply_atomic(FI_SUM, FI_UINT64, reinterpret_cast<char*>(&word) + 1, &operand, &old, 1));
    EXPECT_EQ(atomic_size(FI_DOUBLE), 0U);
    EXPECT_FALSE(atomic_known(FI_LOR));
}

TEST(SimPipe, CarriesPacketsAndTellsTheEnd) {
    local::HandleBytes handle;
    auto outlet = Outlet::create(handle);
    ASSERT_TRUE(outlet);
    auto inlet = Inlet::import(UniqueFd(::fcntl(outlet->descriptor(), F_DUPFD_CLOEXEC, 0)), handle);
    ASSERT_TRUE(inlet);
    EXPECT_FALSE(outlet->must_ring());
    inlet->fall_asleep();
    EXPECT_TRUE(outlet->must_ring());
    const std::vector<std::byte> payload(kPart, std::byte{3});
    Head head;
    head.tag = 77;
    int pushed = 0;
    while (outlet->push(head, payload) == Pushed::yes) ++pushed;
    EXPECT_GT(pushed, 2);
    EXPECT_FALSE(inlet->ended());
    for (int i = 0; i < pushed; ++i) {
        const auto packet = inlet->pop();
        ASSERT_TRUE(packet);
        EXPECT_EQ(packet->head.tag, 77U);
        EXPECT_EQ(packet->payload, payload);
    }
    EXPECT_FALSE(inlet->pop());
    { const Outlet gone = std::move(*outlet); }
    EXPECT_TRUE(inlet->ended());
}

TEST(SimPipe, WriterSeesThatTheReaderIsGone) {
    local::HandleBytes handle;
    auto outlet = Outlet::create(handle);
    ASSERT_TRUE(outlet);
    { auto inlet = Inlet::import(UniqueFd(::fcntl(outlet->descriptor(), F_DUPFD_CLOEXEC, 0)), handle); }
    EXPECT_EQ(outlet->push(Head{}, {}), Pushed::closed);
    handle[20] ^= std::byte{1};
    EXPECT_FALSE(Inlet::import(UniqueFd(::fcntl(outlet->descriptor(), F_DUPFD_CLOEXEC, 0)), handle));
}

}  // namespace
}  // namespace duofi::sim
