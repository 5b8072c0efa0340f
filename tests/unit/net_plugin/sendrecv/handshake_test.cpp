// Connecting: refusals with their reason, deadlines, hostile requests (net contract 3.2).
#include "tests/unit/net_plugin/sendrecv/wire_node.hpp"

namespace duofi::net::comm_test {
namespace {

class Handshake : public OverProvider {
  protected:
    /// Connects from `side` until it is over; the error code, or 0.
    Errc connect_error(Side& side, const Handle& handle,
                       const std::function<void()>& meanwhile = {}) {
        FabricEndpoint& endpoint = side.take();
        SendComm* attempt = nullptr;
        Errc code{};
        until("connect to end", [&] {
            if (meanwhile) meanwhile();
            const auto step = endpoint.connect(handle, attempt);
            if (!step) {
                code = step.error().code;
                endpoint.release();
                return true;
            }
            attempt = step->comm;
            if (step->ready) close(attempt);
            return step->ready;
        });
        return code;
    }
    std::uint32_t refusal(WireLink& link) {
        return link.wait_for(MessageKind::refuse)[0].header.word;
    }
};

TEST_P(Handshake, a_closed_listen_comm_refuses) {
    Side a(GetParam()), b(GetParam());
    Listener listener = listen_on(b);
    listener.comm.close();
    EXPECT_EQ(connect_error(a, listener.handle, [&] { b.poll(); }), Errc::remote);
    EXPECT_EQ(log.with("nobody listens at this handle any more").size(), 1u) << log.dump();
}

TEST_P(Handshake, a_listen_comm_that_closes_refuses_who_waits) {
    Side side(GetParam());
    WireNode node(GetParam());
    Listener listener = listen_on(side);
    WireLink link(node);
    link.ask(listener.handle);
    for (int i = 0; i < 2000; ++i) {
        node.poll();
        side.poll();
    }
    listener.comm.close();
    const std::uint32_t reason = refusal(link);
    EXPECT_TRUE(reason == static_cast<std::uint32_t>(ofi::RefuseReason::closed) ||
                reason == static_cast<std::uint32_t>(ofi::RefuseReason::not_listening));
}

TEST_P(Handshake, a_handle_of_another_life_is_refused) {
    Side a(GetParam()), b(GetParam());
    Listener listener = listen_on(b);
    listener.handle.nonce[3] ^= std::byte{1};
    EXPECT_EQ(connect_error(a, listener.handle, [&] { b.poll(); }), Errc::remote);
    EXPECT_EQ(log.with("the handle belongs to another listen comm").size(), 1u) << log.dump();
}

TEST_P(Handshake, hostile_requests_are_refused_or_ignored) {
    Side side(GetParam());
    WireNode node(GetParam());
    Listener listener = listen_on(side);
    WireLink wrong_version(node), wrong_nonce(node);
    wrong_version.ask(listener.handle, [](ofi::Hello& h) { h.version = 9; });
    wrong_nonce.ask(listener.handle, [](ofi::Hello& h) { h.nonce[0] ^= std::byte{1}; });
    EXPECT_EQ(refusal(wrong_version), static_cast<std::uint32_t>(ofi::RefuseReason::wrong_version));
    EXPECT_EQ(refusal(wrong_nonce), static_cast<std::uint32_t>(ofi::RefuseReason::wrong_nonce));
    EXPECT_EQ(*listener.comm->accept(), nullptr) << "nobody with the right handle has asked";
    WireLink good(node);
    good.ask(listener.handle);
    Owned<RecvComm> comm = accept_one(*listener.comm.get());
    EXPECT_TRUE(good.wait_for(MessageKind::refuse, 0).empty());
    (void)good.wait_for(MessageKind::welcome);
}

TEST_P(Handshake, a_welcome_of_another_version_or_nonce_is_a_refusal) {
    Side side(GetParam());
    WireNode node(GetParam());
    const std::pair<const char*, std::function<void(ofi::Welcome&)>> spoils[] = {
        {"the other side speaks another protocol version", [](ofi::Welcome& w) { w.version = 3; }},
        {"the handle belongs to another listen comm",
         [](ofi::Welcome& w) { w.nonce[15] ^= std::byte{4}; }},
    };
    for (const auto& [text, spoil] : spoils) {
        WireLink link(node);
        bool answered = false;
        const Handle handle = link.handle(GetParam());
        EXPECT_EQ(connect_error(side, handle,
                                [&] {
                                    if (answered || link.all(MessageKind::hello).empty()) return;
                                    link.answer(8192, 64, spoil);
                                    answered = true;
                                }),
                  Errc::remote);
        EXPECT_EQ(log.with(text).size(), 1u) << log.dump();
    }
}

TEST_P(Handshake, an_unknown_reason_of_refusal_is_survived) {
    Side side(GetParam());
    WireNode node(GetParam());
    WireLink link(node);
    bool refused = false;
    const Handle handle = link.handle(GetParam());
    EXPECT_EQ(connect_error(side, handle,
                            [&] {
                                if (refused || link.all(MessageKind::hello).empty()) return;
                                link.refuse(static_cast<ofi::RefuseReason>(777));
                                refused = true;
                            }),
              Errc::remote);
    EXPECT_EQ(log.with("unknown reason").size(), 1u) << log.dump();
}

TEST_P(Handshake, connect_gives_up_at_its_deadline) {
    Side side(GetParam(), [](Settings& settings) { settings.connect_timeout_s = 0.3; });
    WireNode node(GetParam());
    WireLink silent(node);
    const Nanoseconds begin = now_ns();
    EXPECT_EQ(connect_error(side, silent.handle(GetParam()), [&] { node.poll(); }), Errc::remote);
    EXPECT_GE(now_ns() - begin, 300 * kMillisecond);
    EXPECT_LE(now_ns() - begin, patience(3 * kSecond));
    EXPECT_EQ(log.with("connect gave up after 0.3s").size(), 1u) << log.dump();
}

TEST_P(Handshake, no_step_waits_for_the_other_side) {
    Side a(GetParam()), b(GetParam());
    Listener listener = listen_on(b);
    FabricEndpoint& endpoint = a.take();
    SendComm* attempt = nullptr;
    const Nanoseconds begin = now_ns();
    for (int i = 0; i < 20; ++i) {
        const auto step = endpoint.connect(listener.handle, attempt);
        ASSERT_TRUE(step.has_value());
        ASSERT_FALSE(step->ready) << "nobody has accepted";
        attempt = step->comm;
    }
    EXPECT_LE(now_ns() - begin, patience(kSecond));
    EXPECT_LE(close(attempt), patience(kSecond));
}

TEST_P(Handshake, one_listen_comm_serves_many_and_may_close_after_accept) {
    Side a(GetParam()), b(GetParam());
    Listener listener = listen_on(b);
    std::vector<SendComm*> attempts(8, nullptr);
    std::vector<bool> ready(8);
    FabricEndpoint* endpoint = nullptr;
    for (SendComm*& attempt : attempts) {
        endpoint = &a.take();
        attempt = endpoint->connect(listener.handle, nullptr)->comm;
    }
    std::vector<Owned<RecvComm>> accepted;
    for (int i = 0; i < 8; ++i) accepted.push_back(accept_one(*listener.comm.get()));
    listener.comm.close();  // while the senders still ask (net contract 3.2)
    until("all connects", [&] {
        for (std::size_t i = 0; i < 8; ++i)
            if (!ready[i]) ready[i] = endpoint->connect(listener.handle, attempts[i])->ready;
        return std::find(ready.begin(), ready.end(), false) == ready.end();
    });
    const auto out = bytes_of(100, 1);
    std::vector<unsigned char> in(100);
    for (std::size_t i = 0; i < 8; ++i) {
        Owned<SendComm> comm(attempts[i]);
        (void)finish(send(*comm.get(), out.data(), 100, static_cast<int>(i)));
        (void)finish(receive(*accepted[i].get(), in.data(), 100, static_cast<int>(i)));
    }
}

DUOFI_OVER_PROVIDERS(Handshake);

}  // namespace
}  // namespace duofi::net::comm_test
