// The rows. Sources: net contract 7 (OFI_NCCL_*), architecture 4.12 (DUOFI_*).
#include "common/util/settings_table.hpp"

#include <algorithm>
#include <array>

#include "common/util/parse.hpp"

namespace duofi {
namespace {

using S = Settings;
using Row = SettingDescriptor;

constexpr double kKiB = 1024;
constexpr double kMiB = 1024 * kKiB;
constexpr double kTiB = kMiB * kMiB;
constexpr double kMostBuffers = 65536;
constexpr double kMonth = 31.0 * 24 * 3600;

constexpr std::array<std::string_view, 2> kProtocols{"SENDRECV", "RDMA"};
constexpr std::array<std::string_view, 3> kProgressModels{"AUTO", "MANUAL", "UNSPEC"};
constexpr std::array<std::string_view, 2> kPlatforms{"AWS", "Default"};
constexpr std::array<std::string_view, 1> kRmaEngines{"ordered"};
constexpr std::array<std::string_view, 2> kRmaCompletions{"remote", "local"};
constexpr std::array<std::string_view, 6> kP2pRuntimes{"host", "unified", "sim", "cuda", "hip", "neuron"};

constexpr Row without_effect(std::string_view name, SettingUse use, std::string_view help,
                             std::string_view replacement = {}) {
    return {.name = name, .help = help, .use = use, .replacement = replacement};
}

constexpr auto kRows = std::to_array<Row>({
    {.name = "OFI_NCCL_PROTOCOL",
     .binding = &S::protocol,
     .help = "transport protocol; unset: the best that the provider can do",
     .form = SettingForm::choice,
     .choices = kProtocols,
     .unset_text = "automatic"},
    {.name = "OFI_NCCL_USE_IPV6_TCP",
     .binding = &S::use_ipv6_tcp,
     .help = "also use IPv6 addresses of providers that run over IP"},
    {.name = "OFI_NCCL_EXCLUDE_TCP_IF",
     .binding = &S::exclude_tcp_if,
     .help = "interfaces to leave out for providers that run over IP, in place of the default list; FI_TCP_IFACE names the one to use",
     .form = SettingForm::interfaces,
     .unset_text = "docker,br-,virbr,veth,cni,tailscale"},
    {.name = "OFI_NCCL_GDR_FLUSH_DISABLE",
     .binding = &S::gdr_flush_disable,
     .help = "no flush is made: no device memory is offered to the network",
     .judged_only = true},
    {.name = "OFI_NCCL_NIC_DUP_CONNS",
     .binding = &S::nic_dup_conns,
     .help = "make this many devices of each NIC; 0: one; refused with GPUDirect RDMA",
     .high = 128},
    {.name = "OFI_NCCL_MR_KEY_SIZE",
     .binding = &S::mr_key_size,
     .help = "bytes of the memory keys to ask the provider for",
     .low = 1,
     .high = 8},
    {.name = "OFI_NCCL_MR_CACHE_DISABLE",
     .binding = &S::mr_cache_disable,
     .help = "register memory anew on each call"},
    {.name = "OFI_NCCL_CQ_READ_COUNT",
     .binding = &S::cq_read_count,
     .help = "completions taken from a queue at once",
     .low = 1,
     .high = 4096},
    {.name = "OFI_NCCL_CQ_SIZE",
     .binding = &S::cq_size,
     .help = "entries of a completion queue",
     .low = 1,
     .high = 16 * kMiB},
    {.name = "OFI_NCCL_NET_LATENCY",
     .binding = &S::net_latency_us,
     .help = "latency reported to the caller, microseconds; 0: value of the platform",
     .high = 1e6},
    {.name = "OFI_NCCL_EAGER_MAX_SIZE",
     .binding = &S::eager_max_size,
     .help = "largest message, bytes, that is sent before the receiver asked; -1: none",
     .low = -1,
     .high = 16 * kMiB},
    {.name = "OFI_NCCL_MIN_STRIPE_SIZE",
     .binding = &S::min_stripe_size,
     .help = "smallest part, bytes, into which a message is split over rails",
     .low = 1,
     .high = kTiB},
    {.name = "OFI_NCCL_SCHED_MAX_SMALL_RR_SIZE",
     .binding = &S::small_message_size,
     .help = "messages below this size, bytes, take one rail in turn",
     .high = kTiB},
    {.name = "OFI_NCCL_FORCE_NUM_RAILS",
     .binding = &S::force_num_rails,
     .help = "most NICs of a device that are grouped by their places; 0: as found",
     .high = 4},
    {.name = "OFI_NCCL_RDMA_MIN_POSTED_EAGER_BUFFERS",
     .binding = &S::eager_min_posted,
     .help = "receive buffers for eager and control messages that an endpoint keeps posted",
     .low = 1,
     .high = kMostBuffers},
    {.name = "OFI_NCCL_RDMA_MAX_POSTED_EAGER_BUFFERS",
     .binding = &S::eager_max_posted,
     .help = "most of those buffers; each is posted again as soon as it is free",
     .low = 1,
     .high = kMostBuffers},
    {.name = "OFI_NCCL_RDMA_MIN_POSTED_CONTROL_BUFFERS",
     .binding = &S::control_min_posted,
     .help = "control messages come into the eager buffers",
     .judged_only = true,
     .low = 1,
     .high = kMostBuffers},
    {.name = "OFI_NCCL_RDMA_MAX_POSTED_CONTROL_BUFFERS",
     .binding = &S::control_max_posted,
     .help = "control messages come into the eager buffers",
     .judged_only = true,
     .low = 1,
     .high = kMostBuffers},
    {.name = "OFI_NCCL_RR_CTRL_MSG",
     .binding = &S::control_round_robin,
     .help = "control messages take the first rail",
     .judged_only = true},
    {.name = "OFI_NCCL_USE_LOW_LATENCY_TC",
     .binding = &S::low_latency_class,
     .help = "control messages share the endpoint of the data, and so its traffic class",
     .judged_only = true},
    {.name = "OFI_NCCL_EARLY_COMPLETION",
     .binding = &S::early_completion,
     .help = "no table of this version has optional receives",
     .judged_only = true,
     .unset_text = "auto"},
    {.name = "OFI_NCCL_CM_NUM_RX_BUFFERS",
     .binding = &S::cm_rx_buffers,
     .help = "connection messages come into the eager buffers",
     .judged_only = true,
     .low = 1,
     .high = kMostBuffers},
    {.name = "OFI_NCCL_PROGRESS_MODEL",
     .binding = &S::progress_model,
     .help = "progress model to ask the provider for",
     .form = SettingForm::choice,
     .choices = kProgressModels,
     .unset_text = "UNSPEC"},
    {.name = "OFI_NCCL_DOMAIN_PER_THREAD",
     .binding = &S::domain_per_thread,
     .help = "a domain for each calling thread; -1: value of the platform",
     .unset_text = "platform"},
    {.name = "OFI_NCCL_DISABLE_NATIVE_RDMA_CHECK",
     .binding = &S::disable_native_rdma_check,
     .help = "accept emulated writes"},
    {.name = "OFI_NCCL_DISABLE_GDR_REQUIRED_CHECK",
     .binding = &S::disable_gdr_required_check,
     .help = "accept platforms that should offer GPUDirect RDMA and do not"},
    {.name = "OFI_NCCL_DISABLE_DMABUF",
     .binding = &S::disable_dmabuf,
     .help = "no DMA-BUF registration is offered",
     .judged_only = true},
    {.name = "OFI_NCCL_ABORT_ON_ERROR",
     .binding = &S::abort_on_error,
     .help = "end the process at the first call that fails"},
    {.name = "OFI_NCCL_PLATFORM",
     .binding = &S::platform,
     .help = "platform to assume instead of the detected one",
     .form = SettingForm::choice,
     .choices = kPlatforms,
     .unset_text = "detected"},
    {.name = "OFI_NCCL_FORCE_PRODUCT_NAME",
     .binding = &S::force_product_name,
     .help = "product name to use instead of the machine's",
     .unset_text = "the machine's"},

    {.name = "DUOFI_OFI_PROVIDER",
     .binding = &S::ofi_provider,
     .help = "libfabric provider to use",
     .form = SettingForm::provider,
     .unset_text = "by order of preference"},
    {.name = "DUOFI_STRICT",
     .binding = &S::strict,
     .help = "fail instead of falling back: bad values of DUOFI_ variables fail init"},
    {.name = "DUOFI_STALL_SECONDS",
     .binding = &S::stall_seconds,
     .help = "age at which a pending operation is reported, once; 0: never",
     .form = SettingForm::duration,
     .high = kMonth},
    {.name = "DUOFI_PEER_TIMEOUT",
     .binding = &S::peer_timeout_s,
     .help = "silence, at least 3 s, after which a peer on another node counts as dead; 0: never",
     .form = SettingForm::duration,
     .high = kMonth},
    {.name = "DUOFI_CONNECT_TIMEOUT",
     .binding = &S::connect_timeout_s,
     .help = "longest time for a connection to come up",
     .form = SettingForm::duration,
     .low = 0.001,
     .high = kMonth},
    {.name = "DUOFI_NET_TCP_RAILS",
     .binding = &S::tcp_rails,
     .help = "rails of a device under RDMA, unless its NICs are grouped by place: interfaces, "
             "then several connections over each",
     .low = 1,
     .high = 4},

    {.name = "DUOFI_RMA",
     .binding = &S::rma,
     .help = "1: offer the RMA tables to every caller; 0: to none",
     .unset_text = "to callers whose NCCL_RMA_PLUGIN names this package"},
    {.name = "DUOFI_RMA_ENGINE",
     .binding = &S::rma_engine,
     .help = "ordered is the only engine of this version",
     .judged_only = true,
     .form = SettingForm::choice,
     .choices = kRmaEngines,
     .unset_text = "the best that the provider can do"},
    {.name = "DUOFI_RMA_COMPLETION",
     .binding = &S::rma_completion,
     .help = "when a put or signal is done: applied at the target, or its source is free again",
     .form = SettingForm::choice,
     .choices = kRmaCompletions},
    {.name = "DUOFI_RMA_SEGMENT",
     .binding = &S::rma_segment,
     .help = "largest piece of a put or get, bytes; 0: the provider's largest message",
     .high = kTiB},
    {.name = "DUOFI_P2P_COMPAT",
     .binding = &S::p2p_compat,
     .help = "P2P as the Neuron library does it: no relay, zero trailer, 4 MiB buffers"},
    {.name = "DUOFI_P2P_SELF",
     .binding = &S::p2p_self,
     .help = "P2P connects a rank to itself when asked to, instead of skipping it"},
    {.name = "DUOFI_P2P_BLOB_TRAILER",
     .binding = &S::p2p_blob_trailer,
     .help = "P2P blobs carry what lets the other end see a disagreement"},
    {.name = "DUOFI_P2P_DEBUG_SIZES",
     .binding = &S::p2p_debug_sizes,
     .help = "P2P kernels pass and check the size of each step"},
    {.name = "DUOFI_P2P_CHANNELS",
     .binding = &S::p2p_channels,
     .help = "parallel paths between two ranks of a P2P communicator",
     .low = 1,
     .high = 32},
    {.name = "DUOFI_P2P_SPIN",
     .binding = &S::p2p_spin,
     .help = "looks of a P2P kernel before it yields the CPU; 0: never; -1: by load",
     .low = -1,
     .high = 1e9},
    {.name = "DUOFI_P2P_TIMEOUT",
     .binding = &S::p2p_timeout_s,
     .help = "longest wait of a P2P kernel for its peer; 0: none",
     .form = SettingForm::duration,
     .high = kMonth},
    {.name = "DUOFI_P2P_RUNTIME",
     .binding = &S::p2p_runtime,
     .help = "what memory and devices of P2P are",
     .form = SettingForm::choice,
     .choices = kP2pRuntimes},
    {.name = "DUOFI_P2P_SIM",
     .binding = &S::p2p_sim,
     .help = "devices and faults of the runtime sim, such as topo=trn1:16;far=0-3;fail=malloc:2"},
    {.name = "DUOFI_P2P_HOST_DEVICES",
     .binding = &S::p2p_host_devices,
     .help = "comma list of the NUMA nodes whose memory P2P devices use, one entry for each device",
     .unset_text = "one device for each NUMA node"},
    {.name = "DUOFI_P2P_FD_SOCKET_DIR",
     .binding = &S::p2p_fd_socket_dir,
     .help = "directory that containers share, for sockets over which P2P memory is passed",
     .unset_text = "sockets without a file, shared by a network namespace"},
    {.name = "DUOFI_P2P_HUGE_PAGES",
     .binding = &S::p2p_huge_pages,
     .help = "P2P memory in explicit huge pages where enough are free"},
    {.name = "DUOFI_P2P_PODS",
     .binding = &S::p2p_pods,
     .help = "P2P also between servers of one pod, where memory reaches that far"},
    {.name = "DUOFI_P2P_PREFER_NET",
     .binding = &S::p2p_prefer_net,
     .help = "no P2P between devices whose NICs are wider than the path between them"},
    {.name = "DUOFI_CUDA_LIBRARY",
     .binding = &S::cuda_library,
     .help = "file of the CUDA driver for device memory",
     .unset_text = "libcuda.so.1"},
    {.name = "DUOFI_HIP_LIBRARY",
     .binding = &S::hip_library,
     .help = "file of the HIP runtime for device memory",
     .unset_text = "libamdhip64.so, also with .7, .6, .5"},
    {.name = "DUOFI_NEURON_LIBRARY",
     .binding = &S::neuron_library,
     .help = "file of the Neuron runtime for device memory",
     .unset_text = "libnrt.so.1"},

    {.name = "FI_PROVIDER", .binding = &S::fi_provider, .help = "libfabric's own provider filter"},
    {.name = "NCCL_NET",
     .binding = &S::nccl_net,
     .help = "network the caller must use; names that mean this package make failures warnings"},
    {.name = "NCCL_NET_PLUGIN",
     .binding = &S::nccl_net_plugin,
     .help = "plugins the caller tries; naming this one makes failures warnings"},
    {.name = "NCCL_RMA_PLUGIN",
     .binding = &S::nccl_rma_plugin,
     .help = "RMA plugins the caller tries; naming this one makes it offer its RMA tables"},
    {.name = "NCCL_DEBUG",
     .binding = &S::nccl_debug,
     .help = "level of the caller's log; more detailed lines are not prepared"},
    {.name = "NCCL_PROTO",
     .binding = &S::nccl_proto_set,
     .help = "if present it is left alone, otherwise set to simple without GPUDirect RDMA",
     .form = SettingForm::presence},
    {.name = "NCCL_TOPO_FILE",
     .binding = &S::nccl_topo_file,
     .help = "XML description of the machine for P2P between accelerators; for NICs: if present it is "
             "left alone, otherwise set when they form groups"},
    {.name = "NCCL_TOPO_DUMP_FILE",
     .binding = &S::nccl_topo_dump_file,
     .help = "file into which rank 0 of P2P writes the machine as it sees it"},
    {.name = "NCCL_HOSTID",
     .binding = &S::nccl_hostid,
     .help = "name of this node for P2P; ranks with different names share no memory"},
    {.name = "NCCL_BUFFSIZE",
     .binding = &S::nccl_buffsize,
     .help = "bytes of a SIMPLE buffer of P2P; multiple of 1024",
     .unset_text = "2097152 on CPUs, 4194304 on devices"},
    {.name = "NCCL_LL_BUFFSIZE",
     .binding = &S::nccl_ll_buffsize,
     .help = "bytes of an LL buffer of P2P; multiple of 1024",
     .unset_text = "524288"},
    {.name = "NCCL_LL128_BUFFSIZE",
     .binding = &S::nccl_ll128_buffsize,
     .help = "bytes of an LL128 buffer of P2P; multiple of 1024",
     .unset_text = "4915200"},
    {.name = "NCCL_P2P_DISABLE",
     .binding = &S::nccl_p2p_disable,
     .help = "1: no pair of ranks uses P2P"},
    {.name = "NCCL_P2P_DIRECT_DISABLE",
     .binding = &S::nccl_p2p_direct_disable,
     .help = "1: P2P maps handles even inside a process"},
    {.name = "NCCL_P2P_READ_ENABLE",
     .binding = &S::nccl_p2p_read_enable,
     .help = "1 or 0: receivers of P2P pull or never pull SIMPLE data",
     .unset_text = "as the topology says"},
    {.name = "NCCL_P2P_LEVEL",
     .binding = &S::nccl_p2p_level,
     .help = "farthest path that P2P may use: LOC, NVL, NVB, PIX, PXB, PHB, SYS, or 0 to 5",
     .unset_text = "SYS on CPUs, PXB on devices"},
    {.name = "NCCL_NVB_DISABLE",
     .binding = &S::nccl_nvb_disable,
     .help = "1: P2P takes no path through a third device"},
    {.name = "NCCL_NET_DISABLE_INTRA",
     .binding = &S::nccl_net_disable_intra,
     .help = "1: ranks of one node that P2P does not join are not joined by the network either"},

    without_effect("OFI_NCCL_DISABLE_CLOSE_MESSAGE", SettingUse::ignored,
                   "closing never needs the peer here"),
    without_effect("OFI_NCCL_ENDPOINT_PER_COMM", SettingUse::ignored,
                   "endpoints are shared according to their cost"),
    without_effect("OFI_NCCL_ERRORCHECK_MUTEX", SettingUse::ignored, "a debugging aid"),
    without_effect("OFI_NCCL_RDMA_MIN_POSTED_BOUNCE_BUFFERS", SettingUse::removed, "split in two",
                   "OFI_NCCL_RDMA_MIN_POSTED_EAGER_BUFFERS or "
                   "OFI_NCCL_RDMA_MIN_POSTED_CONTROL_BUFFERS"),
    without_effect("OFI_NCCL_RDMA_MAX_POSTED_BOUNCE_BUFFERS", SettingUse::removed, "split in two",
                   "OFI_NCCL_RDMA_MAX_POSTED_EAGER_BUFFERS or "
                   "OFI_NCCL_RDMA_MAX_POSTED_CONTROL_BUFFERS"),
    without_effect("OFI_NCCL_CUDA_FLUSH_ENABLE", SettingUse::unsupported,
                   "flush by the GPU library"),
    without_effect("OFI_NCCL_SKIP_NICS_WITHOUT_ACCEL_AT_SAME_PCI_LEVEL", SettingUse::unsupported,
                   "choice of NICs by PCI level"),
    without_effect("OFI_NCCL_NVTX_TRACE_DIMENSION", SettingUse::unsupported, "tracing"),
    without_effect("OFI_NCCL_GIN_CQ_PROCESS_MAX_ITER", SettingUse::unsupported, "GPU-initiated"),
    without_effect("OFI_NCCL_GDAKI_EFA_HW_COUNTER", SettingUse::unsupported, "GPU-initiated"),
    without_effect("OFI_NCCL_TUNER_TYPE", SettingUse::unsupported, "tuner"),
    without_effect("OFI_NCCL_TUNER_NUM_CHANNELS", SettingUse::unsupported, "tuner"),
    without_effect("OFI_NCCL_TUNER_NET_LATENCY", SettingUse::unsupported, "tuner"),
    without_effect("OFI_NCCL_TUNER_NET_COMP_OVERHEAD", SettingUse::unsupported, "tuner"),
    without_effect("DUOFI_LOCAL", SettingUse::reserved, "path between processes of one node"),
    without_effect("DUOFI_SECURITY_JOB_KEY", SettingUse::reserved, "authentication of peers"),
});

constexpr std::string_view kCommonSlip = "NCCL_OFI_";

}  // namespace

std::span<const SettingDescriptor> setting_table() noexcept {
    return kRows;
}

SettingOwner setting_owner(const SettingDescriptor& descriptor) noexcept {
    if (descriptor.name.starts_with("OFI_NCCL_")) return SettingOwner::ofi_nccl;
    return descriptor.name.starts_with("DUOFI_") ? SettingOwner::duofi : SettingOwner::foreign;
}

const SettingDescriptor* find_setting(std::string_view name) noexcept {
    const auto found =
        std::find_if(kRows.begin(), kRows.end(), [&](const Row& row) { return row.name == name; });
    return found == kRows.end() ? nullptr : &*found;
}

bool has_our_prefix(std::string_view name) noexcept {
    return name.starts_with("OFI_NCCL_") || name.starts_with("DUOFI_") ||
           name.starts_with(kCommonSlip);
}

std::string_view nearest_setting(std::string_view name) {
    constexpr std::size_t kLongestName = 128;
    if (name.size() > kLongestName) return {};
    std::string wanted(name);
    if (wanted.starts_with(kCommonSlip)) wanted.replace(0, kCommonSlip.size(), "OFI_NCCL_");
    std::string_view nearest;
    std::size_t least = std::max<std::size_t>(3, wanted.size() / 3) + 1;
    for (const Row& row : kRows) {
        if (setting_owner(row) == SettingOwner::foreign || row.use == SettingUse::removed) continue;
        const std::size_t distance = edit_distance(wanted, row.name);
        if (distance >= least) continue;
        least = distance;
        nearest = row.name;
    }
    return nearest;
}

}  // namespace duofi
