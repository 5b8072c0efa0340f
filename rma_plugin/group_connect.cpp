// Connecting a group: every rank introduces itself at every other rank's listen port and waits for the introductions of
// all (rma contract 5.7). The answer travels to the port that the introduction names.
#include <cstring>

#include "common/util/log.hpp"
#include "common/util/messages/ofi.hpp"
#include "common/util/messages/rma.hpp"
#include "rma_plugin/group.hpp"
#include "rma_plugin/listen_comm.hpp"

namespace duofi::rma {

// What all ranks must say alike: number of ranks, engine, and when an operation counts as done.
std::uint64_t Group::agreement() const noexcept {
    constexpr std::uint64_t kOrderedEngine = 1;
    return static_cast<std::uint64_t>(size()) | kOrderedEngine << 32 |
           static_cast<std::uint64_t>(remote_completion_ ? 1 : 0) << 40;
}

Result<std::unique_ptr<Group>> Group::connect(ListenComm& listener, std::span<const ofi::ListenHandle> handles,
                                              std::uint32_t rank) {
    std::unique_ptr<Group> group(new Group(listener, rank, handles.size()));
    DUOFI_TRY(group->introduce(handles));
    DUOFI_TRY(group->await_hellos(listener, handles));
    const std::scoped_lock lock(group->endpoint_->mutex());
    group->endpoint_->add_passive_target();
    group->connected_ = true;
    return group;
}

Status Group::introduce(std::span<const ofi::ListenHandle> handles) {
    const std::scoped_lock lock(endpoint_->mutex());
    port_ = endpoint_->ports().open(this);
    if (port_ == 0) return fail(Errc::no_memory, "ports");
    ofi::Hello hello;
    hello.port = port_;
    hello.packet_bytes = static_cast<std::uint32_t>(endpoint_->packet_bytes());
    hello.name = endpoint_->name();
    hello.identity = endpoint_->identity();
    for (std::uint32_t rank = 0; rank < size(); ++rank) {
        if (rank == rank_) continue;
        lanes_[rank] = std::make_unique<Lane>(*this, rank);
        DUOFI_TRY(lanes_[rank]->open(handles[rank].name));
        hello.nonce = handles[rank].nonce;
        std::byte bytes[ofi::kMaxHandshakeBytes];
        const std::size_t length = ofi::write_hello(bytes, hello);
        ofi::MessageHeader header;
        header.kind = static_cast<std::uint16_t>(ofi::MessageKind::hello);
        header.port = handles[rank].port;
        header.word = rank_;
        header.value = agreement();
        if (!endpoint_->send_message(*lanes_[rank]->peer(), header, std::span(bytes, length)))
            return fail(Errc::remote, "connect request");
    }
    return {};
}

// A rank that has introduced itself may leave again before we are through: that is for later calls to find out.
Status Group::await_hellos(ListenComm& listener, std::span<const ofi::ListenHandle> handles) {
    const double limit = settings().connect_timeout_s;
    const auto over = [&] {
        return take_hellos(listener, handles) || setup_error_ != Errc{} || unknown_rank_gone();
    };
    (void)wait(over, static_cast<Nanoseconds>(limit * kSecond));
    const std::scoped_lock lock(endpoint_->mutex());
    if (setup_error_ != Errc{}) return fail(setup_error_, "connect");
    std::uint32_t missing = 0, first = 0;
    bool told = false;  // the endpoint has said who is lost
    for_each_lane([&](Lane& lane) {
        if (lane.joined() && !lane.lost()) return;
        if (missing++ == 0) first = lane.rank();
        told = told || lane.peer()->lost;
    });
    if (missing == 0) return {};
    const std::string& device = endpoint_->domain().device().name;
    if (!unknown_rank_gone()) {
        log::warn(log::net, messages::kRmaConnectTimeout, limit, missing, size(), first, device);
        return fail(Errc::timed_out, "connect");
    }
    if (told)
        log::info(log::net, messages::kRmaConnectLost, limit, missing, size(), first, device);
    else
        log::warn(log::net, messages::kRmaConnectLost, limit, missing, size(), first, device);
    return fail(Errc::remote, "connect");
}

// Lock held.
bool Group::unknown_rank_gone() noexcept {
    bool gone = false;
    for_each_lane([&](Lane& lane) { gone = gone || lane.lost() || (lane.gone() && !lane.joined()); });
    return gone;
}

// Lock held. true: every rank has introduced itself.
bool Group::take_hellos(ListenComm& listener, std::span<const ofi::ListenHandle> handles) {
    for (const Introduction& caller : listener.take()) {
        const bool ours = caller.rank < size() && caller.rank != rank_ && caller.hello.name == handles[caller.rank].name;
        if (!ours) {
            log::warn(log::net, messages::kRmaStranger, caller.rank, rank_, size());
            setup_error_ = Errc::invalid_usage;
        } else if (caller.agreement != agreement()) {
            log::warn(log::net, messages::kRmaDisagreement, caller.rank, caller.agreement, rank_, agreement());
            setup_error_ = Errc::invalid_usage;
        } else {
            lanes_[caller.rank]->join(caller.hello);
        }
    }
    bool all = true;
    for_each_lane([&](Lane& lane) { all = all && lane.joined(); });
    return all;
}

void Group::on_refuse(std::uint32_t reason) noexcept {
    if (connected_ || setup_error_ != Errc{}) return;
    log::warn(log::net, messages::kRefused, endpoint_->domain().device().name,
              ofi::to_string(static_cast<ofi::RefuseReason>(reason)));
    setup_error_ = Errc::remote;
}

}  // namespace duofi::rma
