// Two sides of connections in one process, over a real provider, without the module. Main thread of
// a test.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/ofi/device_list.hpp"
#include "common/util/clock.hpp"
#include "common/util/settings.hpp"
#include "net_plugin/request.hpp"
#include "net_plugin/comms/device.hpp"
#include "tests/support/failure.hpp"
#include "tests/unit/util/log_lines.hpp"

namespace duofi::net::comm_test {

using duofi::test::LogLines;
using duofi::test::patience;

inline constexpr Nanoseconds kPatience = patience(20 * kSecond);

/// First device of the provider, nullptr if there is none. Asked once per provider and process.
[[nodiscard]] const ofi::DeviceInfo* find_device(const std::string& provider);

using Adjust = std::function<void(Settings&)>;

/// A device of its own with one endpoint, as a rank has it.
class Side {
  public:
    explicit Side(const std::string& provider, const Adjust& adjust = {}, bool one_sided = false)
        : Side(*find_device(provider), adjust, one_sided) {}
    /// `info` outlives the side.
    explicit Side(const ofi::DeviceInfo& info, const Adjust& adjust = {}, bool one_sided = false);
    /// A device that moves large messages by writes, over these rails.
    explicit Side(ofi::RailInfos rails, const Adjust& adjust = {});
    ~Side() { endpoint_->release(); }
    Side(const Side&) = delete;
    Side& operator=(const Side&) = delete;

    /// With one more reference, for a new comm.
    [[nodiscard]] FabricEndpoint& take();
    [[nodiscard]] ofi::Endpoint& ofi() { return endpoint_->ofi(); }
    [[nodiscard]] const Settings& settings() const { return settings_; }
    /// Large receives that the provider holds.
    [[nodiscard]] std::size_t posted_receives();
    void poll();

  private:
    Settings settings_;
    FabricDevice device_;
    FabricEndpoint* endpoint_ = nullptr;
};

/// Ends a comm as the entries do. Gives the time it took.
Nanoseconds close(Comm* comm);

/// Owns a comm.
template <typename T>
class Owned {
  public:
    Owned() = default;
    explicit Owned(T* comm) : comm_(comm) {}
    Owned(Owned&& other) noexcept : comm_(std::exchange(other.comm_, nullptr)) {}
    Owned& operator=(Owned&& other) noexcept {
        std::swap(comm_, other.comm_);
        return *this;
    }
    ~Owned() { close(); }
    [[nodiscard]] T* operator->() const { return comm_; }
    [[nodiscard]] T* get() const { return comm_; }
    Nanoseconds close() {
        return comm_ != nullptr ? comm_test::close(std::exchange(comm_, nullptr)) : 0;
    }

  private:
    T* comm_ = nullptr;
};

struct Listener {
    Owned<ListenComm> comm;
    Handle handle;
};
[[nodiscard]] Listener listen_on(Side& side);

struct Link {
    Owned<SendComm> send;
    Owned<RecvComm> recv;
};
/// Connects `from` to `to`; throws TestFailure after kPatience.
[[nodiscard]] Link connect(Side& from, Side& to);
/// One accept until there is a comm.
[[nodiscard]] Owned<RecvComm> accept_one(ListenComm& listener);

/// Repeats `step` until it is true; throws TestFailure naming `what` after `limit`.
void until(const char* what, const std::function<bool()>& step, Nanoseconds limit = kPatience);

/// How a request ended.
struct Outcome {
    ncclResult_t result = ncclSuccess;
    std::vector<int> sizes;
};
/// Tests all until each is done or failed, in turn; throws TestFailure after `limit`.
std::vector<Outcome> finish(const std::vector<Request*>& requests, Nanoseconds limit = kPatience);
Outcome finish(Request* request, Nanoseconds limit = kPatience);

/// Posts and expects a request.
[[nodiscard]] Request* send(SendComm& comm, const void* data, std::size_t size, int tag);
[[nodiscard]] Request* receive(RecvComm& comm, void* data, std::size_t size, int tag);
[[nodiscard]] Request* receive(RecvComm& comm, const std::vector<RecvBuffer>& buffers);

/// `size` bytes that depend on `seed`.
[[nodiscard]] std::vector<unsigned char> bytes_of(std::size_t size, unsigned seed);

/// A case per provider; skips when this machine has it not.
class OverProvider : public ::testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        if (find_device(GetParam()) == nullptr)
            GTEST_SKIP() << "no device of provider " << GetParam();
    }
    LogLines log{duofi::log::Level::warn};
};

inline std::string provider_suffix(const ::testing::TestParamInfo<const char*>& info) {
    return info.param;
}

}  // namespace duofi::net::comm_test

#define DUOFI_OVER_PROVIDERS(suite)                                        \
    INSTANTIATE_TEST_SUITE_P(over, suite, ::testing::Values("net", "shm"), \
                             duofi::net::comm_test::provider_suffix)
