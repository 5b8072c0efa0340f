#include "tests/sim_fabric/fabric_ends.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace duofi::test {
namespace {

constexpr Nanoseconds kPatience = 10 * kSecond;

void check(long code, const char* call) {
    if (code != 0) throw std::runtime_error(std::string(call) + ": " + fi_strerror(static_cast<int>(-code)));
}

InfoList required(InfoList list) {
    if (!list) throw std::runtime_error("fi_getinfo found nothing");
    return list;
}

}  // namespace

InfoList full_hints(std::uint64_t caps) {
    InfoList hints(fi_allocinfo());
    hints->caps = caps;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_ENDPOINT | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_HMEM;
    return hints;
}

InfoList ask(const fi_info* hints, int* code) {
    fi_info* list = nullptr;
    const int got = fi_getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints, &list);
    if (code != nullptr) *code = got;
    return InfoList(list);
}

Opened::Opened(const fi_info* hints) : Opened(required(ask(hints != nullptr ? hints : full_hints().get()))) {}

Opened::Opened(InfoList list) : info(std::move(list)) {
    check(fi_fabric(info->fabric_attr, &fabric, nullptr), "fi_fabric");
    check(fi_domain(fabric, info.get(), &domain, nullptr), "fi_domain");
}

Opened::~Opened() {
    EXPECT_EQ(fi_close(&domain->fid), 0);
    EXPECT_EQ(fi_close(&fabric->fid), 0);
}

bool Opened::has(std::uint64_t mr_bit) const {
    return (static_cast<std::uint64_t>(info->domain_attr->mr_mode) & mr_bit) != 0;
}

Region::Region(Opened& opened, fid_ep* endpoint, std::size_t size, std::uint64_t key)
    : bytes(size), virtual_(opened.has(FI_MR_VIRT_ADDR)) {
    constexpr std::uint64_t kAccess = FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
    check(fi_mr_reg(opened.domain, bytes.data(), size, kAccess, 0, key, 0, &mr_, nullptr), "fi_mr_reg");
    if (!opened.has(FI_MR_ENDPOINT)) return;
    check(fi_mr_bind(mr_, &endpoint->fid, 0), "fi_mr_bind");
    check(fi_mr_enable(mr_), "fi_mr_enable");
}

std::uint64_t Region::address(std::size_t offset) const {
    return (virtual_ ? reinterpret_cast<std::uintptr_t>(bytes.data()) : 0) + offset;
}

void Region::close() {
    if (mr_ != nullptr) {
        EXPECT_EQ(fi_close(&mr_->fid), 0);
    }
    mr_ = nullptr;
}

End::End(Opened& from) : opened(from) {
    fi_av_attr av_attributes{};
    av_attributes.type = FI_AV_TABLE;
    check(fi_av_open(opened.domain, &av_attributes, &av, nullptr), "fi_av_open");
    fi_cq_attr cq_attributes{};
    cq_attributes.format = FI_CQ_FORMAT_TAGGED;
    cq_attributes.size = 4096;
    check(fi_cq_open(opened.domain, &cq_attributes, &cq, nullptr), "fi_cq_open");
    check(fi_endpoint(opened.domain, opened.info.get(), &ep, nullptr), "fi_endpoint");
    check(fi_ep_bind(ep, &av->fid, 0), "fi_ep_bind");
    check(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    check(fi_enable(ep), "fi_enable");
}

void End::close_endpoint() {
    if (ep != nullptr) {
        EXPECT_EQ(fi_close(&ep->fid), 0);
    }
    ep = nullptr;
}

End::~End() {
    close_endpoint();
    EXPECT_EQ(fi_close(&cq->fid), 0);
    EXPECT_EQ(fi_close(&av->fid), 0);
}

std::string End::name() const {
    char bytes[64];
    std::size_t length = sizeof(bytes);
    check(fi_getname(&ep->fid, bytes, &length), "fi_getname");
    return {bytes, length};
}

fi_addr_t End::insert(const std::string& peer) {
    fi_addr_t address = FI_ADDR_NOTAVAIL;
    if (fi_av_insert(av, peer.data(), 1, &address, 0, nullptr) != 1) throw std::runtime_error("fi_av_insert");
    return address;
}

bool End::poll(Event& event) {
    event = {};
    const ssize_t got = fi_cq_readfrom(cq, &event.entry, 1, &event.source);
    if (got == 1) return true;
    if (got != -FI_EAVAIL) return false;
    fi_cq_err_entry failed{};
    if (fi_cq_readerr(cq, &failed, 0) != 1) return false;
    event.entry = {failed.op_context, failed.flags, failed.len, failed.buf, failed.data, failed.tag};
    event.error = failed.err;
    event.provider_error = failed.prov_errno;
    event.cut_off = failed.olen;
    return true;
}

Event End::next(std::vector<End*> others) {
    const Deadline deadline(kPatience);
    Event event;
    while (!poll(event)) {
        for (End* other : others) static_cast<void>(fi_cq_read(other->cq, nullptr, 0));
        if (deadline.passed()) throw std::runtime_error("no completion");
    }
    return event;
}

Pair::Pair(std::size_t bytes, const fi_info* hints)
    : opened(hints),
      a(opened),
      b(opened),
      to_a(b.insert(a.name())),
      to_b(a.insert(b.name())),
      at_a(opened, a.ep, bytes, 1),
      at_b(opened, b.ep, bytes, 2) {}

ssize_t post(const std::function<ssize_t()>& call, std::vector<End*> ends) {
    const Deadline deadline(kPatience);
    while (true) {
        const ssize_t code = call();
        if (code != -FI_EAGAIN || deadline.passed()) return code;
        for (End* end : ends) static_cast<void>(fi_cq_read(end->cq, nullptr, 0));
    }
}

std::string provider_under_test() {
    const InfoList list = ask(full_hints(FI_MSG).get());
    return list ? list->fabric_attr->prov_name : "";
}

}  // namespace duofi::test
