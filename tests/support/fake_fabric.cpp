#include "tests/support/fake_fabric.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "common/ofi/fid.hpp"

namespace duofi::test {

namespace {

FakeFabric* g_fabric = nullptr;

}  // namespace

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

void FakeFabric::fail_next(const std::string& call, int code, int times) {
    const std::scoped_lock lock(mutex_);
    failures_[call] = {code, times};
}

int FakeFabric::take_failure(const std::string& call) {
    const auto found = failures_.find(call);
    if (found == failures_.end()) return 0;
    const int code = found->second.code;
    if (--found->second.times == 0) failures_.erase(found);
    return code;
}

void FakeFabric::close(const std::string& kind) {
    --open_[kind];
    closed_.push_back(kind);
}

void FakeFabric::pass_on(const FakeSend& send) {
    for (auto& endpoint : endpoints_) {
        if (!endpoint->open_ || endpoint->number_ != send.remote) continue;
        endpoint->inbox_.push_back(send.bytes);
        endpoint->arrive();
    }
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
