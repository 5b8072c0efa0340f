// Completion queues without wait objects (fi_cq(3)): reading one drives the endpoints that are bound to it. Any thread.
#pragma once

#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>

#include <cstddef>
#include <deque>
#include <mutex>
#include <vector>

#include "common/util/clock.hpp"
#include "sim_fabric/fid_ops.hpp"

namespace duofi::sim {

class Domain;
class Endpoint;

struct Completion {
    fi_cq_tagged_entry entry{};
    fi_addr_t source = FI_ADDR_NOTAVAIL;
    int error = 0, provider_error = 0;  ///< error 0 = success
    std::size_t cut_off = 0;            ///< bytes that did not fit
};

class CompletionQueue : public fid_cq {
  public:
    [[nodiscard]] static int open(fid_domain* domain, fi_cq_attr* attributes, fid_cq** cq, void* context);

    /// Readable from `at` on, 0 = at once.
    void write(const Completion& completion, Nanoseconds at = 0);
    /// No room for what one packet may add: nothing is delivered meanwhile (FI_RM_ENABLED).
    [[nodiscard]] bool full();
    void add(Endpoint& endpoint);
    void remove(Endpoint& endpoint) noexcept;

  private:
    struct Late {
        Completion completion;
        Nanoseconds at;
    };
    CompletionQueue(Domain& domain, const fi_cq_attr& attributes);
    static ssize_t read(fid_cq* cq, void* entries, std::size_t count);
    static ssize_t readfrom(fid_cq* cq, void* entries, std::size_t count, fi_addr_t* sources);
    static ssize_t readerr(fid_cq* cq, fi_cq_err_entry* entry, std::uint64_t flags);
    static const char* strerror(fid_cq* cq, int code, const void* data, char* text, std::size_t length);
    static int close(Fid* object);
    void progress();
    void admit_late();
    [[nodiscard]] ssize_t take(void* entries, std::size_t count, fi_addr_t* sources);

    Domain& domain_;
    const fi_cq_format format_;
    const std::size_t capacity_;
    std::mutex endpoints_mutex_;  ///< taken before the lock of an endpoint, mutex_ after it
    std::vector<Endpoint*> endpoints_;
    std::mutex mutex_;
    std::deque<Completion> ready_;
    std::vector<Late> late_;
};

}  // namespace duofi::sim
