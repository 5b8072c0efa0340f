// An endpoint on the fake provider, its lock held so that the service thread stays away.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "common/ofi/endpoint.hpp"
#include "tests/support/fake_fabric.hpp"
#include "tests/unit/ofi/core/packet_text.hpp"
#include "tests/unit/util/log_lines.hpp"

namespace duofi::test {

/// Records what a comm hears about its peer.
class FakeUser final : public ofi::PeerUser {
  public:
    void on_peer_lost() noexcept override { ++lost; }
    [[nodiscard]] bool waiting() const noexcept override { return waits; }
    void on_tick(Nanoseconds now) noexcept override {
        ++ticks;
        last_tick = now;
    }
    int lost = 0;
    int ticks = 0;
    Nanoseconds last_tick = 0;
    bool waits = false;
};

/// Records messages to a port; keeps their packets on demand.
class FakeOwner final : public ofi::PortOwner {
  public:
    void on_message(const ofi::Message& message) noexcept override {
        headers.push_back(message.header);
        payloads.emplace_back(message.payload.begin(), message.payload.end());
        if (!retain) return;
        ofi::Endpoint::retain_packet(message.packet);
        kept.push_back({message.packet, message.payload});
    }
    struct Kept {
        ofi::RxPacket* packet;
        std::span<const std::byte> payload;
    };
    std::vector<ofi::MessageHeader> headers;
    std::vector<Bytes> payloads;
    std::vector<Kept> kept;
    bool retain = false;
};

class EndpointTest : public testing::Test {
  protected:
    static constexpr std::uint64_t kRemote = 1000;

    void open() { open(fabric_.device()); }
    void open(ofi::DeviceInfo device) {
        device_ = std::move(device);
        auto domain = ofi::Domain::open(device_, settings_);
        ASSERT_TRUE(domain);
        auto endpoint = ofi::Endpoint::open(std::move(*domain));
        ASSERT_TRUE(endpoint);
        endpoint_ = std::move(*endpoint);
        lock_ = std::unique_lock(endpoint_->mutex());
        fake_ = &fabric_.endpoint();
    }
    /// Closes the endpoint; returns how long that took.
    Nanoseconds close() {
        lock_ = {};
        const Nanoseconds start = now_ns();
        endpoint_.reset();
        return now_ns() - start;
    }
    void TearDown() override {
        if (!endpoint_) return;
        answer_goodbyes();
        close();
    }
    /// Every remote has closed before, so that closing waits for nobody.
    void answer_goodbyes() {
        fake_->refuse_sends(0);
        fake_->refuse_receives(0);
        fake_->hold_sends(false);
        fake_->complete_sends();
        for (const std::uint64_t number : remotes_) say(ofi::MessageKind::goodbye, number);
        for (int i = 0; i < 8; ++i) endpoint_->poll();
    }

    ofi::Peer& peer(std::uint64_t number = kRemote) {
        ofi::Peer* found = endpoint_->acquire_peer(fake_name(number));
        EXPECT_NE(found, nullptr);
        found->packet_limit = 1 << 16;  // it posts buffers that are no smaller than ours
        remotes_.push_back(number);
        return *found;
    }
    /// The remote with this number says something about itself.
    void say(ofi::MessageKind kind, std::uint64_t number = kRemote) {
        fake_->deliver(PacketText().add(kind, fake_name(number)).bytes());
    }
    /// One eager message with a payload of `bytes`, each of which is the low byte of `value`.
    bool send(ofi::Peer& to, std::uint64_t value, std::size_t bytes = 16) {
        ofi::MessageHeader header;
        header.kind = static_cast<std::uint16_t>(ofi::MessageKind::net_eager);
        header.port = 1;
        header.value = value;
        const Bytes payload(bytes, static_cast<std::byte>(value & 0xff));
        return endpoint_->send_message(to, header, payload);
    }
    void poll(int times = 1) {
        for (int i = 0; i < times; ++i) endpoint_->poll();
    }

    FakeFabric fabric_;
    LogLines log_;
    Settings settings_;
    ofi::DeviceInfo device_;
    std::shared_ptr<ofi::Endpoint> endpoint_;
    std::unique_lock<Mutex> lock_;
    FakeEndpoint* fake_ = nullptr;
    std::vector<std::uint64_t> remotes_;
};

}  // namespace duofi::test
