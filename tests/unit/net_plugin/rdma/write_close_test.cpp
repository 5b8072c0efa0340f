// The ends of connections whose large messages are writes: memory stays registered as long as somebody may write into it,
// neighbours go on (net contract 3.7, 5.5; T16).
// Units: net_plugin/rdma/late_writes.
#include <future>
#include <thread>

#include "tests/unit/net_plugin/rdma/rdma_side.hpp"

namespace duofi::net::comm_test {
namespace {

constexpr std::size_t kBytes = 1 << 20;
constexpr Nanoseconds kCloseBound = patience(kSecond);

class WriteClose : public OverRails {};

/// Keeps the service thread from moving an endpoint: another thread holds its lock.
class Silence {
  public:
    explicit Silence(ofi::Endpoint& endpoint)
        : holder_([this, &endpoint] {
              const std::scoped_lock lock(endpoint.mutex());
              held_.set_value();
              over_.get_future().wait();
          }) {
        held_.get_future().wait();
    }
    ~Silence() {
        over_.set_value();
        holder_.join();
    }
    Silence(const Silence&) = delete;
    Silence& operator=(const Silence&) = delete;

  private:
    std::promise<void> held_, over_;
    std::thread holder_;  // last: it uses the others
};

TEST_P(WriteClose, of_either_end_under_traffic_leaves_another_connection_alone) {
    for (const bool sender_first : {true, false}) {
        open();
        Link other = connect(*a, *b);
        Buffer out(*link.send.get(), kBytes), in(*link.recv.get(), kBytes), got(*other.recv.get(), kBytes);
        out.fill(1);
        for (int i = 0; i < 16; ++i) {
            (void)send_from(out, kBytes, 1);
            (void)receive_into(in, kBytes, 1);
        }
        a->poll();
        const Nanoseconds sender = sender_first ? link.send.close() : 0;
        EXPECT_LE(link.recv.close(), kCloseBound);
        in.drop();
        std::fill(in.bytes.begin(), in.bytes.end(), static_cast<unsigned char>(0xcc));
        EXPECT_LE(sender + link.send.close(), kCloseBound);
        const auto sent = other.send->isend(out.bytes.data(), kBytes, 1, out.memory());
        (void)finish({*sent, receive(*other.recv.get(), {got.part(0, kBytes, 1)})});
        EXPECT_EQ(got.bytes, out.bytes);
        EXPECT_TRUE(std::all_of(in.bytes.begin(), in.bytes.end(), [](auto b) { return b == 0xcc; })) << "written after the close";
    }
    EXPECT_TRUE(log->all().empty()) << log->dump();
}

// Nobody moves the sender: it does not say that it is done, and the memory stays registered until it does.
TEST_P(WriteClose, of_a_receiver_whose_sender_is_silent_keeps_the_memory) {
    open();
    Buffer in(*link.recv.get(), kBytes);
    (void)receive_into(in, kBytes, 1);
    b->poll();
    in.drop();
    EXPECT_EQ(b->ofi().domain().registrations(), 1u) << "held by the receive";
    {
        const Silence silence(a->ofi());
        EXPECT_LE(link.recv.close(), kCloseBound);
        EXPECT_EQ(b->ofi().domain().registrations(), 1u) << "its sender may still write";
    }
    until("the memory is free", [&] {
        a->poll();
        b->poll();
        return b->ofi().domain().registrations() == 0;
    });
    EXPECT_TRUE(log->all().empty()) << log->dump();
}

// The provider still reads what it could not write yet; shm writes it all by itself.
TEST_P(WriteClose, of_a_sender_keeps_the_memory_that_is_still_written) {
    open();
    constexpr int kMessages = 32;
    Buffer out(*link.send.get(), kBytes), in(*link.recv.get(), kBytes);
    for (int i = 0; i < kMessages; ++i) (void)receive_into(in, kBytes, 1);
    b->poll();
    {
        const Silence silence(b->ofi());
        for (int i = 0; i < kMessages; ++i) (void)send_from(out, kBytes, 1);
        a->poll();
        out.drop();
        EXPECT_LE(link.send.close(), kCloseBound);
        if (GetParam().provider == std::string_view("net")) {
            EXPECT_EQ(a->ofi().domain().registrations(), 1u) << "it is still read";
        }
    }
    const std::shared_ptr<ofi::Domain> domain = a->ofi().domain().shared_from_this();
    EXPECT_LE(link.recv.close(), kCloseBound);
    a.reset();
    EXPECT_EQ(domain->registrations(), 0u);
    EXPECT_TRUE(log->all().empty()) << log->dump();
}

// Whether the sender has said it by then or not.
TEST_P(WriteClose, of_everything_behind_such_a_receiver_leaves_nothing) {
    open();
    std::shared_ptr<ofi::Domain> domain = b->ofi().domain().shared_from_this();
    {
        Buffer in(*link.recv.get(), kBytes);
        (void)receive_into(in, kBytes, 1);
        b->poll();
        in.drop();
        const Silence silence(a->ofi());
        EXPECT_LE(link.recv.close(), kCloseBound);
    }
    b.reset();
    EXPECT_EQ(domain->registrations(), 0u);
}

// What the receiver got is no failure of the send, though it closes at once; what it did not ask for is.
TEST_P(WriteClose, of_the_receiver_fails_only_what_had_not_left) {
    open();
    Buffer out(*link.send.get(), kBytes), in(*link.recv.get(), kBytes);
    Request* received = receive_into(in, kBytes, 1);
    Request* sent = send_from(out, kBytes, 1);
    Request* unasked = send_from(out, kBytes, 1);
    until("the data", [&] {
        a->poll();
        b->poll();
        return !received->pending();
    });
    (void)finish(received);
    link.recv.close();
    EXPECT_EQ(finish(sent).result, ncclSuccess);
    EXPECT_EQ(finish(unasked).result, ncclRemoteError);
    EXPECT_FALSE(link.send->isend(out.bytes.data(), 1, 1, out.memory()));
}

// The receiver closes as soon as it is there, while the sender still reaches for the other rails.
TEST_P(WriteClose, of_a_receiver_right_behind_the_connection_is_told) {
    for (int turn = 0; turn < 5; ++turn) {
        a.emplace(rails_of(GetParam()));
        b.emplace(rails_of(GetParam()));
        Listener listener = listen_on(*b);
        FabricEndpoint& endpoint = a->take();
        SendComm* attempt = nullptr;
        bool closed = false;
        until("a connection", [&] {
            const auto step = endpoint.connect(listener.handle, attempt);
            if (step) attempt = step->comm;
            if (!closed) {
                Owned<RecvComm> received = accept_one(*listener.comm.get());
                closed = received.get() != nullptr;
            }
            return closed && step && step->ready;
        });
        Owned<SendComm> sender(attempt);
        Buffer out(*sender.get(), kBytes);
        const auto sent = sender->isend(out.bytes.data(), kBytes, 1, out.memory());
        EXPECT_TRUE(!sent || *sent == nullptr || finish(*sent).result == ncclRemoteError) << turn;
    }
}

// The last of many writes may be behind the sender's close.
TEST_P(WriteClose, of_the_sender_does_not_overtake_its_writes) {
    open();
    Buffer out(*link.send.get(), kBytes), in(*link.recv.get(), kBytes);
    out.fill(4);
    std::vector<Request*> receives, sends;
    for (int i = 0; i < 8; ++i) receives.push_back(receive_into(in, kBytes, 1));
    Request* never = receive_into(in, kBytes, 1);
    for (int i = 0; i < 8; ++i) sends.push_back(send_from(out, kBytes, 1));
    (void)finish(sends);
    link.send.close();
    for (const Outcome& end : finish(receives)) EXPECT_EQ(end.result, ncclSuccess);
    EXPECT_EQ(finish(never).result, ncclRemoteError);
    EXPECT_EQ(in.bytes, out.bytes);
}

DUOFI_OVER_RAILS(WriteClose);

}  // namespace
}  // namespace duofi::net::comm_test
