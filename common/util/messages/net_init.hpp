// Texts of net init (net contract 4.1, 4.2, 4.9; user-reports 3.3). Words that users grep for do
// not change. The lines of I7 and I8 are in ofi_discovery.hpp.
#pragma once

namespace duofi::messages {

// I2, I3, I5
inline constexpr char kInitializing[] = "NET/OFI Initializing {} {}";
inline constexpr char kLibfabricVersion[] = "NET/OFI Using Libfabric version {}.{}";
inline constexpr char kPlatform[] = "NET/OFI Plugin selected platform: {}";
inline constexpr char kAwsOptions[] = "NET/OFI Configuring AWS-specific options";
inline constexpr char kProviderFilter[] = "NET/OFI Setting provider_filter to {}";
inline constexpr char kLatency[] = "NET/OFI Internode latency set at {:.1f} us";
inline constexpr char kTopologyFileNotWritten[] =
    "NET/OFI NCCL_TOPO_FILE is not written for instance type {} in this version";

// I6
inline constexpr char kProtocolUser[] = "NET/OFI Using transport protocol {} (user set)";
inline constexpr char kProtocolPlatform[] = "NET/OFI Using transport protocol {} (platform set)";
inline constexpr char kProtocolAutomatic[] = "NET/OFI Using transport protocol {}";
inline constexpr char kProtocolInvalid[] =
    "NET/OFI OFI_NCCL_PROTOCOL set to invalid value {}, accepted: SENDRECV, RDMA";
inline constexpr char kProtocolMissing[] = "NET/OFI OFI_NCCL_PROTOCOL={}: {}, use {}";
inline constexpr char kProtocolMissingNoOther[] =
    "NET/OFI OFI_NCCL_PROTOCOL={}: {}; no other protocol is possible here";
inline constexpr char kPlatformProtocolMissing[] =
    "NET/OFI Protocol {} of this instance type: {}; choosing another one";
inline constexpr char kNoProtocol[] =
    "NET/OFI Unable to find a protocol that worked.  Failing initialization.";

// I9 - I14
inline constexpr char kDomainScope[] = "NET/OFI Creating one domain per {}";
inline constexpr char kProtocolFallback[] = "NET/OFI Protocol {} does not work here, see above; using {}";
inline constexpr char kRailsUnused[] = "NET/OFI {}={} has no effect: {}";
inline constexpr char kRails[] = "NET/OFI Device {}: {} rails over {}, {} Mbit/s";
inline constexpr char kFewerRails[] = "NET/OFI Device {}: a connection over {} of its {} rails, its peer has no more";
inline constexpr char kTopologyNotSet[] =
    "NET/OFI NCCL_TOPO_FILE is set by the user: if it does not show device {} with {} Mbit/s, callers take it for one NIC";
inline constexpr char kNoTree[] =
    "NET/OFI each NIC is a device of its own: the places of this machine's PCI devices cannot be read ({}, error {})";
inline constexpr char kDevicesDiffer[] =
    "NET/OFI the RMA tables were asked for their devices before the network was initialised, and show them for the other protocol: "
    "callers that use both may take the wrong one; initialise the network first, or set OFI_NCCL_PROTOCOL";
inline constexpr char kTooManyRails[] =
    "NET/OFI More than {} NICs are next to one accelerator: set OFI_NCCL_FORCE_NUM_RAILS to the number of rails of a device";
inline constexpr char kWritesNotTold[] =
    "NET/OFI Provider {}: {}. Protocol RDMA cannot run here; set OFI_NCCL_PROTOCOL=SENDRECV";
inline constexpr char kProtocolInitFailed[] = "NET/OFI Failed to initialize {} protocol";
inline constexpr char kSelfTestFailed[] =
    "NET/OFI Self-test of the first device failed: {} ({}, errno {})";
inline constexpr char kGlobalRegistrations[] = "NET/OFI Support for global registrations: {}";
inline constexpr char kDmabufRegistrations[] = "NET/OFI Support for DMA-BUF registrations: {}";
inline constexpr char kDupConnsWithGdr[] =
    "NET/OFI NCCL_OFI_NIC_DUP_CONNS set on platform that supports GPUDirect RDMA.  "
    "This configuration is not supported.";
inline constexpr char kForceSimple[] = "NET/OFI Need to force simple protocol: {} not supported";
inline constexpr char kInitFailed[] = "NET/OFI {} initialization failed";
inline constexpr char kEnvironmentSet[] = "NET/OFI Setting {}={}";
inline constexpr char kInitSummary[] =
    "NET/OFI {} {}: libfabric {}.{} ({}), provider {}, {} devices: {}, table v{}, protocol {}, "
    "settings: {}";

// Registration policy (net contract 4.8)
inline constexpr char kKeySize[] =
    "NET/OFI Provider {} supports MR key size of {}, but {} was requested";

// Endpoint validation (net contract 4.9)
inline constexpr char kGdrRequired[] = "NET/OFI GDR disabled on GDR-supported instance type {}";
inline constexpr char kEmulatedWrite[] =
    "NET/OFI FI_OPT_EFA_EMULATED_WRITE is true when the communication protocol is RDMA write.";
inline constexpr char kEmulatedWriteUnreadable[] =
    "NET/OFI FI_OPT_EFA_EMULATED_WRITE could not be read (rc {}, {} bytes), "
    "OFI_NCCL_DISABLE_NATIVE_RDMA_CHECK=1 skips this check";
inline constexpr char kEndpointOption[] = "NET/OFI Endpoint option {} failed: rc {}";

}  // namespace duofi::messages
