// A protocol that records what the entries ask of it, in order, and answers as a test says. One
// thread.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "common/abi/net_v6.h"
#include "net_plugin/entry.hpp"
#include "net_plugin/properties.hpp"
#include "net_plugin/protocol.hpp"
#include "net_plugin/request.hpp"
#include "tests/unit/util/log_lines.hpp"

extern "C" ncclNet_v6_t ncclNetPlugin_v6;

namespace duofi::net::entry_test {

using duofi::test::LogLines;
using HandleArray = std::array<char, NCCL_NET_HANDLE_MAXSIZE>;

inline constexpr char kFakeProvider[] = "fake";

/// What happened, and how the fake answers.
struct Script {
    std::vector<std::string> calls;
    Errc fail_get_endpoint{};  ///< 0 = succeeds; each of these fails every call while it is set
    bool null_endpoint = false;
    Errc fail_listen{}, fail_connect{}, fail_accept{}, fail_register{}, fail_post{};
    std::string throw_in;   ///< name of the call in which a mutex fails
    int connect_steps = 1;  ///< calls until an attempt is ready
    bool accept_ready = true;
    bool post_full = false;  ///< isend and irecv answer "not now"
    int references = 0;      ///< on the endpoint, held by anybody
    int live_comms = 0;

    void enter(const std::string& name, const std::string& detail = {});
    [[nodiscard]] std::vector<std::string> take() { return std::exchange(calls, {}); }
};

class FakeOwner : public RequestOwner {
  public:
    explicit FakeOwner(Script& script) : script_(script) {}
    void progress(Request& request) override;
    void retire(Request& request) noexcept override;
    [[nodiscard]] ncclResult_t failure() const noexcept override { return failed; }

    ncclResult_t failed = ncclSuccess;
    int progresses_until_done = 0;
    ncclResult_t outcome = ncclSuccess;

  private:
    Script& script_;
};

class FakeEndpoint : public Endpoint {
  public:
    explicit FakeEndpoint(Script& script) : script_(script), owner(script) {}
    Result<ListenComm*> listen(Handle& handle) override;
    Result<ConnectProgress> connect(const Handle& handle, SendComm* attempt) override;
    void add_reference() noexcept override;
    void release() override;
    /// A pending request of a comm of this endpoint, the same each time.
    Request* post(int sizes);

  private:
    Script& script_;

  public:
    FakeOwner owner;
    Request request;
};

class FakeDevice : public Device {
  public:
    FakeDevice(Script& script, FakeEndpoint& endpoint) : script_(script), endpoint_(endpoint) {}
    Result<Endpoint*> get_endpoint() override;
    [[nodiscard]] const DeviceProperties& properties() const noexcept override {
        return properties_;
    }

  private:
    Script& script_;
    FakeEndpoint& endpoint_;
    DeviceProperties properties_;
};

class FakePlugin : public Plugin {
  public:
    FakePlugin() : endpoint(script), device(script, endpoint) {}
    [[nodiscard]] int device_count() const noexcept override { return 1; }
    [[nodiscard]] Device* get_device(int index) noexcept override;

    Script script;
    FakeEndpoint endpoint;
    FakeDevice device;
};

/// Every case of this program: the fake is the plugin, nothing may stay open.
class EntryTest : public ::testing::Test {
  protected:
    EntryTest();
    ~EntryTest() override;

    /// A handle as listen gives it; the calls made for it are forgotten.
    HandleArray listening(void** comm);
    void* connected(HandleArray handle);
    void* accepted(void* listen_comm);
    /// Calls since the last look.
    std::vector<std::string> calls() { return fake.script.take(); }
    /// The texts of all lines since the last look.
    std::vector<std::string> lines();
    static std::vector<std::string> list(std::initializer_list<const char*> texts) {
        return {texts.begin(), texts.end()};
    }

    FakePlugin fake;
    LogLines log;
    const ncclNet_v6_t& table = ncclNetPlugin_v6;

  private:
    std::size_t lines_seen_ = 0;
    std::size_t open_before_ = open_comms();
};

}  // namespace duofi::net::entry_test
