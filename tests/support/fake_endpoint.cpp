#include "tests/support/fake_endpoint.hpp"

#include <cstring>
#include <mutex>
#include <utility>

#include "tests/support/fake_fabric.hpp"

namespace duofi::test {

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

void FakeEndpoint::finish_tagged_receive(std::size_t index, int error) {
    const TaggedReceive receive = tagged_receives_.at(index);
    tagged_receives_.erase(tagged_receives_.begin() + static_cast<std::ptrdiff_t>(index));
    events_.push_back({receive.context, FI_RECV | FI_TAGGED, 0, receive.tag, error});
}

void FakeEndpoint::fail_tagged_receive(int error) {
    const std::scoped_lock lock(fabric_.mutex_);
    finish_tagged_receive(0, error);
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

std::size_t FakeEndpoint::posted_tagged_receives() const {
    const std::scoped_lock lock(fabric_.mutex_);
    return tagged_receives_.size();
}

void FakeEndpoint::forget_sent() {
    const std::scoped_lock lock(fabric_.mutex_);
    sent_.clear();
}

ssize_t FakeEndpoint::post_send(FakeSend send) {
    ++attempts_;
    if (send_refusals_ != 0) {
        if (send_refusals_ > 0) --send_refusals_;
        return send_code_;
    }
    send.place = taken_++;
    sent_.push_back(send);
    if (!send.tagged) fabric_.pass_on(send);
    if (answer_)
        for (std::vector<std::byte>& packet : answer_(send)) inbox_.push_back(std::move(packet));
    in_flight_.push_back(std::move(send));
    if (!hold_) finish_send(0, 0);
    arrive();
    return 0;
}

ssize_t FakeEndpoint::refuse_receive() {
    if (receive_refusals_ == 0) return 0;
    if (receive_refusals_ > 0) --receive_refusals_;
    return receive_code_;
}

ssize_t FakeEndpoint::post_receive(const Receive& receive) {
    if (const ssize_t code = refuse_receive()) return code;
    receives_.push_back(receive);
    arrive();
    return 0;
}

ssize_t FakeEndpoint::post_tagged_receive(const TaggedReceive& receive) {
    if (const ssize_t code = refuse_receive()) return code;
    tagged_receives_.push_back(receive);
    return 0;
}

void FakeEndpoint::refuse_transfers(int count, ssize_t code) {
    const std::scoped_lock lock(fabric_.mutex_);
    transfer_refusals_ = count;
    transfer_code_ = code;
}

void FakeEndpoint::hold_transfers(bool hold) {
    const std::scoped_lock lock(fabric_.mutex_);
    hold_transfers_ = hold;
}

void FakeEndpoint::complete_transfer(std::size_t index, int error) {
    const std::scoped_lock lock(fabric_.mutex_);
    finish_transfer(index, error);
}

void FakeEndpoint::complete_transfers() {
    const std::scoped_lock lock(fabric_.mutex_);
    while (!transfers_in_flight_.empty()) finish_transfer(0, 0);
}

void FakeEndpoint::answer_sends(Answer answer) {
    const std::scoped_lock lock(fabric_.mutex_);
    answer_ = std::move(answer);
}

std::vector<FakeTransfer> FakeEndpoint::transfers() const {
    const std::scoped_lock lock(fabric_.mutex_);
    return transfers_;
}

std::size_t FakeEndpoint::transfer_attempts() const {
    const std::scoped_lock lock(fabric_.mutex_);
    return transfer_attempts_;
}

std::size_t FakeEndpoint::transfers_in_flight() const {
    const std::scoped_lock lock(fabric_.mutex_);
    return transfers_in_flight_.size();
}

void FakeEndpoint::forget_transfers() {
    const std::scoped_lock lock(fabric_.mutex_);
    transfers_.clear();
}

void FakeEndpoint::finish_transfer(std::size_t index, int error) {
    const FakeTransfer transfer = transfers_in_flight_.at(index);
    transfers_in_flight_.erase(transfers_in_flight_.begin() + static_cast<std::ptrdiff_t>(index));
    events_.push_back({transfer.context, FI_RMA | (transfer.read ? FI_READ : FI_WRITE), 0, 0, error});
}

ssize_t FakeEndpoint::post_transfer(FakeTransfer transfer) {
    ++transfer_attempts_;
    if (transfer_refusals_ != 0) {
        if (transfer_refusals_ > 0) --transfer_refusals_;
        return transfer_code_;
    }
    transfer.place = taken_++;
    transfers_.push_back(transfer);
    transfers_in_flight_.push_back(transfer);
    if (!hold_transfers_) finish_transfer(transfers_in_flight_.size() - 1, 0);
    return 0;
}

// What is still posted is reported as cancelled (P12).
ssize_t FakeEndpoint::cancel(void* context) {
    for (std::size_t i = 0; i < in_flight_.size(); ++i) {
        if (in_flight_[i].context != context) continue;
        finish_send(i, FI_ECANCELED);
        return 0;
    }
    for (std::size_t i = 0; i < tagged_receives_.size(); ++i) {
        if (tagged_receives_[i].context != context) continue;
        finish_tagged_receive(i, FI_ECANCELED);
        return 0;
    }
    return -FI_ENOENT;
}

ssize_t FakeEndpoint::read(fi_cq_tagged_entry* out, std::size_t count) {
    if (events_.empty()) return -FI_EAGAIN;
    if (events_.front().error != 0) return -FI_EAVAIL;
    std::size_t filled = 0;
    while (filled < count && filled < events_.size() && events_[filled].error == 0) {
        const Event& event = events_[filled];
        out[filled++] = {event.context, event.flags, event.length, nullptr, 0, event.tag};
    }
    events_.erase(events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(filled));
    return static_cast<ssize_t>(filled);
}

ssize_t FakeEndpoint::read_error(fi_cq_err_entry& out) {
    if (events_.empty() || events_.front().error == 0) return -FI_EAGAIN;
    if (hidden_errors_ > 0) {
        --hidden_errors_;
        return -FI_EAGAIN;
    }
    const Event event = events_.front();
    events_.erase(events_.begin());
    out.op_context = event.context;
    out.flags = event.flags;
    out.err = event.error;
    return 1;
}

}  // namespace duofi::test
