// What a debugger would see of the table and of the vtable: V-1, C-1, C-3, C-4, C-5.
// Units: p2p/layout_check, p2p/transport/table, p2p/transport/net_transport.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <iterator>

#include "p2p/abi.h"
#include "p2p/transport/net_transport.hpp"
#include "p2p/transport/select.hpp"

namespace duofi::p2p::test {
namespace {

using Words = std::array<std::uint64_t, 15>;
static_assert(sizeof(Words) == sizeof(ncclTransport));

Words dump(const ncclTransport& transport) {
    Words words;
    std::memcpy(words.data(), &transport, sizeof(words));
    return words;
}

TEST(TransportTable, has_two_pointers_p2p_first) {  // C-1
    static_assert(std::size(ncclTransports) == 2);
    const void* pointers[2];
    std::memcpy(pointers, ncclTransports, sizeof(pointers));
    EXPECT_EQ(pointers[0], &p2pTransport);
    EXPECT_EQ(pointers[1], &net_transport);
    EXPECT_EQ(std::memcmp(ncclTransports[0]->name, "P2P\0\0\0\0\0\0\0\0\0\0\0\0", 16), 0);
    EXPECT_STREQ(ncclTransports[1]->name, "NET_NEURON");
}

TEST(TransportTable, there_is_no_third_entry) {  // C-3, T-1
    EXPECT_EQ(transport_at(ncclTransports, 0), &p2pTransport);
    EXPECT_EQ(transport_at(ncclTransports, 1), &net_transport);
    EXPECT_EQ(transport_at(ncclTransports, 2), nullptr);
    EXPECT_EQ(transport_at(ncclTransports, -1), nullptr);
}

TEST(TransportTable, p2p_has_no_proxy) {  // C-4
    const Words words = dump(p2pTransport);
    for (std::size_t i = 2; i < words.size(); ++i) {
        const bool proxy_slot = (i >= 6 && i <= 8) || (i >= 12 && i <= 14);
        EXPECT_EQ(words[i] == 0, proxy_slot) << "offset " << i * 8;
    }
}

TEST(TransportTable, net_fills_every_slot) {  // C-5
    const Words words = dump(net_transport);
    for (std::size_t i = 2; i < words.size(); ++i) EXPECT_NE(words[i], 0U) << "offset " << i * 8;
}

TEST(TransportTable, both_directions_are_specialisations) {  // C-14
    EXPECT_NE(p2pTransport.send.setup, p2pTransport.recv.setup);
    EXPECT_NE(p2pTransport.send.connect, p2pTransport.recv.connect);
}

TEST(NetTransportTable, refuses_missing_arguments) {
    ncclPeerInfo info{};
    for (const ncclTransportComm* half : {&net_transport.send, &net_transport.recv}) {
        EXPECT_NE(half->setup(nullptr, nullptr, &info, &info, nullptr, nullptr, 0), ncclSuccess);
        EXPECT_NE(half->connect(nullptr, nullptr, 1, 0, nullptr), ncclSuccess);
        EXPECT_NE(half->proxy(nullptr), ncclSuccess);
        EXPECT_NE(half->allocRequest(nullptr), ncclSuccess);
        EXPECT_NE(half->freeRequest(nullptr), ncclSuccess);
        EXPECT_EQ(half->free(nullptr), ncclSuccess);
    }
}

}  // namespace
}  // namespace duofi::p2p::test
