#include "tools/duofi/bench_sides.hpp"

#include "common/ofi/discovery.hpp"
#include "common/util/settings.hpp"
#include "tools/duofi/bench_net.hpp"
#include "tools/duofi/bench_raw.hpp"
#include "tools/duofi/bench_raw_one_sided.hpp"

namespace duofi::tool {

Outcome<std::unique_ptr<BenchSides>> BenchSides::open(int rank, PairChannel& channel,
                                                      const BenchMemory& memory,
                                                      BenchResult& result) {
    std::unique_ptr<BenchSides> self(new BenchSides(rank, memory, result));
    if (auto done = self->open_raw(channel); !done) return failed(done.error());
    auto done = result.part == Part::two_sided ? self->open_net(channel) : self->open_rma(channel);
    if (!done) return failed(done.error());
    return self;
}

/// The first device of the common list: the one that the plugin shows as device 0.
Outcome<void> BenchSides::open_raw(PairChannel& channel) {
    const auto settings = load_settings();
    if (!settings) return failed(describe(settings.error()));
    const auto list = ofi::discover(*settings, ofi::tagged_requirements(*settings),
                                    topology::pick_platform(*settings, topology::read_product_name()));
    if (!list || list->devices.empty()) {
        result_.no_device = true;
        return failed("no device of this provider on this machine");
    }
    const ofi::DeviceInfo& device = list->devices.front();
    device_name_ = device.name;
    auto raw = RawEndpoint::open(
        {device.provider, device.domain_name, memory_.tx, memory_.rx, kRawContexts});
    if (!raw) return failed("plain endpoint: " + describe(raw.error()));
    raw_ = std::move(*raw);
    if (auto done = exchange_raw_names(channel); !done)
        return failed("exchange of plain addresses: " + describe(done.error()));
    add<TaggedDriver>(Via::tagged, *raw_);
    add<WriteDriver>(Via::write, *raw_);
    add<RawOneSidedDriver>(Via::raw_put, *raw_, OneSided::put);
    add<RawOneSidedDriver>(Via::raw_put_signal, *raw_, OneSided::put_signal);
    add<RawOneSidedDriver>(Via::raw_get, *raw_, OneSided::get);
    if (rank_ != 0) return {};
    set_text(result_.provider, device.provider.c_str());
    set_text(result_.domain, device.domain_name.c_str());
    result_.delivery = raw_->delivery();
    return {};
}

Status BenchSides::exchange_raw_names(PairChannel& channel) {
    DUOFI_TRY(channel.send(raw_->name()));
    DUOFI_TRY(channel.send_value(raw_->exposed()));
    DUOFI_ASSIGN(const std::vector<std::byte> name, channel.receive(Deadline(kStepLimit)));
    DUOFI_ASSIGN(const RawExposed remote, channel.receive_value<RawExposed>(Deadline(kStepLimit)));
    return raw_->set_peer(name, remote);
}

Outcome<loader::NetClient::Pair> BenchSides::connect_net(const loader::NetClient& client,
                                                         PairChannel& channel) {
    loader::NetHandle own{};
    auto listener = client.listen(0, own);
    if (!listener) return failed(loader::to_string(listener.error()));
    if (auto sent = channel.send_value(own); !sent) return failed(describe(sent.error()));
    auto peer = channel.receive_value<loader::NetHandle>(Deadline(kStepLimit));
    if (!peer) return failed(describe(peer.error()));
    auto pair = client.connect_and_accept(0, *peer, *listener, Deadline(kStepLimit));
    if (!pair) return failed(loader::to_string(pair.error()));
    return std::move(*pair);
}

Outcome<void> BenchSides::open_net(PairChannel& channel) {
    auto net = open_and_init();
    if (!net) return failed(net.error());
    net_.emplace(std::move(*net));
    if (net_->devices < 1) return failed("the plugin shows no device");
    ncclNetProperties_v6_t properties{};
    if (net_->table->getProperties(0, &properties) != ncclSuccess)
        return failed("getProperties of device 0 failed");
    const loader::NetClient client(net_->table);
    auto pair = connect_net(client, channel);
    if (!pair) return failed("connection of the plugin: " + pair.error());
    auto opened = NetDriver::open(net_->table, std::move(*pair), memory_);
    if (!opened) return failed(describe(opened.error()));
    drivers_[static_cast<std::size_t>(Via::net)] = std::move(*opened);
    if (net_->provider != "unknown" && rank_ == 0 && net_->provider != result_.provider.data())
        return failed("the plugin uses provider " + net_->provider + ", not the one measured raw");
    if (rank_ == 0) set_text(result_.protocol, net_->protocol.c_str());
    constexpr int kTableVersion = 6;
    return describe_plugin(properties.name ? properties.name : "", net_->plugin.library_path(),
                           kTableVersion);
}

Outcome<void> BenchSides::open_rma(PairChannel& channel) {
    auto opened = RmaEnd::open(rank_, channel, memory_);
    if (!opened) return failed(opened.error());
    rma_ = std::move(*opened);
    add<RmaDriver>(Via::rma_put, *rma_, OneSided::put);
    add<RmaDriver>(Via::rma_put_signal, *rma_, OneSided::put_signal);
    add<RmaDriver>(Via::rma_get, *rma_, OneSided::get);
    return describe_plugin(rma_->device_name(), rma_->plugin().library,
                           rma_->plugin().table.version());
}

Outcome<void> BenchSides::describe_plugin(const std::string& device, const std::string& library,
                                          int table_version) {
    if (device != device_name_)
        return failed("the plugin uses device " + device + ", " + device_name_ +
                      " is measured raw");
    if (rank_ != 0) return {};
    set_text(result_.device, device.c_str());
    set_text(result_.library, library.c_str());
    result_.table_version = static_cast<std::uint32_t>(table_version);
    return {};
}

}  // namespace duofi::tool
