// Endpoints of the provider under test for its self-test, opened through libfabric as a program opens them. The provider
// and its personality come from the environment (FI_PROVIDER_PATH, FI_PROVIDER). One thread per object.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/util/clock.hpp"

namespace duofi::test {

struct FreeInfoList {
    void operator()(fi_info* list) const { fi_freeinfo(list); }
};
using InfoList = std::unique_ptr<fi_info, FreeInfoList>;

/// Hints that every personality can follow.
[[nodiscard]] InfoList full_hints(std::uint64_t caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_SOURCE);
/// Empty when nothing was found (`code`, if given, tells).
[[nodiscard]] InfoList ask(const fi_info* hints, int* code = nullptr);

/// Fabric and domain of the first entry.
class Opened {
  public:
    explicit Opened(const fi_info* hints = nullptr);
    explicit Opened(InfoList info);
    ~Opened();
    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;
    [[nodiscard]] bool has(std::uint64_t mr_bit) const;

    InfoList info;
    fid_fabric* fabric = nullptr;
    fid_domain* domain = nullptr;
};

struct Event {
    fi_cq_tagged_entry entry{};
    fi_addr_t source = FI_ADDR_NOTAVAIL;
    int error = 0, provider_error = 0;
    std::size_t cut_off = 0;
};

/// Registered memory.
class Region {
  public:
    Region(Opened& opened, fid_ep* endpoint, std::size_t bytes, std::uint64_t key);
    ~Region() { close(); }
    Region(const Region&) = delete;
    Region& operator=(const Region&) = delete;
    /// What a peer names to reach `offset`.
    [[nodiscard]] std::uint64_t address(std::size_t offset = 0) const;
    [[nodiscard]] std::uint64_t key() const { return fi_mr_key(mr_); }
    [[nodiscard]] void* descriptor() const { return fi_mr_desc(mr_); }
    void close();

    std::vector<std::uint8_t> bytes;

  private:
    bool virtual_;
    fid_mr* mr_ = nullptr;
};

/// An endpoint with its own queue and address vector.
class End {
  public:
    explicit End(Opened& opened);
    ~End();
    End(const End&) = delete;
    End& operator=(const End&) = delete;
    [[nodiscard]] std::string name() const;
    fi_addr_t insert(const std::string& name);
    /// Closes the endpoint before its queue.
    void close_endpoint();

    /// The next completion or error, if there is one now; drives this end.
    [[nodiscard]] bool poll(Event& event);
    /// The next one; a failed test after ten seconds. Drives the others too.
    Event next(std::vector<End*> others = {});

    Opened& opened;
    fid_ep* ep = nullptr;
    fid_cq* cq = nullptr;
    fid_av* av = nullptr;
};

/// Two endpoints of one domain that know each other, with a region each.
struct Pair {
    explicit Pair(std::size_t bytes = 1 << 16, const fi_info* hints = nullptr);
    Opened opened;
    End a, b;
    fi_addr_t to_a, to_b;
    Region at_a, at_b;
};

/// Calls until it is not -FI_EAGAIN, driving the ends; the last answer.
ssize_t post(const std::function<ssize_t()>& call, std::vector<End*> ends);

[[nodiscard]] std::string provider_under_test();

}  // namespace duofi::test
