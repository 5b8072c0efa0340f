// Answers of fi_getinfo: the entries of the personality, one per NIC, checked against hints (fi_getinfo(3)). Any thread.
#pragma once

#include <rdma/fabric.h>

#include <cstdint>

#include "sim_fabric/knobs.hpp"

namespace duofi::sim {

/// A new list for the caller (fi_freeinfo), or -FI_ENODATA, -FI_ENOMEM. As fi_provider::getinfo.
[[nodiscard]] int answer_getinfo(std::uint32_t version, const char* node, const char* service, std::uint64_t flags,
                                 const fi_info* hints, fi_info** info);

/// Attributes of one NIC (fi_nic(3)), for the caller.
[[nodiscard]] fid_nic* make_nic(const Personality& is, const Nic& nic, unsigned number);

/// The NIC that a domain name means; 0 when it is none.
[[nodiscard]] unsigned nic_number(const char* domain) noexcept;

/// Memory that libfabric frees, with room for the members that newer versions have added at the end of a structure.
[[nodiscard]] void* allocate_for_library(std::size_t bytes) noexcept;

}  // namespace duofi::sim
