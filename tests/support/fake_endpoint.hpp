// The endpoint of the provider in fake_fabric.hpp: follows a test's script, records what was asked of it. Any
// thread.
#pragma once

#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "common/ofi/endpoint_name.hpp"

namespace duofi::test {

class FakeFabric;

/// Address of the fake endpoint or scripted remote with this number, 8 bytes.
[[nodiscard]] ofi::EndpointName fake_name(std::uint64_t number);

/// One send as the provider saw it.
struct FakeSend {
    std::uint64_t remote = 0;  ///< number behind the destination address
    std::vector<std::byte> bytes;
    void* context = nullptr;
    void* descriptor = nullptr;
    bool tagged = false;
    std::uint64_t tag = 0;
    std::size_t place = 0;  ///< among all sends and transfers that this endpoint's provider took
};

/// One one-sided transfer as the provider saw it.
struct FakeTransfer {
    bool read = false;
    std::uint64_t remote = 0;  ///< number behind the other side's address
    std::byte* data = nullptr;
    std::size_t size = 0;  ///< bytes
    void* descriptor = nullptr;
    std::uint64_t address = 0;
    std::uint64_t key = 0;
    void* context = nullptr;
    std::size_t place = 0;  ///< as of FakeSend
    bool confirmed = false;  ///< FI_DELIVERY_COMPLETE was asked for
};

/// One open endpoint with its completion queue. Sends to the number of another open endpoint arrive there,
/// all others are only recorded.
class FakeEndpoint {
  public:
    static constexpr int kForEver = -1;

    // --- script ---
    /// The next `count` sends (kForEver: all) return `code` and leave no trace.
    void refuse_sends(int count, ssize_t code = -FI_EAGAIN);
    /// The same for posting receives.
    void refuse_receives(int count, ssize_t code = -FI_EAGAIN);
    /// Sends stay in flight until complete_send; without it they complete at once.
    void hold_sends(bool hold);
    /// Completes the `index`-th send in flight; `error` != 0 is given as an error completion, with its sign.
    void complete_send(std::size_t index, int error = 0);
    void complete_sends();
    /// A packet from the wire fills the oldest posted receive, or waits for one. Longer than the receive:
    /// an error completion with FI_ETRUNC.
    void deliver(std::span<const std::byte> packet);
    /// Error completion for the oldest posted receive, or tagged receive.
    void fail_receive(int error);
    void fail_tagged_receive(int error);
    /// The next reads of the error entry find nothing.
    void hide_error_entries(int count);
    /// The same three for one-sided transfers. No byte moves: a test that wants to see a read writes its result.
    void refuse_transfers(int count, ssize_t code = -FI_EAGAIN);
    void hold_transfers(bool hold);
    void complete_transfer(std::size_t index, int error = 0);
    void complete_transfers();
    /// What the other sides answer: called with each packet that is taken, gives the packets that arrive in return.
    /// Must not call back here.
    using Answer = std::function<std::vector<std::vector<std::byte>>(const FakeSend& send)>;
    void answer_sends(Answer answer);

    // --- record ---
    [[nodiscard]] std::vector<FakeSend> sent() const;
    [[nodiscard]] std::size_t sent_count() const;
    /// Calls of fi_send and fi_tsend, refused ones too.
    [[nodiscard]] std::size_t send_attempts() const;
    [[nodiscard]] std::size_t in_flight() const;
    [[nodiscard]] std::size_t posted_receives() const;
    [[nodiscard]] std::size_t posted_tagged_receives() const;
    [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
    [[nodiscard]] std::vector<FakeTransfer> transfers() const;
    /// Calls of fi_write and fi_read, refused ones too.
    [[nodiscard]] std::size_t transfer_attempts() const;
    [[nodiscard]] std::size_t transfers_in_flight() const;
    void forget_sent();
    void forget_transfers();

  private:
    friend class FakeFabric;
    friend struct FakeOperations;
    struct Receive {
        std::byte* data;
        std::size_t size;
        void* context;
    };
    struct TaggedReceive {
        std::uint64_t tag;
        void* context;
    };
    struct Event {
        void* context;
        std::uint64_t flags;
        std::size_t length;
        std::uint64_t tag;
        int error;
    };
    explicit FakeEndpoint(FakeFabric& fabric, std::uint64_t number)
        : fabric_(fabric), number_(number) {}
    // The calls of libfabric, and what they lead to; the provider's lock is held.
    ssize_t post_send(FakeSend send);
    ssize_t post_receive(const Receive& receive);
    ssize_t post_tagged_receive(const TaggedReceive& receive);
    ssize_t post_transfer(FakeTransfer transfer);
    ssize_t cancel(void* context);
    ssize_t read(fi_cq_tagged_entry* out, std::size_t count);
    ssize_t read_error(fi_cq_err_entry& out);
    [[nodiscard]] ssize_t refuse_receive();
    void finish_send(std::size_t index, int error);
    void finish_tagged_receive(std::size_t index, int error);
    void finish_transfer(std::size_t index, int error);
    void arrive();

    FakeFabric& fabric_;
    std::uint64_t number_;
    bool open_ = true;
    int send_refusals_ = 0, receive_refusals_ = 0, hidden_errors_ = 0;
    ssize_t send_code_ = 0, receive_code_ = 0;
    bool hold_ = false;
    std::size_t attempts_ = 0;
    std::vector<FakeSend> sent_;
    std::vector<FakeSend> in_flight_;
    int transfer_refusals_ = 0;
    ssize_t transfer_code_ = 0;
    bool hold_transfers_ = false;
    std::size_t transfer_attempts_ = 0;
    std::size_t taken_ = 0;
    std::vector<FakeTransfer> transfers_;
    std::vector<FakeTransfer> transfers_in_flight_;
    Answer answer_;
    std::vector<Receive> receives_;
    std::vector<TaggedReceive> tagged_receives_;
    std::vector<std::vector<std::byte>> inbox_;
    std::vector<Event> events_;
};

}  // namespace duofi::test
