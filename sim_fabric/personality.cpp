// Sources: fi_efa(7), fi_verbs(7), fi_rxm(7), fi_cxi(7), fi_getinfo(3), fi_mr(3), and the provider sources of libfabric
// that are named beside the values (path below prov/).
#include "sim_fabric/personality.hpp"

#include <array>
#include <cerrno>
#include <cstdint>

namespace duofi::sim {
namespace {

constexpr std::uint64_t kMessages = FI_MSG | FI_TAGGED | FI_SEND | FI_RECV;
constexpr std::uint64_t kOneSided = FI_RMA | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
constexpr std::uint64_t kEverywhere = FI_LOCAL_COMM | FI_REMOTE_COMM | FI_SOURCE;
constexpr std::uint64_t kAllOrders = FI_ORDER_RAR | FI_ORDER_RAW | FI_ORDER_RAS | FI_ORDER_WAR | FI_ORDER_WAW |
                                     FI_ORDER_WAS | FI_ORDER_SAR | FI_ORDER_SAW | FI_ORDER_SAS | FI_ORDER_RMA_RAR |
                                     FI_ORDER_RMA_RAW | FI_ORDER_RMA_WAR | FI_ORDER_RMA_WAW | FI_ORDER_ATOMIC_RAR |
                                     FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAR | FI_ORDER_ATOMIC_WAW;
constexpr std::uint64_t kAtomicOrders =
    FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAR | FI_ORDER_ATOMIC_WAW;
constexpr std::uint64_t kCompletions = FI_INJECT | FI_COMPLETION | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE;

constexpr Personality ideal() {
    Personality is;
    is.name = "ideal";
    is.fabric = "duofisim";
    is.domain_format = "sim%u";
    is.address_format = FI_ADDR_STR;
    is.protocol = FI_PROTO_UNSPEC;
    is.caps = kMessages | kOneSided | FI_ATOMIC | FI_FENCE | FI_HMEM | kEverywhere;
    is.order = kAllOrders;
    is.application_keys = true;
    is.inject = 4096;
    is.largest_message = is.largest_waw = is.largest_raw = SIZE_MAX;
    is.tx_depth = is.rx_depth = 4096;

    is.op_flags = kCompletions | FI_INJECT_COMPLETE;
    is.bad_key = {FI_EACCES, 1};
    is.unreachable = {FI_EHOSTUNREACH, 2};
    is.no_local_key = {FI_EINVAL, 3};
    is.driver = "duofisim";
    is.vendor = "0x0000";
    is.device = "0x0001";
    is.network = "simulated";
    is.gbps = 100;
    return is;
}

// prov/efa/src/efa_prov_info.c (the entry for RDM endpoints), efa_cq.h (EFA_CQ_DATA_SIZE), efa_errno.h; fi_efa(7).
constexpr Personality efa() {
    Personality is = ideal();
    is.name = is.provider = is.fabric = "efa";  // efa.h: EFA_FABRIC_NAME
    is.domain_format = "rdmap%us0-rdm";         // device name and efa_domain_name_suffix
    is.address_format = FI_ADDR_EFA;
    is.protocol = FI_PROTO_EFA;
    is.caps = kMessages | kOneSided | FI_ATOMIC | FI_HMEM | kEverywhere;
    is.order = FI_ORDER_SAS | kAtomicOrders;  // efa_prov_info_alloc_for_rdm
    is.mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;  // efa_domain_attr without FI_MR_LOCAL
    is.application_keys = false;
    is.key_bytes = 4;      // sizeof ibv_sge.lkey
    is.cq_data_bytes = 4;  // EFA_CQ_DATA_SIZE
    is.inject = 3000;      // about one packet without its headers
    is.largest_waw = is.largest_raw = 8192;  // only atomics are ordered
    is.tx_depth = is.rx_depth = 4096;
    is.op_flags = kCompletions;  // EFA_RDM_TX_OP_FLAGS
    is.efa_options = true;       // fi_efa(7), endpoint options
    is.bad_key = {FI_EINVAL, 7};          // efa_errno.h: REMOTE_ERROR_BAD_ADDRESS
    is.unreachable = {FI_EHOSTUNREACH, 14};  // efa_errno.h: LOCAL_ERROR_UNREACH_REMOTE
    is.no_local_key = {FI_EINVAL, 5};     // efa_errno.h: LOCAL_ERROR_INVALID_LKEY
    is.driver = "efa";
    is.vendor = "0x1d0f";  // PCI id of the vendor
    is.device = "0xefa2";
    is.network = "Ethernet";
    return is;
}

// prov/cxi/include/cxip.h (CXIP_*), prov/cxi/src/cxip_info.c (domain attributes and their variants), cxip_cq.c
// (proverr2errno); fi_cxi(7).
constexpr Personality cxi() {
    Personality is = ideal();
    is.name = is.provider = is.fabric = is.driver = "cxi";
    is.domain_format = "cxi%u";
    is.address_format = FI_ADDR_CXI;
    is.protocol = FI_PROTO_CXI;
    is.caps = kMessages | kOneSided | FI_ATOMIC | FI_HMEM | FI_FENCE | kEverywhere;  // CXIP_EP_CAPS
    is.order = FI_ORDER_SAS | FI_ORDER_WAW | FI_ORDER_RMA_WAW | FI_ORDER_RMA_RAR | kAtomicOrders;  // CXIP_MSG_ORDER
    is.mr_mode = FI_MR_ENDPOINT | FI_MR_ALLOCATED | FI_MR_PROV_KEY;  // cxip_prov_key_domain_attr
    is.application_keys = true;        // cxip_client_key_domain_attr
    is.application_key_bytes = 4;      // CXIP_MR_KEY_SIZE
    is.inject = 192;                   // CXIP_INJECT_SIZE
    is.largest_message = 0xffffffffU;  // CXIP_EP_MAX_MSG_SZ
    is.largest_raw = 0;                // cxip_ep_attr
    is.tx_depth = is.rx_depth = 1024;  // CXIP_DEFAULT_TX_SIZE, CXIP_DEFAULT_RX_SIZE

    is.op_flags = kCompletions | FI_INJECT_COMPLETE | FI_FENCE | FI_MORE;  // CXIP_TX_OP_FLAGS
    is.writes_data = false;            // cxip_info.c: enable_writedata, off by default
    is.bad_key = {FI_EIO, 21};
    is.unreachable = {FI_EHOSTUNREACH, 37};  // proverr2errno: C_RC_UNDELIVERABLE
    is.vendor = "0x17db";
    is.device = "0x501";
    is.network = "HPC Ethernet";
    is.gbps = 200;
    return is;
}

// prov/verbs/src/verbs_info.c (verbs_domain_attr, VERBS_MSG_ORDER, vrb_get_device_attrs), verbs_cq.c (error codes) and
// what prov/rxm/src/rxm_init.c (rxm_info_to_rxm) and rxm_attr.c make of it; fi_verbs(7), fi_rxm(7).
constexpr Personality verbs() {
    Personality is = ideal();
    is.name = is.provider = "verbs";
    is.fabric = "IB-0xfe80000000000000";  // VERBS_IB_PREFIX and the subnet
    is.domain_format = "mlx5_%u";
    is.address_format = FI_SOCKADDR_IN;
    is.protocol = FI_PROTO_RXM;
    is.caps = kMessages | kOneSided | FI_ATOMIC | kEverywhere;  // RXM_TX_CAPS, RXM_RX_CAPS
    is.order = FI_ORDER_RAR | FI_ORDER_RAW | FI_ORDER_RAS | FI_ORDER_WAW | FI_ORDER_WAS | FI_ORDER_SAW |
               FI_ORDER_SAS | FI_ORDER_RMA_RAR | FI_ORDER_RMA_RAW | FI_ORDER_RMA_WAW | FI_ORDER_ATOMIC_RAR |
               FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAW;  // VERBS_MSG_ORDER
    is.mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;  // OFI_MR_BASIC_MAP | FI_MR_LOCAL
    is.application_keys = false;
    is.key_bytes = 4;      // sizeof ibv_sge.lkey
    is.cq_data_bytes = 4;  // sizeof ibv_send_wr.imm_data
    is.inject = 64;        // a small inline size
    is.largest_message = is.largest_waw = is.largest_raw = std::size_t{1} << 30;  // max_msg_sz of a port
    is.tx_depth = is.rx_depth = 2048;  // rxm_def_tx_size, rxm_def_rx_size
    is.op_flags = kCompletions | FI_INJECT_COMPLETE;  // RXM_TX_OP_FLAGS
    is.data_takes_receive = true;    // fi_getinfo(3), FI_RX_CQ_DATA; the work request of an immediate
    is.bad_key = {FI_EIO, 10};       // verbs_cq.c: EIO with the status, IBV_WC_REM_ACCESS_ERR
    is.unreachable = {FI_EIO, 12};   // IBV_WC_RETRY_EXC_ERR
    is.no_local_key = {FI_EIO, 4};   // IBV_WC_LOC_PROT_ERR
    is.driver = "mlx5_core";
    is.vendor = "0x02c9";
    is.device = "0x101b";
    is.network = "InfiniBand";
    is.gbps = 200;
    return is;
}

constexpr std::array kAll{ideal(), efa(), cxi(), verbs()};

}  // namespace

std::span<const Personality> personalities() noexcept { return kAll; }

const Personality* find_personality(std::string_view name) noexcept {
    for (const Personality& each : kAll)
        if (each.name == name) return &each;
    return nullptr;
}

}  // namespace duofi::sim
