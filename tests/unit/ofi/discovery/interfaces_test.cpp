// User-reports A3, A6, A7; net contract 4.4(5).
#include "common/ofi/interfaces.hpp"

#include <gtest/gtest.h>

namespace duofi::ofi {
namespace {

TEST(InterfaceNames, ArePrefixesUnlessMarkedExact) {
    const auto prefixes = InterfaceNames::parse("eth,br-");
    EXPECT_TRUE(prefixes.matches("eth0"));
    EXPECT_TRUE(prefixes.matches("br-1234"));
    EXPECT_FALSE(prefixes.matches("br1"));
    EXPECT_FALSE(prefixes.matches("et"));

    const auto exact = InterfaceNames::parse("=eth1,ib0");
    EXPECT_TRUE(exact.matches("eth1"));
    EXPECT_FALSE(exact.matches("eth10"));
    EXPECT_TRUE(exact.matches("ib0"));
    EXPECT_FALSE(exact.matches("ib01")) << "the leading '=' counts for the whole list";

    const auto mixed = InterfaceNames::parse("eth,=lo");
    EXPECT_TRUE(mixed.matches("eth5"));
    EXPECT_TRUE(mixed.matches("lo"));
    EXPECT_FALSE(mixed.matches("lo1"));
    EXPECT_EQ(mixed.text(), "eth,=lo");
}

TEST(InterfaceNames, EmptyElementsEndAndMatchNothing) {
    for (const char* text : {"", ",", ",,", " , ", "=", "=,=", ",,,,,,,,"}) {
        const auto names = InterfaceNames::parse(text);
        EXPECT_TRUE(names.empty()) << "'" << text << "'";
        EXPECT_FALSE(names.matches("eth0")) << "'" << text << "'";
        EXPECT_FALSE(names.matches("")) << "'" << text << "'";
    }
    EXPECT_TRUE(InterfaceNames::parse(" , docker0 ,,").matches("docker0"));
}

TEST(InterfaceFilter, DefaultListOfReportA7) {
    const InterfaceFilter filter;
    for (const char* name : {"docker0", "br-0abc", "virbr0", "veth1234", "cni0", "tailscale0"})
        EXPECT_EQ(filter.judge(name, false), Verdict::last_resort) << name;
    for (const char* name : {"eth0", "ens5", "ib0", "net0", "bond0", "bridge0"})
        EXPECT_EQ(filter.judge(name, false), Verdict::use) << name;
    EXPECT_EQ(filter.judge("lo", true), Verdict::only_if_alone);
    EXPECT_NE(filter.reason("docker0", false).find("OFI_NCCL_EXCLUDE_TCP_IF"), std::string::npos);
    EXPECT_EQ(filter.reason("eth0", false), "");
}

TEST(InterfaceFilter, TheUsersListReplacesTheDefaultButNeverBringsLoopbackIn) {
    for (const char* list : {"docker0", "^docker0", "=docker0", "^=docker0"}) {
        const InterfaceFilter filter{std::string(list)};
        EXPECT_EQ(filter.judge("docker0", false), Verdict::refused) << list;
        EXPECT_EQ(filter.judge("virbr0", false), Verdict::use) << list;
        EXPECT_EQ(filter.judge("lo", true), Verdict::only_if_alone) << list;
    }
    const InterfaceFilter nothing{std::string()};
    EXPECT_EQ(nothing.judge("docker0", false), Verdict::use);
    EXPECT_EQ(nothing.judge("lo", true), Verdict::only_if_alone);
    const InterfaceFilter also_lo{std::string("lo,docker0")};
    EXPECT_EQ(also_lo.judge("lo", true), Verdict::refused);
}

TEST(InterfaceFilter, NamingAnInterfaceOverridesEverything) {
    const InterfaceFilter filter{std::string("lo,docker"), "=docker0,lo"};
    EXPECT_EQ(filter.judge("docker0", false), Verdict::use);
    EXPECT_EQ(filter.judge("lo", true), Verdict::use);
    EXPECT_EQ(filter.judge("eth0", false), Verdict::refused);
    EXPECT_TRUE(filter.named("docker0"));
    EXPECT_FALSE(filter.named("docker01"));
    EXPECT_NE(filter.reason("eth0", false).find("FI_TCP_IFACE"), std::string::npos);
}

TEST(InterfaceFilter, DescribesItself) {
    EXPECT_EQ(InterfaceFilter().describe(),
              "OFI_NCCL_EXCLUDE_TCP_IF=docker,br-,virbr,veth,cni,tailscale (default)");
    EXPECT_EQ(InterfaceFilter{std::string("^=a,b")}.describe(), "OFI_NCCL_EXCLUDE_TCP_IF==a,=b");
    EXPECT_EQ(InterfaceFilter(std::nullopt, "=eth1").describe(), "FI_TCP_IFACE/FI_NET_IFACE=eth1");
}

}  // namespace
}  // namespace duofi::ofi
