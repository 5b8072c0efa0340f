#include "common/ofi/requirements.hpp"

#include <fmt/core.h>
#include <rdma/fi_endpoint.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace duofi::ofi {
namespace {

struct Bit {
    std::uint64_t value;
    std::string_view name;
};

constexpr Bit kCapabilities[] = {
    {FI_MSG, "FI_MSG"},
    {FI_RMA, "FI_RMA"},
    {FI_TAGGED, "FI_TAGGED"},
    {FI_ATOMIC, "FI_ATOMIC"},
    {FI_MULTICAST, "FI_MULTICAST"},
    {FI_COLLECTIVE, "FI_COLLECTIVE"},
    {FI_READ, "FI_READ"},
    {FI_WRITE, "FI_WRITE"},
    {FI_RECV, "FI_RECV"},
    {FI_SEND, "FI_SEND"},
    {FI_REMOTE_READ, "FI_REMOTE_READ"},
    {FI_REMOTE_WRITE, "FI_REMOTE_WRITE"},
    {FI_MULTI_RECV, "FI_MULTI_RECV"},
    {FI_TRIGGER, "FI_TRIGGER"},
    {FI_FENCE, "FI_FENCE"},
    {FI_HMEM, "FI_HMEM"},
    {FI_VARIABLE_MSG, "FI_VARIABLE_MSG"},
    {FI_RMA_PMEM, "FI_RMA_PMEM"},
    {FI_SOURCE_ERR, "FI_SOURCE_ERR"},
    {FI_LOCAL_COMM, "FI_LOCAL_COMM"},
    {FI_REMOTE_COMM, "FI_REMOTE_COMM"},
    {FI_SHARED_AV, "FI_SHARED_AV"},
    {FI_RMA_EVENT, "FI_RMA_EVENT"},
    {FI_SOURCE, "FI_SOURCE"},
    {FI_NAMED_RX_CTX, "FI_NAMED_RX_CTX"},
    {FI_DIRECTED_RECV, "FI_DIRECTED_RECV"},
};

constexpr Bit kModes[] = {
    {FI_CONTEXT, "FI_CONTEXT"},       {FI_CONTEXT2, "FI_CONTEXT2"},
    {FI_MSG_PREFIX, "FI_MSG_PREFIX"}, {FI_RX_CQ_DATA, "FI_RX_CQ_DATA"},
    {FI_ASYNC_IOV, "FI_ASYNC_IOV"},   {FI_LOCAL_MR, "FI_LOCAL_MR"},
};

constexpr Bit kOrders[] = {
    {FI_ORDER_RAR, "FI_ORDER_RAR"}, {FI_ORDER_RAW, "FI_ORDER_RAW"}, {FI_ORDER_RAS, "FI_ORDER_RAS"},
    {FI_ORDER_WAR, "FI_ORDER_WAR"}, {FI_ORDER_WAW, "FI_ORDER_WAW"}, {FI_ORDER_WAS, "FI_ORDER_WAS"},
    {FI_ORDER_SAR, "FI_ORDER_SAR"}, {FI_ORDER_SAW, "FI_ORDER_SAW"}, {FI_ORDER_SAS, "FI_ORDER_SAS"},
};

/// FI_MR_BASIC; the name is deprecated in later headers, the value keeps working (P6).
constexpr std::uint64_t kBasicRegistration = 1;

constexpr Bit kRegistrationModes[] = {
    {kBasicRegistration, "FI_MR_BASIC"},
    {FI_MR_LOCAL, "FI_MR_LOCAL"},
    {FI_MR_RAW, "FI_MR_RAW"},
    {FI_MR_VIRT_ADDR, "FI_MR_VIRT_ADDR"},
    {FI_MR_ALLOCATED, "FI_MR_ALLOCATED"},
    {FI_MR_PROV_KEY, "FI_MR_PROV_KEY"},
    {FI_MR_MMU_NOTIFY, "FI_MR_MMU_NOTIFY"},
    {FI_MR_RMA_EVENT, "FI_MR_RMA_EVENT"},
    {FI_MR_ENDPOINT, "FI_MR_ENDPOINT"},
    {FI_MR_HMEM, "FI_MR_HMEM"},
    {FI_MR_COLLECTIVE, "FI_MR_COLLECTIVE"},
};

template <std::size_t N>
std::string names_of(std::uint64_t bits, const Bit (&table)[N]) {
    std::string text;
    const auto add = [&](std::string_view name) {
        if (!text.empty()) text += " | ";
        text += name;
    };
    for (const Bit& bit : table) {
        if ((bits & bit.value) == 0) continue;
        add(bit.name);
        bits &= ~bit.value;
    }
    if (bits != 0) add(fmt::format("{:#x}", bits));
    return text;
}

fi_progress progress_of(const std::string& setting) {
    if (setting == "AUTO") return FI_PROGRESS_AUTO;
    if (setting == "MANUAL") return FI_PROGRESS_MANUAL;
    return FI_PROGRESS_UNSPEC;
}

/// Basic registration comes back as its value or spelled out.
std::uint64_t accepted_registration(std::uint64_t mr_mode) {
    if ((mr_mode & kBasicRegistration) == 0) return mr_mode;
    return mr_mode | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
}

}  // namespace

