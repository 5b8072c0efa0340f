#include "tests/unit/ofi/core/packet_text.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace duofi::test {

Bytes bytes_of(std::string_view text) {
    const auto* first = reinterpret_cast<const std::byte*>(text.data());
    return {first, first + text.size()};
}

PacketText& PacketText::add(ofi::MessageKind kind, std::uint32_t port, std::span<const std::byte> payload,
                            std::uint32_t word, std::uint64_t value) {
    const auto number = [&](std::uint64_t n, int size) {
        for (int i = 0; i < size; ++i) bytes_.push_back(static_cast<std::byte>(n >> (8 * i) & 0xff));
    };
    number(static_cast<std::uint16_t>(kind), 2);
    number(0, 2);
    number(payload.size(), 4);
    number(port, 4);
    number(word, 4);
    number(value, 8);
    bytes_.insert(bytes_.end(), payload.begin(), payload.end());
    while (bytes_.size() % 8 != 0) bytes_.push_back(std::byte{0xee});
    return *this;
}

PacketText& PacketText::add(ofi::MessageKind kind, const ofi::EndpointName& speaker) {
    return add(kind, 0, std::as_bytes(std::span(&speaker, 1)));
}

std::vector<SaidMessage> messages_of(std::span<const std::byte> packet) {
    std::vector<SaidMessage> messages;
    while (!packet.empty()) {
        SaidMessage message;
        if (packet.size() < sizeof(message.header)) {
            ADD_FAILURE() << packet.size() << " bytes behind the last message";
            break;
        }
        std::memcpy(&message.header, packet.data(), sizeof(message.header));
        packet = packet.subspan(sizeof(message.header));
        const std::size_t taken = (message.header.length + std::size_t{7}) / 8 * 8;
        if (taken > packet.size()) {
            ADD_FAILURE() << "a message of " << message.header.length << " bytes leaves its packet";
            break;
        }
        message.payload.assign(packet.begin(), packet.begin() + message.header.length);
        packet = packet.subspan(taken);
        messages.push_back(std::move(message));
    }
    return messages;
}

std::vector<SaidMessage> messages_to(const FakeEndpoint& from, std::uint64_t remote) {
    std::vector<SaidMessage> all;
    for (const FakeSend& send : from.sent()) {
        if (send.remote != remote || send.tagged) continue;
        for (SaidMessage& message : messages_of(send.bytes)) all.push_back(std::move(message));
    }
    return all;
}

int count_kind(const FakeEndpoint& from, std::uint64_t remote, ofi::MessageKind kind) {
    int count = 0;
    for (const SaidMessage& message : messages_to(from, remote))
        count += message.header.kind == static_cast<std::uint16_t>(kind);
    return count;
}

std::vector<std::uint64_t> values_to(const FakeEndpoint& from, std::uint64_t remote) {
    std::vector<std::uint64_t> values;
    for (const SaidMessage& message : messages_to(from, remote))
        if (message.header.kind == static_cast<std::uint16_t>(ofi::MessageKind::net_eager))
            values.push_back(message.header.value);
    return values;
}

}  // namespace duofi::test
