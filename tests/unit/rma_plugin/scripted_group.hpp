// A group over the fake provider; every packet of its other ranks is written by the test. There is no service thread:
// nothing moves but what the test moves. Main thread of a test.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "rma_plugin/entry.hpp"
#include "rma_plugin/group.hpp"
#include "rma_plugin/instance.hpp"
#include "rma_plugin/listen_comm.hpp"
#include "tests/support/fake_fabric.hpp"
#include "tests/support/failure.hpp"
#include "tests/unit/ofi/core/packet_text.hpp"
#include "tests/unit/util/log_lines.hpp"

namespace duofi::rma::unit {

using duofi::test::Bytes;
using duofi::test::SaidMessage;
using ofi::MessageKind;

class ScriptedGroup : public ::testing::Test {
  protected:
    static constexpr std::uint32_t kOwn = 1;
    static constexpr std::uint32_t kRanks = 3;
    static constexpr std::uint32_t kLow = 0;   ///< the other ranks
    static constexpr std::uint32_t kHigh = 2;
    static constexpr std::size_t kBytes = 4096;  ///< of the window `memory` on every rank

    [[nodiscard]] static std::uint64_t number(std::uint32_t rank) { return 1000 + rank; }

    /// Endpoint and listen comm, with the settings of the test. The others' handles are made up.
    void listen();
    /// The rank introduces itself at our listen port. `agreement` of our own kind unless given.
    void introduce(std::uint32_t rank, std::optional<std::uint64_t> agreement = {});
    /// What all ranks have to agree on (docs/rma-protocol.md).
    [[nodiscard]] std::uint64_t agreement() const;
    [[nodiscard]] Result<std::unique_ptr<Group>> connect() { return Group::connect(*listener, handles, kOwn); }
    /// All of it: connected, with one context and the window `memory`.
    void join();
    /// The others leave, so that closing waits for nobody.
    void TearDown() override;

    /// A message of the rank to our group arrives (with the next poll).
    void say(std::uint32_t rank, MessageKind kind, std::uint32_t word = 0, std::uint64_t value = 0,
             std::span<const std::byte> payload = {});
    [[nodiscard]] Bytes packet_of(std::uint32_t rank, MessageKind kind, std::uint32_t word = 0, std::uint64_t value = 0,
                                  std::span<const std::byte> payload = {}) const;
    void say_signal(std::uint32_t rank, const Window& window, std::uint64_t offset, const SignalBody& body);
    /// What we said to the rank, of one kind, in order.
    [[nodiscard]] std::vector<SaidMessage> said(std::uint32_t rank, MessageKind kind) const;
    /// Place of the packet with the `index`-th of them among all that the provider took.
    [[nodiscard]] std::size_t place_of(std::uint32_t rank, MessageKind kind, std::size_t index = 0) const;
    void poll(int times = 1);

    /// The others take part in every registration with these parts.
    void answer_registrations();
    /// The answer to what we say to a rank: packets of that rank (packet_of).
    using Answer = std::function<std::vector<Bytes>(std::uint32_t rank, const SaidMessage& message)>;
    void answer(Answer script);
    /// Where our group listens, if the test wants to know before connect returns.
    void learn_port(std::uint32_t port) { port_ = port; }
    [[nodiscard]] WindowPart part_of(std::uint32_t rank, std::size_t length) const;
    /// Registers through the table's call; NULL with `result` if that failed.
    void* reg(void* data, std::size_t size, std::uint64_t flags = 0);
    [[nodiscard]] static Window& window(void* mhandle) { return *find_object<Window>(mhandle); }

    /// Data calls on `context`, from the start of `memory` or to it. NULL with `result` if refused.
    Request* put(std::uint32_t rank, std::size_t size, std::uint64_t to = 0) {
        return data_call([&](void** out) {
            return iput(caller(), 0, 0, memory, size, to, memory, rank, 0, out);
        });
    }
    Request* put_signal(std::uint32_t rank, std::size_t size, std::uint64_t word = 0, std::uint64_t value = 1) {
        return data_call([&](void** out) {
            return iput_signal(caller(), 0, 0, memory, size, 64, memory, rank, word, memory, value, 2, true, 0, out);
        });
    }
    Request* get(std::uint32_t rank, std::size_t size, std::uint64_t from = 0) {
        return data_call([&](void** out) {
            return iget(caller(), 0, from, memory, size, 0, memory, rank, 0, out);
        });
    }
    [[nodiscard]] void* caller() const { return context->handle; }

    struct Outcome {
        ncclResult_t result;
        int done;
        friend bool operator==(const Outcome&, const Outcome&) = default;
        friend std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
            return out << "result " << outcome.result << " done " << outcome.done;
        }
    };
    static constexpr Outcome kDone{ncclSuccess, 1};
    static constexpr Outcome kNotYet{ncclSuccess, 0};
    static constexpr Outcome kLost{ncclRemoteError, 0};
    static constexpr Outcome kStale{ncclInvalidArgument, 0};
    /// The table's test, which polls.
    [[nodiscard]] Outcome ask(Request* request);
    [[nodiscard]] bool last_error(const Context& of) const;
    /// The rank is as good as ever: a put with a signal to it gets done.
    void expect_works(std::uint32_t rank);

    duofi::test::FakeFabric fabric;
    duofi::test::LogLines log{duofi::log::Level::info};
    Settings settings;
    ofi::DeviceInfo info;
    std::shared_ptr<ofi::Endpoint> endpoint;
    duofi::test::FakeEndpoint* fake = nullptr;
    Instance instance;
    std::optional<ListenComm> listener;
    std::vector<ofi::ListenHandle> handles;
    std::unique_ptr<Group> group;
    Context* context = nullptr;
    alignas(64) std::byte bytes[kBytes] = {};
    void* memory = nullptr;  ///< mhandle of `bytes`
    ncclResult_t result = ncclSuccess;
    int mr_mode = 0;
    bool confirms_writes = false;  ///< of the device; set before join

  private:
    Request* data_call(const std::function<ncclResult_t(void**)>& call);
    [[nodiscard]] std::uint32_t group_port() const;

    std::uint32_t port_ = 0;
};

}  // namespace duofi::rma::unit
