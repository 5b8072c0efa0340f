// What each personality shows, against the provider sources and manual pages that sim_fabric/personality.cpp names; and
// which hints are refused (fi_getinfo(3), fi_mr(3), fi_nic(3)).
// Units: sim_fabric/personality, sim_fabric/info, sim_fabric/nic, sim_fabric/address
#include <gtest/gtest.h>

#include <cstring>

#include "tests/sim_fabric/fabric_ends.hpp"
#include "tests/sim_fabric/sim_groups.hpp"

namespace duofi::test {
namespace {

struct Shown {
    const char* personality;
    const char* provider;
    std::uint32_t address_format;
    std::size_t address_bytes, cq_data, key_bytes;
    std::uint64_t mr_mode, order_has, order_lacks;
    std::size_t largest;
};

constexpr std::uint64_t kSaw = FI_ORDER_SAW, kSas = FI_ORDER_SAS, kWaw = FI_ORDER_WAW;
constexpr Shown kShown[] = {
    {"ideal", "duofisim", FI_ADDR_STR, 26, 8, 8, 0, kSas | kSaw | kWaw, 0, SIZE_MAX},
    {"efa", "duofisim;efa", FI_ADDR_EFA, 32, 4, 4, FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY, kSas, kSaw | kWaw, SIZE_MAX},
    {"cxi", "duofisim;cxi", FI_ADDR_CXI, 8, 8, 8, FI_MR_ENDPOINT | FI_MR_ALLOCATED | FI_MR_PROV_KEY, kSas | kWaw, kSaw, 0xffffffffU},
    {"verbs", "duofisim;verbs", FI_SOCKADDR_IN, 16, 4, 4, FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY,
     kSas | kSaw | kWaw, FI_ORDER_WAR, std::size_t{1} << 30},
};

const Shown& shown(const std::string& personality) {
    for (const Shown& each : kShown)
        if (personality == each.personality) return each;
    throw TestFailure("no such personality");
}

void refused(const char* what, const std::function<void(fi_info&)>& change) {
    const InfoList hints = full_hints();
    change(*hints);
    int code = 0;
    const InfoList list = ask(hints.get(), &code);
    require(!list && code == -FI_ENODATA, "{}: {}", what, code);
}

void check_nic(const fi_info& info, unsigned number) {
    require(info.nic != nullptr && info.nic->bus_attr->bus_type == FI_BUS_PCI, "no PCI attributes");
    require(info.nic->bus_attr->attr.pci.bus_id == 0x10 + number, "PCI bus {}", info.nic->bus_attr->attr.pci.bus_id);
    require(info.nic->link_attr->speed >= 100'000'000'000ULL && info.nic->link_attr->state == FI_LINK_UP, "link");
    const InfoList copy(fi_dupinfo(&info));
    require(copy->nic != info.nic && std::strcmp(copy->nic->device_attr->name, info.nic->device_attr->name) == 0, "copy");
}

DUOFI_RANK_BODY(attributes) {
    const Shown& is = shown(rank.text("personality"));
    const InfoList list = ask(full_hints().get());
    require(static_cast<bool>(list), "nothing is offered");
    unsigned entries = 0;
    for (const fi_info* info = list.get(); info != nullptr && entries < 3; info = info->next, ++entries) {
        require(std::strcmp(info->fabric_attr->prov_name, is.provider) == 0, "{}", info->fabric_attr->prov_name);
        require(info->addr_format == is.address_format && info->src_addrlen == is.address_bytes, "address");
        require(info->domain_attr->cq_data_size == is.cq_data && info->domain_attr->mr_key_size == is.key_bytes, "sizes");
        require(static_cast<std::uint64_t>(info->domain_attr->mr_mode) == is.mr_mode, "mr_mode {:x}", info->domain_attr->mr_mode);
        require((info->tx_attr->msg_order & is.order_has) == is.order_has && (info->tx_attr->msg_order & is.order_lacks) == 0, "order");
        require(info->ep_attr->type == FI_EP_RDM && info->ep_attr->max_msg_size == is.largest, "endpoint");
        check_nic(*info, entries);
    }
    require(entries == 3, "{} entries for 3 NICs", entries);
    refused("another type of endpoint", [](fi_info& hints) { hints.ep_attr->type = FI_EP_MSG; });
    refused("unknown capability", [](fi_info& hints) { hints.caps |= FI_COLLECTIVE; });
    refused("larger CQ data", [&](fi_info& hints) { hints.domain_attr->cq_data_size = is.cq_data + 1; });
    refused("progress by itself", [](fi_info& hints) { hints.domain_attr->data_progress = FI_PROGRESS_AUTO; });
    if (is.order_lacks != 0)
        refused("an order that is not kept", [&](fi_info& hints) { hints.tx_attr->msg_order = is.order_lacks; });
    if (is.mr_mode != 0)
        refused("registration that is not followed", [](fi_info& hints) { hints.domain_attr->mr_mode = 0; });
}

// fi_mr(3): FI_MR_BASIC alone stands for virtual addresses, backed memory and keys of the provider.
DUOFI_RANK_BODY(basic_registration) {
    const InfoList hints = full_hints(FI_MSG | FI_RMA);
    hints->domain_attr->mr_mode = 1;
    Pair pair(4096, hints.get());
    pair.at_a.bytes.assign(4096, 5);
    const auto address = reinterpret_cast<std::uintptr_t>(pair.at_b.bytes.data());
    const ssize_t code = post([&] { return fi_write(pair.a.ep, pair.at_a.bytes.data(), 4096, pair.at_a.descriptor(), pair.to_b, address,
                                                    pair.at_b.key(), nullptr); }, {&pair.a, &pair.b});
    require(code == 0 && pair.a.next({&pair.b}).error == 0 && pair.at_b.bytes == pair.at_a.bytes, "write by address");
}

// Keys of the application: the same one twice in a domain is refused (P7); too long ones too.
DUOFI_RANK_BODY(own_keys) {
    Pair pair(4096);
    require(!pair.opened.has(FI_MR_PROV_KEY) && pair.at_b.key() == 2, "keys are the provider's");
    fid_mr* mr = nullptr;
    const auto add = [&](std::uint64_t key) {
        return fi_mr_reg(pair.opened.domain, pair.at_a.bytes.data(), 64, FI_REMOTE_WRITE, 0, key, 0, &mr, nullptr);
    };
    require(add(2) == -FI_ENOKEY, "a key that is taken");
    if (pair.opened.info->domain_attr->mr_key_size < 8) require(add(std::uint64_t{1} << 40) < 0, "a key that is too long");
}

class Attributes : public testing::TestWithParam<const char*> {};
TEST_P(Attributes, AreThoseOfTheProvider) { run_group("attributes", on_personality(GetParam(), 1, {{"NICS", "3"}})); }
INSTANTIATE_TEST_SUITE_P(personality, Attributes, testing::Values("ideal", "efa", "cxi", "verbs"));

TEST(Registration, BasicModeOfItsOwn) {
    run_group("basic_registration", on_personality("efa", 1));
    run_group("basic_registration", on_personality("verbs", 1));
}

TEST(Registration, KeysOfTheApplication) {
    run_group("own_keys", on_personality("ideal", 1));
    run_group("own_keys", on_personality("cxi", 1, {{"APPLICATION_KEYS", "1"}}));
}

}  // namespace
}  // namespace duofi::test
