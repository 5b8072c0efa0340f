#include "tests/support/fake_fabric.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "common/ofi/fid.hpp"

namespace duofi::test {

namespace {

FakeFabric* g_fabric = nullptr;

}  // namespace

ofi::EndpointName fake_name(std::uint64_t number) {
    ofi::EndpointName name;
    std::memcpy(name.bytes.data(), &number, sizeof(number));
    name.length = sizeof(number);
    return name;
}

void FakeEndpoint::refuse_sends(int count, ssize_t code) {
    const std::scoped_lock lock(fabric_.mutex_);
    send_refusals_ = count;
    send_code_ = code;
}

void FakeEndpoint::refuse_receives(int count, ssize_t code) {
    const std::scoped_lock lock(fabric_.mutex_);
    receive_refusals_ = count;
    receive_code_ = code;
}

void FakeEndpoint::hold_sends(bool hold) {
    const std::scoped_lock lock(fabric_.mutex_);
    hold_ = hold;
}

void FakeEndpoint::complete_send(std::size_t index, int error) {
    const std::scoped_lock lock(fabric_.mutex_);
    finish_send(index, error);
}

void FakeEndpoint::complete_sends() {
    const std::scoped_lock lock(fabric_.mutex_);
    while (!in_flight_.empty()) finish_send(0, 0);
}

void FakeEndpoint::deliver(std::span<const std::byte> packet) {
    const std::scoped_lock lock(fabric_.mutex_);
    inbox_.emplace_back(packet.begin(), packet.end());
    arrive();
}

void FakeEndpoint::finish_send(std::size_t index, int error) {
    const FakeSend send = in_flight_.at(index);
    in_flight_.erase(in_flight_.begin() + static_cast<std::ptrdiff_t>(index));
    const std::uint64_t flags = FI_SEND | (send.tagged ? FI_TAGGED : FI_MSG);
    events_.push_back({send.context, flags, 0, 0, error});  // no length, as P2 says
}

void FakeEndpoint::arrive() {
    while (!inbox_.empty() && !receives_.empty()) {
        const std::vector<std::byte> packet = std::move(inbox_.front());
        inbox_.erase(inbox_.begin());
        const Receive receive = receives_.front();
        receives_.erase(receives_.begin());
        const bool fits = packet.size() <= receive.size;
        if (fits && !packet.empty()) std::memcpy(receive.data, packet.data(), packet.size());
        const std::size_t length = fits ? packet.size() : 0;
        events_.push_back({receive.context, FI_RECV | FI_MSG, length, 0, fits ? 0 : FI_ETRUNC});
    }
}

void FakeEndpoint::fail_receive(int error) {
    const std::scoped_lock lock(fabric_.mutex_);
    events_.push_back({receives_.at(0).context, FI_RECV | FI_MSG, 0, 0, error});
    receives_.erase(receives_.begin());
}

void FakeEndpoint::hide_error_entries(int count) {
    const std::scoped_lock lock(fabric_.mutex_);
    hidden_errors_ = count;
}

std::vector<FakeSend> FakeEndpoint::sent() const {
    const std::scoped_lock lock(fabric_.mutex_);
    return sent_;
}

std::size_t FakeEndpoint::sent_count() const {
    const std::scoped_lock lock(fabric_.mutex_);
    return sent_.size();
}

std::size_t FakeEndpoint::send_attempts() const {
    const std::scoped_lock lock(fabric_.mutex_);
    return attempts_;
}

std::size_t FakeEndpoint::in_flight() const {
    const std::scoped_lock lock(fabric_.mutex_);
    return in_flight_.size();
}

std::size_t FakeEndpoint::posted_receives() const {
    const std::scoped_lock lock(fabric_.mutex_);
    return receives_.size();
}

void FakeEndpoint::forget_sent() {
    const std::scoped_lock lock(fabric_.mutex_);
    sent_.clear();
}

FakeFabric* FakeFabric::current() noexcept {
    return g_fabric;
}

FakeFabric::FakeFabric() {
    EXPECT_EQ(g_fabric, nullptr);
    g_fabric = this;
}

FakeFabric::~FakeFabric() {
    EXPECT_EQ(open_objects(), 0) << "objects of the fake provider were left open";
    g_fabric = nullptr;
}

ofi::DeviceInfo FakeFabric::device(int mr_mode, std::size_t receive_queue, std::size_t key_bytes) {
    ofi::InfoPtr info(fi_allocinfo());
    info->domain_attr->mr_mode = mr_mode;
    info->domain_attr->mr_key_size = key_bytes;
    info->domain_attr->av_type = FI_AV_TABLE;
    info->rx_attr->size = receive_queue;
    info->fabric_attr->prov_name = ::strdup(kProvider);
    ofi::DeviceInfo device;
    device.name = "duofi_fake0";
    device.provider = kProvider;
    device.domain_name = "fake0";
    device.info = std::shared_ptr<fi_info>(std::move(info));
    return device;
}

void FakeFabric::fail_next(const std::string& call, int code) {
    const std::scoped_lock lock(mutex_);
    failures_[call] = code;
}

int FakeFabric::take_failure(const std::string& call) {
    const auto found = failures_.find(call);
    if (found == failures_.end()) return 0;
    const int code = found->second;
    failures_.erase(found);
    return code;
}

void FakeFabric::close(const std::string& kind) {
    --open_[kind];
    closed_.push_back(kind);
}

FakeEndpoint& FakeFabric::endpoint() {
    const std::scoped_lock lock(mutex_);
    return *endpoints_.back();
}

int FakeFabric::open_objects(const std::string& kind) const {
    const std::scoped_lock lock(mutex_);
    int count = 0;
    for (const auto& [name, open] : open_)
        if (kind.empty() || kind == name) count += open;
    return count;
}

std::vector<std::string> FakeFabric::closed() const {
    const std::scoped_lock lock(mutex_);
    return closed_;
}

int FakeFabric::inserts() const {
    const std::scoped_lock lock(mutex_);
    return inserts_;
}

int FakeFabric::removes() const {
    const std::scoped_lock lock(mutex_);
    return removes_;
}

int FakeFabric::enabled_regions() const {
    const std::scoped_lock lock(mutex_);
    return enabled_;
}

}  // namespace duofi::test
