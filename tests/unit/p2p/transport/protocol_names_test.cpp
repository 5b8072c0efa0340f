// NCCL_PROTO as users write it.
// Units: p2p/protocol_names.
#include "p2p/protocol_names.hpp"

#include <gtest/gtest.h>

namespace duofi::p2p::test {
namespace {

TEST(ProtocolNames, are_read_as_the_callers_read_them) {
    constexpr ProtocolSet kLl = 1, kLl128 = 2, kSimple = 4;
    EXPECT_EQ(parse_protocols("").value(), kAllProtocols);
    EXPECT_EQ(parse_protocols("LL").value(), kLl);
    EXPECT_EQ(parse_protocols("simple").value(), kSimple);
    EXPECT_EQ(parse_protocols(" LL , ll128 ").value(), kLl | kLl128);
    EXPECT_EQ(parse_protocols("^LL128").value(), kLl | kSimple);
    EXPECT_EQ(parse_protocols("^LL,LL128").value(), kSimple);
    for (const char* bad : {"LL64", "^", ",", "^LL,LL128,Simple", "LL;LL128"})
        EXPECT_FALSE(parse_protocols(bad)) << bad;
}

}  // namespace
}  // namespace duofi::p2p::test
