// A libfabric of our own for unit tests: objects with tables of operations that follow a script. Programs that link
// duofi_fake_fabric have fi_fabric wrapped, so that Domain::open gets these objects while a FakeFabric lives; every
// later call goes through their tables. Any thread.
#pragma once

#include <rdma/fabric.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "common/ofi/device_list.hpp"
#include "tests/support/fake_endpoint.hpp"

namespace duofi::test {

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

    /// The next calls of this function ("fi_cq_open", "fi_mr_regattr", "fi_av_insert" ...) fail.
    void fail_next(const std::string& call, int code, int times = 1);

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
    void pass_on(const FakeSend& send);  ///< to the endpoint with that number, if there is one

    mutable std::mutex mutex_;
    struct Failure {
        int code;
        int times;
    };
    std::map<std::string, Failure> failures_;
    std::map<std::string, int> open_;
    std::vector<std::string> closed_;
    std::vector<std::unique_ptr<FakeEndpoint>> endpoints_;
    std::vector<std::uint64_t> addresses_;  ///< address vector: fi_addr_t is the index
    std::set<std::uint64_t> keys_;
    int mr_mode_ = 0;
    int inserts_ = 0, removes_ = 0, enabled_ = 0;
};

}  // namespace duofi::test
