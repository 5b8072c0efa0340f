// Lines that callers print while they look for plugins, word for word (net
// contract 1.2, 1.4, 1.6, 1.7; rma contract 1.1 to 1.3), in the wording of the release that is
// imitated.
#pragma once

namespace duofi::messages {

// Reading the list.
inline constexpr char kSetByEnvironment[] = "{} set by environment to {}";
inline constexpr char kListTooLong[] = "{} list contains more than {} plugins, ignoring the rest";
inline constexpr char kNameTooLong[] =
    "{} list contains a plugin name {} longer than {} characters, ignoring it.";

// Opening, releases up to 2.20.
inline constexpr char kOldNameSetByEnv[] = "Plugin name set by env to {}";
inline constexpr char kOldNotFound[] =
    "NET/Plugin : dlerror={} No plugin found ({}), using internal implementation";
inline constexpr char kOldLoadReturned[] = "NET/Plugin : Plugin load returned {} : {}.";
// 2.21.
inline constexpr char kLoadReturnedWhenLoading[] =
    "NET/Plugin: Plugin load returned {} : {} : when loading {}";
inline constexpr char kUsingInternalNetwork[] = "NET/Plugin: Using internal network plugin.";
// 2.21 to 2.27.
inline constexpr char kNameSetByEnv[] = "{}/Plugin: Plugin name set by env to {}";
inline constexpr char kLoaderError[] = "{}/Plugin: {}";
// 2.28 and later.
inline constexpr char kNamedLoaderError[] = "{}/Plugin: {}: {}";
inline constexpr char kCouldNotFind[] = "{}/Plugin: Could not find:{}{}";

// Looking for the table.
inline constexpr char kFailedToFindSymbol[] = "NET/Plugin: Failed to find {}_v{} symbol.";
inline constexpr char kFailedToFindAny[] =
    "NET/Plugin: Failed to find {} symbol (>= v5). {} symbols v4 and lower are not supported.";
inline constexpr char kFailedToFindOld[] = "NET/Plugin: Failed to find {} symbol (v4 or v5).";
inline constexpr char kLoadedTable[] = "{}/Plugin: Loaded {} plugin {} (v{})";
inline constexpr char kNetUnsupported[] = "External network plugin {} is unsupported";
inline constexpr char kNetLoadedExternal[] = "Successfully loaded external plugin {}";
inline constexpr char kNetLoadedExternalNetwork[] =
    "Successfully loaded external network plugin {}";
inline constexpr char kRmaLoadedExternal[] = "RMA/Plugin: Successfully loaded external plugin {}";
inline constexpr char kRmaLoadFailed[] =
    "RMA/Plugin: Failed to load external plugin {}, dlHandle: {}, ncclRma: {}";
inline constexpr char kRmaNone[] = "RMA/Plugin: Failed to initialize any plugin";

// Life cycle.
inline constexpr char kNetInitialized[] = "Initialized NET plugin {}";
inline constexpr char kNetInitFailed[] = "Failed to initialize NET plugin {}";
inline constexpr char kNetAssigned[] = "Assigned NET plugin {} to comm";
inline constexpr char kDisablingOthers[] = "Disabling external plugins: {}";
inline constexpr char kUnloading[] = "Unloading plugin {}";
inline constexpr char kClosingNet[] = "NET/Plugin: Closing net plugin '{}'";
inline constexpr char kNetNone[] = "Failed to initialize any NET plugin";
inline constexpr char kNetworkNotFound[] = "Error: network {} not found.";
inline constexpr char kUnpackDevice[] = "Using NCCL_NET_DEVICE_UNPACK net plugin version {}";
inline constexpr char kUnpackVersion[] =
    "NCCL_DEVICE_UNPACK plugin has incompatible version {}, this NCCL build is compatible with {}, "
    "not using it";
inline constexpr char kUnknownDevice[] = "Unknown device code index {}";

// libnccom.
inline constexpr char kForkSafe[] =
    "Linux kernel {}.{} requires setting FI_EFA_FORK_SAFE=1 environment variable.  Multi-node "
    "support "
    "will be disabled.\nPlease restart with FI_EFA_FORK_SAFE=1 set.";
inline constexpr char kNccomLoad[] = "NET/Plugin: libnccom-net.so load returned {}";
inline constexpr char kNccomSymbol[] = "Failed to find ncclNetPlugin_v6 symbol.";
inline constexpr char kNccomInit[] = "OFI plugin initNet() failed is EFA enabled?";

}  // namespace duofi::messages
