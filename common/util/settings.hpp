// All environment variables of the package: one table, read once at init, passed down as a const object.
// Nothing else in the project reads the environment (settings.cpp is the only file with getenv).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/util/error.hpp"

namespace duofi {

/// Values in force. Defaults are those of net contract section 7 and architecture 4.12.
struct Settings {
    // OFI_NCCL_*: a bad value fails init (-22).
    std::string protocol;                       ///< OFI_NCCL_PROTOCOL: "", "SENDRECV" or "RDMA"
    bool use_ipv6_tcp = false;                  ///< OFI_NCCL_USE_IPV6_TCP
    std::optional<std::string> exclude_tcp_if;  ///< OFI_NCCL_EXCLUDE_TCP_IF; unset = list of report A7
    bool gdr_flush_disable = false;             ///< OFI_NCCL_GDR_FLUSH_DISABLE
    int nic_dup_conns = 0;                      ///< OFI_NCCL_NIC_DUP_CONNS
    std::size_t mr_key_size = 2;                ///< OFI_NCCL_MR_KEY_SIZE, bytes
    bool mr_cache_disable = false;              ///< OFI_NCCL_MR_CACHE_DISABLE
    std::size_t cq_read_count = 4;              ///< OFI_NCCL_CQ_READ_COUNT, completions per read
    std::size_t cq_size = 12288;                ///< OFI_NCCL_CQ_SIZE, entries
    double net_latency_us = 0.0;                ///< OFI_NCCL_NET_LATENCY, us; 0 = platform value
    int eager_max_size = 8192;                  ///< OFI_NCCL_EAGER_MAX_SIZE, bytes; -1 = off
    int eager_min_posted = 64;                  ///< OFI_NCCL_RDMA_MIN_POSTED_EAGER_BUFFERS
    int eager_max_posted = 128;                 ///< OFI_NCCL_RDMA_MAX_POSTED_EAGER_BUFFERS
    std::size_t min_stripe_size = 131072;       ///< OFI_NCCL_MIN_STRIPE_SIZE, bytes
    std::size_t small_message_size = 64;        ///< OFI_NCCL_SCHED_MAX_SMALL_RR_SIZE, bytes
    int force_num_rails = 0;                    ///< OFI_NCCL_FORCE_NUM_RAILS; 0 = as found
    int control_min_posted = 16;                ///< OFI_NCCL_RDMA_MIN_POSTED_CONTROL_BUFFERS
    int control_max_posted = 32;                ///< OFI_NCCL_RDMA_MAX_POSTED_CONTROL_BUFFERS
    bool control_round_robin = true;            ///< OFI_NCCL_RR_CTRL_MSG
    bool low_latency_class = true;              ///< OFI_NCCL_USE_LOW_LATENCY_TC
    std::optional<bool> early_completion;       ///< OFI_NCCL_EARLY_COMPLETION; unset = auto
    int cm_rx_buffers = 32;                     ///< OFI_NCCL_CM_NUM_RX_BUFFERS
    std::string progress_model;                 ///< OFI_NCCL_PROGRESS_MODEL: "", AUTO, MANUAL, UNSPEC
    std::optional<bool> domain_per_thread;      ///< OFI_NCCL_DOMAIN_PER_THREAD; unset/-1 = platform
    bool disable_native_rdma_check = false;     ///< OFI_NCCL_DISABLE_NATIVE_RDMA_CHECK
    bool disable_gdr_required_check = false;    ///< OFI_NCCL_DISABLE_GDR_REQUIRED_CHECK
    bool disable_dmabuf = false;                ///< OFI_NCCL_DISABLE_DMABUF
    bool abort_on_error = false;                ///< OFI_NCCL_ABORT_ON_ERROR
    std::string platform;                       ///< OFI_NCCL_PLATFORM: "", "AWS" or "Default"
    std::string force_product_name;             ///< OFI_NCCL_FORCE_PRODUCT_NAME

    // DUOFI_*: a bad value is a warning and the default; with DUOFI_STRICT=1 it fails init.
    std::string ofi_provider;        ///< DUOFI_OFI_PROVIDER: provider to ask for, "" = preference order
    bool strict = false;             ///< DUOFI_STRICT
    double stall_seconds = 30;       ///< DUOFI_STALL_SECONDS: age of an operation that is reported once
    double peer_timeout_s = 0;       ///< DUOFI_PEER_TIMEOUT: silence that counts as death; 0 = never
    double connect_timeout_s = 60;   ///< DUOFI_CONNECT_TIMEOUT
    int tcp_rails = 1;               ///< DUOFI_NET_TCP_RAILS
    std::optional<bool> rma;         ///< DUOFI_RMA; unset = when NCCL_RMA_PLUGIN names this package
    std::string rma_engine;          ///< DUOFI_RMA_ENGINE: "" or "ordered"
    std::string rma_completion = "remote";  ///< DUOFI_RMA_COMPLETION: "remote" or "local"
    std::size_t rma_segment = 0;     ///< DUOFI_RMA_SEGMENT, bytes; 0 = the provider's largest message
    bool p2p_compat = false;         ///< DUOFI_P2P_COMPAT: exactly what the Neuron library does
    bool p2p_self = false;           ///< DUOFI_P2P_SELF: connectors of a rank to itself
    bool p2p_blob_trailer = true;    ///< DUOFI_P2P_BLOB_TRAILER
    bool p2p_debug_sizes = false;    ///< DUOFI_P2P_DEBUG_SIZES: kernels check the size of each step
    int p2p_channels = 1;            ///< DUOFI_P2P_CHANNELS
    int p2p_spin = -1;               ///< DUOFI_P2P_SPIN: looks before a yield; -1 = by load, 0 = never
    double p2p_timeout_s = 0;        ///< DUOFI_P2P_TIMEOUT: longest wait of a kernel; 0 = none
    std::string p2p_runtime = "host";///< DUOFI_P2P_RUNTIME: what P2P memory and devices are
    std::string p2p_sim;             ///< DUOFI_P2P_SIM: devices and faults of the runtime "sim"
    std::string p2p_host_devices;    ///< DUOFI_P2P_HOST_DEVICES: NUMA nodes of the devices, "" = one per node
    std::string p2p_fd_socket_dir;   ///< DUOFI_P2P_FD_SOCKET_DIR; "" = abstract addresses
    bool p2p_huge_pages = false;     ///< DUOFI_P2P_HUGE_PAGES
    bool p2p_pods = false;           ///< DUOFI_P2P_PODS: P2P between servers of one pod
    bool p2p_prefer_net = false;     ///< DUOFI_P2P_PREFER_NET: no P2P where the network is wider
    std::string cuda_library;        ///< DUOFI_CUDA_LIBRARY: file of the CUDA driver, "" = the usual names
    std::string hip_library;         ///< DUOFI_HIP_LIBRARY: the same for the HIP runtime
    std::string neuron_library;      ///< DUOFI_NEURON_LIBRARY: the same for the Neuron runtime

