#include "net_plugin/comms/device.hpp"

#include <functional>
#include <mutex>
#include <thread>

#include "common/util/scope_exit.hpp"

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

// Rails share none, not on one NIC either: endpoints of one domain that close one after the other are more than tcp's provider
// bears.
Result<std::shared_ptr<ofi::Domain>> FabricDevice::get_domain(std::uint64_t key, std::size_t rail) {
    std::weak_ptr<ofi::Domain>& known = domains_[{domain_per_thread_ ? key : 0, rail}];
    if (auto domain = known.lock()) return domain;
    constexpr std::uint64_t kLocal = FI_SEND | FI_RECV;
    constexpr std::uint64_t kRemote = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
    const bool remote = one_sided_ || protocol_ == ProtocolKind::rdma;
    DUOFI_ASSIGN(auto domain, ofi::Domain::open(*rails_[rail], settings_, remote ? kLocal | kRemote : kLocal));
    known = domain;
    return domain;
}

Result<std::vector<std::shared_ptr<ofi::Endpoint>>> FabricDevice::open_rails(std::uint64_t key) {
    std::vector<std::shared_ptr<ofi::Endpoint>> opened;
    ScopeExit undo([&] {
        while (!opened.empty()) opened.pop_back();
    });
    for (std::size_t rail = 0; rail < rails_.size(); ++rail) {
        DUOFI_ASSIGN(auto domain, get_domain(key, rail));
        ofi::Endpoint* lead = opened.empty() ? nullptr : opened.front().get();
        DUOFI_ASSIGN(auto endpoint, ofi::Endpoint::open(std::move(domain), hook_, one_sided_, lead));
        opened.push_back(std::move(endpoint));
    }
    undo.release();
    return opened;
}

Result<Endpoint*> FabricDevice::get_endpoint() {
    // A provider that works in the peer's memory must not see two endpoints of one process: each could be in the
    // other's memory while that one closes.
    const bool shared = !domain_per_thread_ && (info().endpoint_cost == ofi::EndpointCost::expensive ||
                                                works_in_peers_memory(info()));
    const std::uint64_t key = shared ? 0 : thread_key();
    const std::scoped_lock lock(mutex_);
    auto it = endpoints_.find(key);
    if (it == endpoints_.end()) {
        DUOFI_ASSIGN(auto opened, open_rails(key));
        auto made = std::make_unique<FabricEndpoint>(*this, key, std::move(opened), most_receives(info()));
        it = endpoints_.emplace(key, std::move(made)).first;
    }
    ++it->second->references_;
    return it->second.get();
}

void FabricDevice::add_reference(FabricEndpoint& endpoint) {
    const std::scoped_lock lock(mutex_);
    ++endpoint.references_;
}

// Closing an endpoint can take a while and joins the service thread, so it happens outside the lock.
void FabricDevice::release(FabricEndpoint& endpoint) {
    std::unique_ptr<FabricEndpoint> last;
    const std::scoped_lock lock(mutex_);
    if (--endpoint.references_ != 0) return;
    const auto it = endpoints_.find(endpoint.key_);
    last = std::move(it->second);
    endpoints_.erase(it);
}

std::size_t FabricDevice::open_endpoints() {
    const std::scoped_lock lock(mutex_);
    return endpoints_.size();
}

}  // namespace duofi::net
