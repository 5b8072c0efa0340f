// Fabric, domain and registered memory (fi_fabric(3), fi_domain(3), fi_mr(3)). Any thread.
#pragma once

#include <rdma/fi_domain.h>

#include <atomic>
#include <map>
#include <shared_mutex>

#include "sim_fabric/fid_ops.hpp"
#include "sim_fabric/personality.hpp"

namespace duofi::sim {

class Domain;

class MemoryRegion : public fid_mr {
  public:
  private:
    friend class Domain;
    MemoryRegion(Domain& domain, const fi_mr_attr& attributes);
    static int close(Fid* object);
    static int bind(Fid* object, Fid* to, std::uint64_t flags);
    static int control(Fid* object, int command, void* argument);

    Domain& domain_;
    std::uintptr_t base_;
    std::size_t length_;
    std::uint64_t access_;
    std::atomic<Fid*> endpoint_{nullptr};  ///< FI_MR_ENDPOINT
    std::atomic<bool> enabled_{false};
};

class Domain : public fid_domain {
  public:
    [[nodiscard]] static int open(fid_fabric* fabric, fi_info* info, fid_domain** domain, void* context);

    [[nodiscard]] unsigned nic() const noexcept { return nic_; }
    /// The descriptor lets local operations use the bytes at this moment (FI_MR_LOCAL); any does where none is needed.
    [[nodiscard]] bool allows(const void* descriptor, const void* data, std::size_t bytes);
    [[nodiscard]] bool bound_to_endpoints() const noexcept { return (mr_mode_ & FI_MR_ENDPOINT) != 0; }

    /// Calls `use` with the memory that peers name, which stays registered meanwhile. False: no such memory, or not for
    /// that access, or through that endpoint.
    template <typename Use>
    [[nodiscard]] bool with_memory(std::uint64_t key, std::uint64_t address, std::size_t bytes, std::uint64_t access,
                                   const Fid* endpoint, Use&& use) {
        const std::shared_lock lock(mutex_);
        std::byte* memory = find(key, address, bytes, access, endpoint);
        if (memory == nullptr) return false;
        use(memory);
        return true;
    }

    void add_object() noexcept { objects_.fetch_add(1, std::memory_order_relaxed); }
    void remove_object() noexcept { objects_.fetch_sub(1, std::memory_order_relaxed); }

  private:
    friend class MemoryRegion;
    explicit Domain(const fi_info& info);
    static int close(Fid* object);
    static int register_attributes(Fid* object, const fi_mr_attr* attributes, std::uint64_t flags, fid_mr** region);
    static int register_buffer(Fid* object, const void* data, std::size_t bytes, std::uint64_t access, std::uint64_t offset,
                               std::uint64_t key, std::uint64_t flags, fid_mr** region, void* context);
    static int query_atomic(fid_domain* domain, fi_datatype datatype, fi_op op, fi_atomic_attr* attributes,
                            std::uint64_t flags);
    [[nodiscard]] int add(MemoryRegion& region, std::uint64_t requested_key);
    void remove(MemoryRegion& region);
    [[nodiscard]] std::byte* find(std::uint64_t key, std::uint64_t address, std::size_t bytes, std::uint64_t access,
                                  const Fid* endpoint) const;

    std::uint64_t mr_mode_;
    std::size_t key_bytes_;
    unsigned nic_;
    std::atomic<int> objects_{0};
    std::shared_mutex mutex_;
    std::map<std::uint64_t, MemoryRegion*> regions_;
    std::uint64_t made_keys_ = 0;
};

/// fi_fabric().
[[nodiscard]] int open_fabric(fi_fabric_attr* attributes, fid_fabric** fabric, void* context);

}  // namespace duofi::sim