    // Owned by others, read by us.
    std::string fi_provider;    ///< FI_PROVIDER
    std::string nccl_net;       ///< NCCL_NET
    std::string nccl_net_plugin;///< NCCL_NET_PLUGIN
    std::string nccl_rma_plugin;///< NCCL_RMA_PLUGIN
    std::string nccl_debug;     ///< NCCL_DEBUG
    bool nccl_proto_set = false;///< NCCL_PROTO is present
    std::string nccl_topo_file;     ///< NCCL_TOPO_FILE: description of the machine
    std::string nccl_topo_dump_file;///< NCCL_TOPO_DUMP_FILE
    std::string nccl_hostid;            ///< NCCL_HOSTID
    std::string nccl_buffsize;          ///< NCCL_BUFFSIZE, bytes
    std::string nccl_ll_buffsize;       ///< NCCL_LL_BUFFSIZE, bytes
    std::string nccl_ll128_buffsize;    ///< NCCL_LL128_BUFFSIZE, bytes
    std::string nccl_p2p_disable;       ///< NCCL_P2P_DISABLE
    std::string nccl_p2p_direct_disable;///< NCCL_P2P_DIRECT_DISABLE
    std::string nccl_p2p_read_enable;   ///< NCCL_P2P_READ_ENABLE
    std::string nccl_p2p_level;         ///< NCCL_P2P_LEVEL
    std::string nccl_nvb_disable;       ///< NCCL_NVB_DISABLE
    std::string nccl_net_disable_intra; ///< NCCL_NET_DISABLE_INTRA

    /// The user asked for this plugin by plugin name, network name or DUOFI_STRICT: failures are then
    /// warnings (A22).
    [[nodiscard]] bool named_by_user() const;
};

/// One row as the user sees it (duofi info, docs, init line).
struct SettingRow {
    std::string name, value, default_text, accepted, help;
    bool from_environment = false;
};

/// Looks a variable up; nullptr = not set. Injected so that tests need not touch the environment.
using EnvironmentReader = std::function<const char*(const char*)>;

/// Reads and validates everything (I1). Logs one line for each of our variables that is set (applied, or
/// bad with its accepted form, or without effect) and for each unknown name with our prefixes (nearest
/// real name). Takes the log threshold from NCCL_DEBUG if that is set. `present_names` are the names in
/// the environment. Errors: Errc::internal (-22) for a bad OFI_NCCL_* value, after all were reported.
[[nodiscard]] Result<Settings> load_settings();
[[nodiscard]] Result<Settings> load_settings(const EnvironmentReader& reader,
                                             const std::vector<std::string>& present_names);

/// All variables that have an effect, with the values of `settings`, in table order.
[[nodiscard]] std::vector<SettingRow> setting_rows(const Settings& settings,
                                                   const EnvironmentReader& reader);

struct EnvironmentDefault {
    const char* name = nullptr;
    const char* value = nullptr;
};

/// Adds to the process environment those variables that the user has not set, all at once. Only for the
/// three writes of architecture 4.11, in one batch at the end of a successful net init. Puts a new block
/// in place and leaves the old one alone, so that threads inside getenv keep valid pointers (net contract
/// 4.1); threads that call setenv meanwhile may lose their change. Returns how many were written.
std::size_t set_environment_defaults(std::span<const EnvironmentDefault> wanted);

/// The same for one variable. Returns true if written.
bool set_environment_default(const char* name, const char* value);

/// Runs `work` while the process environment also holds those of `wanted` that the user has not set; afterwards it is as it
/// was, unless somebody called setenv meanwhile and so moved it: then they stay. Other threads may lose what they set meanwhile.
void with_environment_defaults(std::span<const EnvironmentDefault> wanted, const std::function<void()>& work);

/// Reads one variable of another owner (launcher variables, HOME, ...) for tools and tests.
[[nodiscard]] std::optional<std::string> environment_value(const char* name);

}  // namespace duofi
