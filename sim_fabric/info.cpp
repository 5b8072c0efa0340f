#include "sim_fabric/info.hpp"

#include <rdma/fi_errno.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <strings.h>

#include "sim_fabric/address.hpp"

namespace duofi::sim {
namespace {

constexpr std::uint64_t kRemoteAccess = FI_REMOTE_READ | FI_REMOTE_WRITE;
constexpr int kBasic = 1;  // FI_MR_BASIC, whose name is deprecated in newer headers (fi_mr(3))

struct Variant {
    std::uint64_t mr_mode;
    std::size_t key_bytes;
};

template <typename Part>
Part* allocate_part() {
    return static_cast<Part*>(allocate_for_library(sizeof(Part)));
}

fi_info* empty_info() {
    auto* info = allocate_part<fi_info>();
    if (info == nullptr) return nullptr;
    info->tx_attr = allocate_part<fi_tx_attr>();
    info->rx_attr = allocate_part<fi_rx_attr>();
    info->ep_attr = allocate_part<fi_ep_attr>();
    info->domain_attr = allocate_part<fi_domain_attr>();
    info->fabric_attr = allocate_part<fi_fabric_attr>();
    return info;
}

std::uint64_t offered_caps(const Personality& is) {
    return knobs().device_memory ? is.caps : is.caps & ~FI_HMEM;
}

// Capabilities that fi_getinfo(3) calls primary come only when asked for, with their modifiers.
std::uint64_t granted_caps(std::uint64_t offered, std::uint64_t asked) {
    constexpr std::uint64_t kPrimary = FI_MSG | FI_RMA | FI_TAGGED | FI_ATOMIC | FI_HMEM;
    constexpr std::uint64_t kModifiers = FI_READ | FI_WRITE | FI_RECV | FI_SEND | kRemoteAccess;
    if (asked == 0) return offered;
    std::uint64_t granted = asked | (offered & ~(kPrimary | kModifiers));
    if ((asked & (FI_MSG | FI_TAGGED)) != 0 && (asked & (FI_SEND | FI_RECV)) == 0) granted |= FI_SEND | FI_RECV;
    if ((asked & (FI_RMA | FI_ATOMIC)) != 0 && (asked & (FI_READ | FI_WRITE | kRemoteAccess)) == 0)
        granted |= FI_READ | FI_WRITE | kRemoteAccess;
    return granted;
}

// What the registration mode becomes; -1 when the caller cannot follow it. fi_mr(3): FI_MR_BASIC stands alone and
// means virtual addresses, backed memory and keys of the provider. Without remote access there are no remote bits
// (ofi_cap_mr_mode in libfabric's include/ofi.h).
int agreed_mr_mode(const Personality& is, std::uint64_t wanted, std::uint64_t caps, const fi_info* hints) {
    std::uint64_t needed = wanted;
    if ((caps & kRemoteAccess) == 0) needed &= ~(FI_MR_VIRT_ADDR | FI_MR_PROV_KEY | FI_MR_RAW);
    if ((caps & FI_HMEM) != 0) needed |= FI_MR_HMEM;
    if (hints == nullptr || hints->domain_attr == nullptr) return static_cast<int>(needed);
    const auto asked = static_cast<std::uint64_t>(hints->domain_attr->mr_mode);
    if (asked == kBasic) return (is.mr_mode & FI_MR_ENDPOINT) == 0 ? kBasic : -1;
    if ((asked & kBasic) != 0 || (needed & ~asked) != 0) return -1;
    return static_cast<int>(needed);
}

bool progress_refused(fi_progress asked, fi_progress offered) {
    return asked == FI_PROGRESS_AUTO && offered != FI_PROGRESS_AUTO;
}

bool names_differ(const char* asked, const char* offered) {
    return asked != nullptr && ::strcasecmp(asked, offered) != 0;
}

bool domain_refused(const Personality& is, const fi_domain_attr& asked, const char* name) {
    return names_differ(asked.name, name) || asked.cq_data_size > is.cq_data_bytes ||
           progress_refused(asked.data_progress, is.progress) || progress_refused(asked.control_progress, is.progress);
}

bool endpoint_refused(const Personality& is, const fi_ep_attr& asked) {
    return (asked.type != FI_EP_UNSPEC && asked.type != FI_EP_RDM) || asked.max_msg_size > is.largest_message ||
           (asked.protocol != FI_PROTO_UNSPEC && asked.protocol != is.protocol) || asked.max_order_waw_size > is.largest_waw ||
           asked.tx_ctx_cnt > 1 || asked.rx_ctx_cnt > 1;
}

bool refused(const Personality& is, const fi_info& hints, const char* domain) {
    if ((hints.caps & ~offered_caps(is)) != 0) return true;
    if (hints.addr_format != FI_FORMAT_UNSPEC && hints.addr_format != is.address_format) return true;
    if (hints.ep_attr != nullptr && endpoint_refused(is, *hints.ep_attr)) return true;
    if (hints.domain_attr != nullptr && domain_refused(is, *hints.domain_attr, domain)) return true;
    if (hints.fabric_attr != nullptr && names_differ(hints.fabric_attr->name, is.fabric)) return true;
    if (hints.tx_attr != nullptr &&
        ((hints.tx_attr->msg_order & ~is.order) != 0 || (hints.tx_attr->op_flags & ~is.op_flags) != 0 ||
         hints.tx_attr->size > is.tx_depth || hints.tx_attr->inject_size > is.inject || hints.tx_attr->iov_limit > 1))
        return true;
    return hints.rx_attr != nullptr &&
           ((hints.rx_attr->msg_order & ~is.order) != 0 || hints.rx_attr->size > is.rx_depth);
}

void fill_transfers(const Personality& is, const fi_info* hints, fi_info& info) {
    fi_tx_attr& tx = *info.tx_attr;
    fi_rx_attr& rx = *info.rx_attr;
    constexpr std::uint64_t kSending = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_SEND | FI_READ | FI_WRITE | FI_HMEM;
    constexpr std::uint64_t kReceiving = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_RECV | kRemoteAccess |
                                         FI_SOURCE | FI_HMEM;
    tx.caps = info.caps & kSending;
    rx.caps = info.caps & kReceiving;
    tx.msg_order = rx.msg_order = is.order;
    tx.inject_size = is.inject;
    tx.size = is.tx_depth;
    rx.size = is.rx_depth;
    tx.iov_limit = rx.iov_limit = 1;
    tx.rma_iov_limit = 1;
    const bool asked = hints != nullptr && hints->tx_attr != nullptr && hints->tx_attr->op_flags != 0;
    tx.op_flags = asked ? hints->tx_attr->op_flags : FI_TRANSMIT_COMPLETE;
    if (hints != nullptr && hints->tx_attr != nullptr && hints->tx_attr->size != 0) tx.size = hints->tx_attr->size;
    if (hints != nullptr && hints->rx_attr != nullptr && hints->rx_attr->size != 0) rx.size = hints->rx_attr->size;
}

void fill_domain(const Personality& is, const Variant& variant, const fi_info* hints, fi_info& info) {
    fi_domain_attr& domain = *info.domain_attr;
    const fi_domain_attr* asked = hints != nullptr ? hints->domain_attr : nullptr;
    domain.threading = asked != nullptr && asked->threading != FI_THREAD_UNSPEC ? asked->threading : FI_THREAD_SAFE;
    const auto progress = [&](fi_progress wish) { return wish != FI_PROGRESS_UNSPEC ? wish : is.progress; };
    domain.control_progress = progress(asked != nullptr ? asked->control_progress : FI_PROGRESS_UNSPEC);
    domain.data_progress = progress(asked != nullptr ? asked->data_progress : FI_PROGRESS_UNSPEC);
    domain.resource_mgmt = FI_RM_ENABLED;
    domain.av_type = FI_AV_TABLE;
    domain.mr_key_size = variant.key_bytes;
    domain.cq_data_size = is.cq_data_bytes;
    domain.cq_cnt = domain.ep_cnt = domain.mr_cnt = 65536;
    domain.tx_ctx_cnt = domain.rx_ctx_cnt = domain.max_ep_tx_ctx = domain.max_ep_rx_ctx = 1;
    domain.mr_iov_limit = 1;
    domain.caps = info.caps & (FI_LOCAL_COMM | FI_REMOTE_COMM);
    info.ep_attr->type = FI_EP_RDM;
    info.ep_attr->protocol = is.protocol;
    info.ep_attr->protocol_version = 1;
    info.ep_attr->max_msg_size = is.largest_message;
    info.ep_attr->max_order_raw_size = info.ep_attr->max_order_war_size = is.largest_raw;
    info.ep_attr->max_order_waw_size = is.largest_waw;
    info.ep_attr->mem_tag_format = 0xaaaaaaaaaaaaaaaaULL;  // every bit is of use (fi_endpoint(3))
    info.ep_attr->tx_ctx_cnt = info.ep_attr->rx_ctx_cnt = 1;
}

bool complete(const fi_info& info) {
    return info.tx_attr != nullptr && info.rx_attr != nullptr && info.ep_attr != nullptr &&
           info.domain_attr != nullptr && info.fabric_attr != nullptr;
}

// nullptr: refused, or without memory (`code` tells).
fi_info* make_info(const Variant& variant, unsigned number, const fi_info* hints, int& code) {
    const Personality& is = *knobs().personality;
    char domain[32];
    std::snprintf(domain, sizeof(domain), is.domain_format, number);
    if (hints != nullptr && refused(is, *hints, domain)) return nullptr;
    const std::uint64_t caps = granted_caps(offered_caps(is), hints != nullptr ? hints->caps : 0);
    const int mr_mode = agreed_mr_mode(is, variant.mr_mode, caps, hints);
    if (mr_mode < 0) return nullptr;
    fi_info* info = empty_info();
    code = -FI_ENOMEM;
    if (info == nullptr) return nullptr;
    if (complete(*info)) {
        info->caps = caps;
        info->addr_format = is.address_format;
        fill_transfers(is, hints, *info);
        fill_domain(is, variant, hints, *info);
        info->domain_attr->mr_mode = mr_mode;
        info->domain_attr->name = ::strdup(domain);
        info->fabric_attr->name = ::strdup(is.fabric);
        if (is.provider[0] != '\0' && !knobs().exact_name) info->fabric_attr->prov_name = ::strdup("duofisim");
        const Name local = wildcard_name(is, number);
        info->src_addr = allocate_for_library(local.size());
        if (info->src_addr != nullptr) std::memcpy(info->src_addr, local.data(), local.size());
        info->src_addrlen = local.size();
        info->nic = make_nic(is, knobs().nics[number], number);
    }
    if (info->src_addr != nullptr && info->nic != nullptr) return info;
    fi_freeinfo(info);
    return nullptr;
}

}  // namespace

unsigned nic_number(const char* domain) noexcept {
    for (unsigned number = 0; domain != nullptr && number < knobs().nics.size(); ++number) {
        char name[32];
        std::snprintf(name, sizeof(name), knobs().personality->domain_format, number);
        if (std::strcmp(name, domain) == 0) return number;
    }
    return 0;
}

int answer_getinfo(std::uint32_t, const char*, const char*, std::uint64_t, const fi_info* hints, fi_info** info) {
    if (const int code = failing(Site::getinfo); code != 0) return code;
    const Personality& is = *knobs().personality;
    const Variant variants[] = {{is.mr_mode, is.key_bytes}, {is.mr_mode & ~FI_MR_PROV_KEY, is.application_key_bytes}};
    const bool both = is.application_keys && (is.mr_mode & FI_MR_PROV_KEY) != 0;
    fi_info* head = nullptr;
    fi_info** tail = &head;
    int code = -FI_ENODATA;
    for (const Variant& variant : variants) {
        if (&variant == &variants[0] ? both && knobs().application_keys : !both) continue;
        for (unsigned number = 0; number < knobs().nics.size(); ++number) {
            *tail = make_info(variant, number, hints, code);
            if (*tail != nullptr) tail = &(*tail)->next;
        }
    }
    *info = head;
    return head != nullptr ? 0 : code;
}

}  // namespace duofi::sim
