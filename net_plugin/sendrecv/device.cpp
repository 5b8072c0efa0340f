#include "net_plugin/sendrecv/device.hpp"

#include <functional>
#include <mutex>
#include <thread>

namespace duofi::net {

namespace {

std::uint64_t thread_key() noexcept { return std::hash<std::thread::id>{}(std::this_thread::get_id()); }

bool works_in_peers_memory(const ofi::DeviceInfo& info) noexcept {
    return ofi::quirk_for(info.provider, fi_version()).same_node_only;
}

// Such a provider has one queue for all receives; the endpoint's packets take at most half of it.
std::size_t most_receives(const ofi::DeviceInfo& info) noexcept {
    return works_in_peers_memory(info) ? info.info->rx_attr->size / 2 : ReceiveBudget::kNoLimit;
}

}  // namespace

Result<std::shared_ptr<ofi::Domain>> SendrecvDevice::get_domain(std::uint64_t key) {
    std::weak_ptr<ofi::Domain>& known = domains_[domain_per_thread_ ? key : 0];
    if (auto domain = known.lock()) return domain;
    constexpr std::uint64_t kLocal = FI_SEND | FI_RECV;
    constexpr std::uint64_t kRemote = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
    DUOFI_ASSIGN(auto domain, ofi::Domain::open(info_, settings_, one_sided_ ? kLocal | kRemote : kLocal));
    known = domain;
    return domain;
}

Result<Endpoint*> SendrecvDevice::get_endpoint() {
    // A provider that works in the peer's memory must not see two endpoints of one process: each could be in the
    // other's memory while that one closes.
    const bool shared = !domain_per_thread_ && (info_.endpoint_cost == ofi::EndpointCost::expensive ||
                                                works_in_peers_memory(info_));
    const std::uint64_t key = shared ? 0 : thread_key();
    const std::scoped_lock lock(mutex_);
    auto it = endpoints_.find(key);
    if (it == endpoints_.end()) {
        DUOFI_ASSIGN(auto domain, get_domain(key));
        DUOFI_ASSIGN(auto opened, ofi::Endpoint::open(std::move(domain), hook_, one_sided_));
        auto made = std::make_unique<SendrecvEndpoint>(*this, key, std::move(opened), most_receives(info_));
        it = endpoints_.emplace(key, std::move(made)).first;
    }
    ++it->second->references_;
    return it->second.get();
}

void SendrecvDevice::add_reference(SendrecvEndpoint& endpoint) {
    const std::scoped_lock lock(mutex_);
    ++endpoint.references_;
}

// Closing an endpoint can take a while and joins the service thread, so it happens outside the lock.
void SendrecvDevice::release(SendrecvEndpoint& endpoint) {
    std::unique_ptr<SendrecvEndpoint> last;
    const std::scoped_lock lock(mutex_);
    if (--endpoint.references_ != 0) return;
    const auto it = endpoints_.find(endpoint.key_);
    last = std::move(it->second);
    endpoints_.erase(it);
}

std::size_t SendrecvDevice::open_endpoints() {
    const std::scoped_lock lock(mutex_);
    return endpoints_.size();
}

}  // namespace duofi::net
