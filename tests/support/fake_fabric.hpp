// A libfabric of our own for unit tests: objects with tables of operations that follow a script. The program
// under test is linked with -Wl,--wrap=fi_fabric, so that Domain::open gets these objects while a FakeFabric
// lives; every later call goes through their tables. Any thread.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "common/ofi/device_list.hpp"
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
    /// Error completion for the oldest posted receive.
    void fail_receive(int error);
    /// The next reads of the error entry find nothing.
    void hide_error_entries(int count);

    // --- record ---
    [[nodiscard]] std::vector<FakeSend> sent() const;
    [[nodiscard]] std::size_t sent_count() const;
    /// Calls of fi_send and fi_tsend, refused ones too.
    [[nodiscard]] std::size_t send_attempts() const;
    [[nodiscard]] std::size_t in_flight() const;
    [[nodiscard]] std::size_t posted_receives() const;
    [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
    void forget_sent();

  private:
    friend class FakeFabric;
    friend struct FakeOperations;
    struct Receive {
        std::byte* data;
        std::size_t size;
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
    void finish_send(std::size_t index, int error);
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
    std::vector<Receive> receives_;
    std::vector<std::vector<std::byte>> inbox_;
    std::vector<Event> events_;
};

/// The provider. One at a time; objects opened through it must be closed before it is destroyed.
class FakeFabric {
  public:
    static constexpr char kProvider[] = "fake";
    /// The one that lives, or nullptr.
    [[nodiscard]] static FakeFabric* current() noexcept;
    FakeFabric();
    ~FakeFabric();
    FakeFabric(const FakeFabric&) = delete;
    FakeFabric& operator=(const FakeFabric&) = delete;

    /// A device of this provider. `mr_mode` are the FI_MR_ bits it grants.
    [[nodiscard]] ofi::DeviceInfo device(int mr_mode = 0, std::size_t receive_queue = 16,
                                         std::size_t key_bytes = 8);

    /// The next call of this function ("fi_cq_open", "fi_mr_regattr", "fi_av_insert" ...) fails.
    void fail_next(const std::string& call, int code);

    /// The endpoint opened last.
    [[nodiscard]] FakeEndpoint& endpoint();

    // --- record ---
    /// Open objects of a kind: "fabric", "domain", "av", "cq", "ep", "mr"; "" = all.
    [[nodiscard]] int open_objects(const std::string& kind = "") const;
    /// Kinds in the order in which they were closed.
    [[nodiscard]] std::vector<std::string> closed() const;
    [[nodiscard]] int inserts() const;
    [[nodiscard]] int removes() const;
    /// Memory regions bound to an endpoint and enabled.
    [[nodiscard]] int enabled_regions() const;

  private:
    friend class FakeEndpoint;
    friend struct FakeOperations;
    int take_failure(const std::string& call);
    void opened(const std::string& kind) { ++open_[kind]; }
    void close(const std::string& kind);

    mutable std::mutex mutex_;
    std::map<std::string, int> failures_;
    std::map<std::string, int> open_;
    std::vector<std::string> closed_;
    std::vector<std::unique_ptr<FakeEndpoint>> endpoints_;
    std::vector<std::uint64_t> addresses_;  ///< address vector: fi_addr_t is the index
    std::set<std::uint64_t> keys_;
    int mr_mode_ = 0;
    int inserts_ = 0, removes_ = 0, enabled_ = 0;
};

}  // namespace duofi::test
