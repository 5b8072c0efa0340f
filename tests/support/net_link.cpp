#include "tests/support/net_link.hpp"

#include <memory>
#include <utility>

namespace duofi::test {

int device_of(const Rank& rank, const Net& net, int k) {
    const int count = net.devices();
    require(count > 0, "no device");
    const int dev = k % count;
    return rank.index % 2 == 0 ? dev : count - 1 - dev;
}

Link finish_link(Connecting& connecting, const Listener& listener) {
    Link link;
    const Deadline deadline(kStepPatience);
    while (!link.send || !link.recv) {
        if (!link.send) {
            if (auto comm = connecting.poll()) link.send = std::move(*comm);
        }
        if (!link.recv) {
            if (auto comm = poll_accept(listener)) link.recv = std::move(*comm);
        }
        require(!deadline.passed(), "connect {} accept {}", link.send ? "done" : "pending",
                link.recv ? "done" : "pending");
        relax();
    }
    return link;
}

Link connect_link(Rank& rank, const Net& net, int send_to, int device) {
    rank.step("link");
    const int dev = device_of(rank, net, device);
    Listener listener = open_listener(net, dev);
    const std::vector<Handle> handles = rank.all_gather(listener.handle);
    Connecting connecting(net, dev, handles[static_cast<std::size_t>(send_to)]);
    Link link = finish_link(connecting, listener);
    listener.comm.close();
    return link;
}

Link connect_pair(Rank& rank, const Net& net, int device) {
    return connect_link(rank, net, partner_of(rank), device);
}

std::vector<Link> connect_mesh(Rank& rank, const Net& net) {
    rank.step("mesh");
    const auto count = static_cast<std::size_t>(rank.count);
    const auto self = static_cast<std::size_t>(rank.index);
    using Handles = std::array<Handle, RankChannel::kMaxRanks>;
    auto mine = std::make_unique<Handles>();
    std::vector<Listener> listeners;
    for (std::size_t p = 0; p < count; ++p) {
        listeners.push_back(open_listener(net, device_of(rank, net, 0)));
        (*mine)[p] = listeners[p].handle;
    }
    const std::vector<Handles> all = rank.all_gather(*mine);
    std::vector<Connecting> connects;
    for (std::size_t p = 0; p < count; ++p)
        connects.emplace_back(net, device_of(rank, net, 0), all[p][self]);
    std::vector<Link> links(count);
    const Deadline deadline(kStepPatience);
    for (std::size_t open = 2 * count; open > 0;) {
        for (std::size_t p = 0; p < count; ++p) {
            if (!links[p].send) {
                if (auto comm = connects[p].poll()) links[p].send = std::move(*comm), --open;
            }
            if (!links[p].recv) {
                if (auto comm = poll_accept(listeners[p])) links[p].recv = std::move(*comm), --open;
            }
        }
        require(!deadline.passed(), "{} of {} connects and accepts are pending", open, 2 * count);
        relax();
    }
    for (Listener& listener : listeners) listener.comm.close();
    return links;
}

}  // namespace duofi::test
