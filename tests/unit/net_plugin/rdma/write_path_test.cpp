// Large messages by writes over one and several rails (net contract 5.4, 5.5; T11, T20).
// Units: net_plugin/rdma/write_path, net_plugin/rdma/write_probe, net_plugin/comms/rails.
#include <algorithm>
#include <thread>

#include "net_plugin/rdma/write_probe.hpp"
#include "tests/unit/net_plugin/rdma/rdma_side.hpp"

namespace duofi::net::comm_test {
namespace {

class WritePath : public OverRails {};

TEST_P(WritePath, moves_every_size_over_all_rails) {
    open([](Settings& settings) { settings.min_stripe_size = 4096; });
    Buffer out(*link.send.get(), 1 << 20), in(*link.recv.get(), 1 << 20);
    out.fill(7);
    for (const std::size_t size : {8193, 12287, 12288, 12289, 16385, 65537, 1 << 20}) {
        std::fill(in.bytes.begin(), in.bytes.end(), static_cast<unsigned char>(0xcc));
        Request* receive = receive_into(in, in.bytes.size(), 1);
        (void)finish(send_from(out, size, 1));
        EXPECT_EQ(finish(receive).sizes, std::vector<int>{static_cast<int>(size)});
        EXPECT_TRUE(std::equal(out.bytes.begin(), out.bytes.begin() + size, in.bytes.begin())) << size;
        EXPECT_TRUE(std::all_of(in.bytes.begin() + size, in.bytes.end(), [](auto b) { return b == 0xcc; })) << size;
    }
    EXPECT_TRUE(log->all().empty()) << log->dump();
}

TEST_P(WritePath, a_message_is_cut_to_its_receive) {
    open();
    Buffer out(*link.send.get(), 100000), in(*link.recv.get(), 100000);
    for (const std::size_t room : {std::size_t{0}, std::size_t{1}, std::size_t{8192}, std::size_t{99999}}) {
        std::fill(in.bytes.begin(), in.bytes.end(), static_cast<unsigned char>(0xcc));
        Request* receive = receive_into(in, room, 1);
        EXPECT_EQ(finish({send_from(out, 100000, 1), receive})[1].sizes, std::vector<int>{static_cast<int>(room)});
        EXPECT_EQ(in.bytes[room], 0xcc) << room;
    }
}

// More messages than sequence numbers while two receives, of other tags, stay announced: their numbers are passed over.
TEST_P(WritePath, sequence_numbers_go_around_those_in_use) {
    open([](Settings& settings) {
        settings.eager_max_size = 8;
        settings.stall_seconds = 3600;   // two receives wait for as long as this test takes
    });
    constexpr int kAtOnce = 16, kMessages = 17000 / kAtOnce * kAtOnce;
    Buffer out(*link.send.get(), 64 * kAtOnce), in(*link.recv.get(), 64 * (kAtOnce + 2));
    Request* waiting[] = {receive(*link.recv.get(), {in.part(64 * kAtOnce, 64, 5)}),
                          receive(*link.recv.get(), {in.part(64 * kAtOnce + 64, 64, 6)})};
    for (int i = 0; i < kMessages; i += kAtOnce) {
        std::vector<Request*> requests;
        for (int k = 0; k < kAtOnce; ++k) {
            requests.push_back(receive(*link.recv.get(), {in.part(64 * k, 64, 1)}));
            out.bytes[64 * k] = static_cast<unsigned char>(i + k);
            out.bytes[64 * k + 63] = static_cast<unsigned char>((i + k) >> 8);
            requests.push_back(*link.send->isend(out.bytes.data() + 64 * k, 64, 1, out.memory()));
        }
        (void)finish(requests);
        for (int k = 0; k < kAtOnce; ++k) {
            ASSERT_EQ(in.bytes[64 * k] | in.bytes[64 * k + 63] << 8, (i + k) & 0xffff);
        }
    }
    EXPECT_EQ(finish({send_from(out, 60, 6), waiting[1]})[1].sizes, std::vector<int>{60});
    EXPECT_EQ(finish({send_from(out, 50, 5), waiting[0]})[1].sizes, std::vector<int>{50});
    EXPECT_TRUE(log->all().empty()) << log->dump();
}

TEST_P(WritePath, memory_may_be_deregistered_while_its_transfer_is_under_way) {
    open();
    Buffer out(*link.send.get(), 1 << 20), in(*link.recv.get(), 1 << 20);
    out.fill(3);
    Request* receive = receive_into(in, in.bytes.size(), 1);
    in.drop();
    Request* sent = send_from(out, out.bytes.size(), 1);
    out.drop();
    (void)finish({receive, sent});
    EXPECT_EQ(in.bytes, out.bytes);
}

// Other memory may get the address of what is deregistered while its transfer still holds the registration.
TEST_P(WritePath, a_registration_that_only_a_transfer_holds_is_shared_with_nobody) {
    open();
    Buffer in(*link.recv.get(), 100000);
    (void)receive_into(in, in.bytes.size(), 1);
    const std::size_t one = b->ofi().domain().registrations();
    in.drop();
    EXPECT_EQ(b->ofi().domain().registrations(), one) << "the receive holds it";
    void* again = *link.recv->register_memory(in.bytes.data(), in.bytes.size());
    EXPECT_EQ(b->ofi().domain().registrations(), 2 * one);
    EXPECT_TRUE(drop_memory_handle(again));
    EXPECT_EQ(b->ofi().domain().registrations(), one);
}

// The table of keys is looked up for each write that comes (quirk guards_keys).
TEST_P(WritePath, registrations_beside_traffic_lose_no_write) {
    open();
    Buffer out(*link.send.get(), 1 << 18), in(*link.recv.get(), 1 << 18);
    std::vector<std::jthread> others;
    for (unsigned first = 0; first < 2; ++first) {
        others.emplace_back([&, first](const std::stop_token& done) {
            std::vector<std::vector<unsigned char>> memory(64);
            std::vector<void*> handles;
            for (auto& bytes : memory) bytes.resize(4096);
            for (unsigned turn = first; !done.stop_requested(); ++turn) {
                for (auto& bytes : memory) handles.push_back(*link.recv->register_memory(bytes.data(), bytes.size()));
                std::rotate(handles.begin(), handles.begin() + turn % handles.size(), handles.end());
                for (void* handle : handles) EXPECT_TRUE(drop_memory_handle(handle));
                handles.clear();
            }
        });
    }
    for (int i = 0; i < 2000 && !HasFailure(); ++i) {
        Request* receive = receive_into(in, in.bytes.size(), 1);
        (void)finish({send_from(out, 20000, 1), receive});
    }
    others.clear();
    EXPECT_TRUE(log->all().empty()) << log->dump();
}

TEST_P(WritePath, a_receive_needs_registered_memory) {
    open();
    std::vector<unsigned char> in(100);
    const RecvBuffer unknown{in.data(), in.size(), 1, nullptr};
    const auto refused = link.recv->irecv(&unknown, 1);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::invalid_argument);
    EXPECT_EQ(log->with("irecv").size(), 1u) << log->dump();
    const RecvBuffer empty{nullptr, 0, 1, nullptr};
    EXPECT_TRUE(link.recv->irecv(&empty, 1)) << "nothing is written into no bytes";
}

TEST_P(WritePath, sides_of_different_counts_use_the_smaller_one) {
    const RailCase one{GetParam().provider, 1}, own = GetParam();
    for (const auto& [from, to] : {std::pair{own, one}, {one, own}, {own, {own.provider, own.rails / 2 + 1}}}) {
        log.reset();
        log.emplace(duofi::log::Level::info);
        a.emplace(rails_of(from), [](Settings& settings) { settings.min_stripe_size = 4096; });
        b.emplace(rails_of(to), [](Settings& settings) { settings.min_stripe_size = 4096; });
        link = connect(*a, *b);
        Buffer out(*link.send.get(), 1 << 18), in(*link.recv.get(), 1 << 18);
        out.fill(9);
        Request* receive = receive_into(in, in.bytes.size(), 1);
        (void)finish({send_from(out, out.bytes.size(), 1), receive});
        EXPECT_EQ(in.bytes, out.bytes);
        link = {};
        const auto [fewer, more] = std::minmax(from.rails, to.rails);
        const std::string told = "over " + std::to_string(fewer) + " of its " + std::to_string(more) + " rails";
        EXPECT_EQ(log->with(told).size(), fewer == more ? 0u : 1u) << log->dump();
    }
}

TEST_P(WritePath, sides_of_different_protocols_refuse_each_other) {
    Side writes(rails_of(GetParam())), tags(GetParam().provider);
    for (auto [from, to] : {std::pair{&writes, &tags}, {&tags, &writes}}) {
        Listener listener = listen_on(*to);
        FabricEndpoint& endpoint = from->take();
        SendComm* attempt = nullptr;
        Errc code{};
        until("a refusal", [&] {
            const auto progress = endpoint.connect(listener.handle, attempt);
            if (progress) attempt = progress->comm;
            if (!progress) code = progress.error().code;
            to->poll();
            return !progress;
        });
        endpoint.release();
        EXPECT_EQ(code, Errc::remote);
    }
    EXPECT_EQ(log->with("another protocol").size(), 2u) << log->dump();
}

TEST_P(WritePath, the_probe_of_init_passes_and_leaves_nothing) {
    Side side(rails_of(GetParam()));
    FabricEndpoint& endpoint = side.take();
    const std::size_t before = side.ofi().domain().registrations();
    EXPECT_TRUE(probe_writes(endpoint));
    EXPECT_EQ(side.ofi().domain().registrations(), before);
    endpoint.release();
}

DUOFI_OVER_RAILS(WritePath);

}  // namespace
}  // namespace duofi::net::comm_test
