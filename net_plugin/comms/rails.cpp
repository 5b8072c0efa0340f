#include "net_plugin/comms/rails.hpp"

#include "common/util/log.hpp"
#include "common/util/messages/net_init.hpp"
#include "net_plugin/comms/endpoint.hpp"

namespace duofi::net {

bool Rails::join(FabricEndpoint& own, ofi::Peer& first, const ofi::RailNames& names, const HostIdentity& identity,
                 std::size_t packet_bytes) {
    rails_[0] = {&own.ofi(), &first};
    count_ = 1;
    for (std::size_t i = 0; i < names.count; ++i) {
        ofi::Endpoint& endpoint = own.rail(i + 1);
        ofi::Peer* peer = endpoint.acquire_peer(names.names[i]);
        if (peer == nullptr) return false;
        users_[i].follow(*peer, first);
        endpoint.add_user(*peer, users_[i]);
        endpoint.identify(*peer, identity, packet_bytes);
        rails_[count_++] = {&endpoint, peer};
    }
    if (count_ < own.rail_count())
        log::info(log::init | log::net, messages::kFewerRails, own.ofi().domain().device().name, count_, own.rail_count());
    return true;
}

void Rails::leave() noexcept {
    for (std::size_t i = 1; i < count_; ++i) {
        rails_[i].endpoint->remove_user(*rails_[i].peer, users_[i - 1]);
        rails_[i].endpoint->release_peer(rails_[i].peer);
    }
    count_ = 0;
}

}  // namespace duofi::net
