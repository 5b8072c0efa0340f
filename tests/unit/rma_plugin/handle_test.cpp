// The 128 bytes of an RMA handle (C-1): a listen handle under a magic of its own, and zeros.
#include "rma_plugin/handle.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace duofi::rma {
namespace {

constexpr std::uint32_t kProvider = 0x1234;

ofi::ListenHandle example() {
    ofi::ListenHandle handle;
    handle.provider = kProvider;
    handle.port = 0x10007;
    handle.nonce.fill(std::byte{0xab});
    handle.name.length = 20;
    for (std::size_t i = 0; i < 20; ++i) handle.name.bytes[i] = static_cast<std::byte>(i + 1);
    return handle;
}

struct Guarded {
    std::byte bytes[kHandleBytes];
    std::byte behind = std::byte{0x5a};
    Guarded() { std::memset(bytes, 0xa5, sizeof(bytes)); }
};

TEST(RmaHandle, writes_all_of_its_128_bytes_and_no_more) {
    Guarded handle;
    write_handle(handle.bytes, example());
    EXPECT_EQ(handle.behind, std::byte{0x5a});
    for (std::size_t i = ofi::kListenHandleBytes; i < kHandleBytes; ++i)
        EXPECT_EQ(handle.bytes[i], std::byte{0}) << i;
    EXPECT_EQ(std::memcmp(handle.bytes, "DUOR", 4), 0) << "net handles begin with another word";
}

TEST(RmaHandle, round_trip) {
    Guarded handle;
    write_handle(handle.bytes, example());
    const auto read = read_handle(handle.bytes, kProvider);
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->port, example().port);
    EXPECT_EQ(read->nonce, example().nonce);
    EXPECT_TRUE(read->name == example().name);
    EXPECT_EQ(read->provider, kProvider);
}

TEST(RmaHandle, refuses_NULL_other_magic_and_other_providers) {
    EXPECT_EQ(read_handle(nullptr, kProvider).error().code, Errc::invalid_argument);
    Guarded handle;
    write_handle(handle.bytes, example());
    EXPECT_EQ(read_handle(handle.bytes, kProvider + 1).error().code, Errc::invalid_usage);
    std::memcpy(handle.bytes, "DUOF", 4);
    EXPECT_EQ(read_handle(handle.bytes, kProvider).error().code, Errc::invalid_argument) << "a net handle";
}

}  // namespace
}  // namespace duofi::rma
