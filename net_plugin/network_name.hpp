// The name by which users select the network (architecture 2): `duofi`, or the alias that NCCL_NET asks for.
#pragma once

namespace duofi::net {

inline constexpr char kNetworkName[] = "duofi";

/// kNetworkName, or the spelling in NCCL_NET if that is one of the names we answer to (any case): OFI, Libfabric,
/// AWS Libfabric. Static storage. Called once at load time.
[[nodiscard]] const char* network_name() noexcept;

}  // namespace duofi::net
