// Addresses of endpoints: as long and as shaped as the personality's, random where a real one is given out by the
// device, so that they are new for each endpoint. And address vectors (fi_av(3)).
#pragma once

#include <rdma/fi_domain.h>

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "sim_fabric/fid_ops.hpp"
#include "sim_fabric/personality.hpp"

namespace duofi::sim {

/// Raw bytes, at most 32.
using Name = std::string;

/// Of a NIC, without an endpoint.
[[nodiscard]] Name wildcard_name(const Personality& personality, unsigned nic);
/// A new one of this NIC. The caller checks that it is free.
[[nodiscard]] Name random_name(const Personality& personality, unsigned nic);
[[nodiscard]] std::size_t name_bytes(const Personality& personality) noexcept;

/// Table of addresses; inserting a known one gives its old number (counted). Any thread.
class AddressVector : public fid_av {
  public:
    [[nodiscard]] static int open(fid_domain* domain, fi_av_attr* attributes, fid_av** av, void* context);

    /// Empty: no such address.
    [[nodiscard]] Name name_of(fi_addr_t address) const;
    /// FI_ADDR_NOTAVAIL: not in the table.
    [[nodiscard]] fi_addr_t find(const Name& name) const;

  private:
    struct Entry {
        Name name;
        unsigned uses = 0;
    };
    AddressVector() : fid_av{} {}
    static int insert(fid_av* av, const void* address, std::size_t count, fi_addr_t* out, std::uint64_t flags, void* context);
    static int remove(fid_av* av, fi_addr_t* addresses, std::size_t count, std::uint64_t flags);
    static const char* straddr(fid_av* av, const void* address, char* text, std::size_t* length);
    static int close(Fid* object);

    mutable std::mutex mutex_;
    std::vector<Entry> entries_;
    std::map<Name, fi_addr_t> numbers_;
};

}  // namespace duofi::sim
