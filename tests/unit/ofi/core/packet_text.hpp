// Packets as a peer writes them, and what a packet of ours says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "common/ofi/endpoint_name.hpp"
#include "common/ofi/message.hpp"
#include "tests/support/fake_fabric.hpp"

namespace duofi::test {

using Bytes = std::vector<std::byte>;

[[nodiscard]] Bytes bytes_of(std::string_view text);

/// Builds a packet by hand, independently of the code under test.
class PacketText {
  public:
    PacketText& add(ofi::MessageKind kind, std::uint32_t port, std::span<const std::byte> payload,
                    std::uint32_t word = 0, std::uint64_t value = 0);
    /// A message of the endpoint itself: its payload is the name of the one who speaks.
    PacketText& add(ofi::MessageKind kind, const ofi::EndpointName& speaker);
    [[nodiscard]] const Bytes& bytes() const noexcept { return bytes_; }

  private:
    Bytes bytes_;
};

struct SaidMessage {
    ofi::MessageHeader header;
    Bytes payload;
};

/// The messages of one packet; fails the test when the packet is not made of whole messages.
[[nodiscard]] std::vector<SaidMessage> messages_of(std::span<const std::byte> packet);
/// The messages of all sends to `remote`, in order.
[[nodiscard]] std::vector<SaidMessage> messages_to(const FakeEndpoint& from, std::uint64_t remote);
/// How many of them are of this kind.
[[nodiscard]] int count_kind(const FakeEndpoint& from, std::uint64_t remote, ofi::MessageKind kind);
/// The values of the eager messages among them.
[[nodiscard]] std::vector<std::uint64_t> values_to(const FakeEndpoint& from, std::uint64_t remote);

}  // namespace duofi::test