Requirements tagged_requirements(const Settings& settings) {
    Requirements needs;
    needs.purpose = "tagged";
    needs.required_caps = FI_MSG | FI_TAGGED;
    needs.wanted_caps = FI_RMA;
    needs.mode = FI_CONTEXT | FI_CONTEXT2;
    needs.mr_mode = FI_MR_LOCAL | FI_MR_ENDPOINT | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED |
                    FI_MR_PROV_KEY | FI_MR_HMEM;
    needs.msg_order = FI_ORDER_SAS;
    needs.mr_key_size = settings.mr_key_size;
    needs.progress = progress_of(settings.progress_model);
    needs.api_version = FI_VERSION(1, 18);
    return needs;
}

Requirements one_sided_requirements(const Settings& settings) {
    Requirements needs = tagged_requirements(settings);
    needs.purpose = "one-sided";
    needs.required_caps = FI_MSG | FI_RMA;
    needs.wanted_caps = 0;
    needs.msg_order = FI_ORDER_SAS | FI_ORDER_SAW;
    needs.order_required = true;
    return needs;
}

Requirements written_requirements(const Settings& settings) {
    Requirements needs = tagged_requirements(settings);
    needs.purpose = "write with immediate";
    needs.required_caps = FI_MSG | FI_RMA;
    needs.wanted_caps = 0;
    needs.cq_data_size = sizeof(std::uint32_t);
    return needs;
}

std::uint32_t effective_api_version(const Requirements& needs) noexcept {
    const std::uint32_t running = fi_version();
    return needs.api_version == 0 ? running : std::min(needs.api_version, running);
}

InfoPtr make_hints(const Requirements& needs, const std::string& provider, bool with_wanted) {
    InfoPtr hints(fi_allocinfo());
    if (!hints) return hints;
    hints->caps = needs.required_caps | (with_wanted ? needs.wanted_caps : 0);
    hints->mode = needs.mode;
    hints->ep_attr->type = FI_EP_RDM;
    hints->tx_attr->msg_order = needs.msg_order;
    hints->tx_attr->op_flags = needs.tx_op_flags;
    hints->rx_attr->msg_order = needs.msg_order;
    fi_domain_attr& domain = *hints->domain_attr;
    domain.mr_mode = static_cast<int>(needs.mr_mode);
    domain.threading = needs.threading;
    domain.control_progress = needs.progress;
    domain.data_progress = needs.progress;
    domain.mr_key_size = needs.mr_key_size;
    domain.cq_data_size = needs.cq_data_size;
    if (!provider.empty()) {
        hints->fabric_attr->prov_name = ::strdup(provider.c_str());
        if (hints->fabric_attr->prov_name == nullptr) hints.reset();
    }
    return hints;
}

std::string why_refused(const fi_info& info, const Requirements& needs) {
    std::string reasons;
    const auto add = [&](std::string text) {
        if (!reasons.empty()) reasons += "; ";
        reasons += text;
    };
    const std::uint64_t missing = needs.required_caps & ~info.caps;
    if (missing != 0) add("lacks " + capability_names(missing));
    if (info.ep_attr == nullptr || info.ep_attr->type != FI_EP_RDM) add("no FI_EP_RDM endpoint");
    const std::uint64_t mode = info.mode & ~needs.mode;
    if (mode != 0) add("demands mode " + names_of(mode, kModes));
    if (info.domain_attr != nullptr) {
        const auto granted =
            static_cast<std::uint64_t>(static_cast<unsigned>(info.domain_attr->mr_mode));
        const std::uint64_t registration = granted & ~accepted_registration(needs.mr_mode);
        if (registration != 0) add("demands mr_mode " + names_of(registration, kRegistrationModes));
        if (info.domain_attr->cq_data_size < needs.cq_data_size)
            add(fmt::format("carries {} bytes of CQ data, {} needed",
                            info.domain_attr->cq_data_size, needs.cq_data_size));
    }
    if (needs.order_required) {
        const std::uint64_t granted = (info.tx_attr != nullptr ? info.tx_attr->msg_order : 0) &
                                      (info.rx_attr != nullptr ? info.rx_attr->msg_order : 0);
        const std::uint64_t unordered = needs.msg_order & ~granted;
        if (unordered != 0) add("does not grant order " + names_of(unordered, kOrders));
    }
    if (info.tx_attr != nullptr && (needs.tx_op_flags & ~info.tx_attr->op_flags) != 0)
        add("does not grant the completion asked for");
    if (info.ep_attr != nullptr && info.ep_attr->max_msg_size < needs.msg_size_min)
        add(fmt::format("largest message is {} bytes, {} needed", info.ep_attr->max_msg_size,
                        needs.msg_size_min));
    return reasons;
}

std::string capability_names(std::uint64_t caps) {
    return names_of(caps, kCapabilities);
}

}  // namespace duofi::ofi
