#include "net_plugin/sendrecv/late_receives.hpp"

#include <algorithm>

namespace duofi::net {

void LateReceives::expect(std::uint64_t tag, std::size_t size) {
    receives_.emplace_back();
    receives_.back().tag = tag;
    receives_.back().size = size;
}

void LateReceives::start() noexcept {
    endpoint_.ports().hand_over(port_, this);
    ++peer_.references;
    endpoint_.add_user(peer_, *this);
    std::size_t longest = 0;
    for (const Receive& receive : receives_) longest = std::max(longest, receive.size);
    memory_.resize(longest);
    for (Receive& receive : receives_) {
        receive.op.complete = &LateReceives::complete;
        receive.op.owner = this;
        if (endpoint_.post_tagged_receive(peer_, memory_.data(), receive.size, nullptr, receive.tag,
                                          receive.op) != ofi::Posted::yes)
            continue;
        receive.op.posted = true;
        receive.op.budget = &budget_;
        budget_.take_over();
        ++open_;
    }
    if (open_ == 0) finish();
}

void LateReceives::on_message(const ofi::Message& message) noexcept {
    ++peer_.heard;
    if (static_cast<ofi::MessageKind>(message.header.kind) == ofi::MessageKind::net_close) finish();
}

void LateReceives::complete(ofi::Operation& op, const ofi::Completion&) noexcept {
    auto& data = static_cast<ReceiveOperation&>(op);
    auto& self = *static_cast<LateReceives*>(data.owner);
    data.posted = false;
    data.budget->give_back();
    if (--self.open_ == 0) self.finish();
}

// The sender has closed, or will never send again: take the rest back; the last one back ends this object.
void LateReceives::finish() noexcept {
    if (!finished_) {
        finished_ = true;
        endpoint_.remove_user(peer_, *this);
        endpoint_.ports().close(port_);
        for (Receive& receive : receives_)
            if (receive.op.posted) endpoint_.cancel(receive.op);
        endpoint_.release_peer(&peer_);
    }
    if (open_ == 0) endpoint_.disown(*this);
}

}  // namespace duofi::net
