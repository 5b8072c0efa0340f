// The tables of operations behind tests/support/fake_fabric.hpp. One lock for the whole provider.
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_tagged.h>

#include <cstdio>
#include <cstring>

#include "tests/support/fake_fabric.hpp"

extern "C" {
// Names that the linker's --wrap demands.
// NOLINTBEGIN(bugprone-reserved-identifier)
int __real_fi_fabric(fi_fabric_attr* attributes, fid_fabric** fabric, void* context);
int __wrap_fi_fabric(fi_fabric_attr* attributes, fid_fabric** fabric, void* context);
// NOLINTEND(bugprone-reserved-identifier)
}

namespace duofi::test {

namespace {

constexpr std::uint64_t kFirstNumber = 1;

// What stands behind an object; its fid's context points here.
struct Facts {
    FakeFabric* fabric = nullptr;
    FakeEndpoint* endpoint = nullptr;
    std::uint64_t key = 0;
};

template <typename Fid>
struct Object {
    Fid fid{};  // first: libfabric's pointer is the object's
    Facts facts;
};

Facts& facts_of(fid* object) {
    return *static_cast<Facts*>(object->context);
}

template <typename Fid>
Facts& facts_of(Fid* object) {
    return facts_of(&object->fid);
}

}  // namespace

struct FakeOperations {
    using Lock = std::scoped_lock<std::mutex>;

    template <typename Fid>
    static Object<Fid>* make(FakeFabric& fabric, const char* kind, std::size_t fclass) {
        static fi_ops common = [] {
        fi_ops t{};
        t.size = sizeof(fi_ops);
        t.close = &FakeOperations::close<Fid>;
        t.bind = &FakeOperations::bind;
        t.control = &FakeOperations::control;
        return t;
    }();
        auto* object = new Object<Fid>;
        object->fid.fid.fclass = fclass;
        object->fid.fid.context = &object->facts;
        object->fid.fid.ops = &common;
        object->facts.fabric = &fabric;
        fabric.opened(kind);
        return object;
    }

    static const char* kind_of(std::size_t fclass) {
        switch (fclass) {
            case FI_CLASS_FABRIC: return "fabric";
            case FI_CLASS_DOMAIN: return "domain";
            case FI_CLASS_AV: return "av";
            case FI_CLASS_CQ: return "cq";
            case FI_CLASS_EP: return "ep";
            default: return "mr";
        }
    }

    template <typename Fid>
    static int close(fid* fid) {
        const Facts& facts = facts_of(fid);
        {
            const Lock lock(facts.fabric->mutex_);
            facts.fabric->close(kind_of(fid->fclass));
            if (fid->fclass == FI_CLASS_EP) facts.endpoint->open_ = false;
            if (fid->fclass == FI_CLASS_MR) facts.fabric->keys_.erase(facts.key);
        }
        delete reinterpret_cast<Object<Fid>*>(fid);
        return 0;
    }

    static int bind(struct fid* fid, struct fid* other, std::uint64_t) {
        auto& object = facts_of(fid);
        const Lock lock(object.fabric->mutex_);
        if (fid->fclass == FI_CLASS_MR) return object.fabric->take_failure("fi_mr_bind");
        if (const int code = object.fabric->take_failure("fi_ep_bind")) return code;
        if (other->fclass == FI_CLASS_CQ) facts_of(other).endpoint = object.endpoint;
        return 0;
    }

    static int control(fid* fid, int command, void*) {
        if (command != FI_ENABLE) return -FI_ENOSYS;
        auto& fabric = *facts_of(fid).fabric;
        const Lock lock(fabric.mutex_);
        const bool region = fid->fclass == FI_CLASS_MR;
        const int code = fabric.take_failure(region ? "fi_mr_enable" : "fi_enable");
        if (code == 0 && region) ++fabric.enabled_;
        return code;
    }

    static int open_domain(fid_fabric* fabric, fi_info* info, fid_domain** out, void*);
    static int open_av(fid_domain* domain, fi_av_attr*, fid_av** out, void*);
    static int open_cq(fid_domain* domain, fi_cq_attr*, fid_cq** out, void*);
    static int open_endpoint(fid_domain* domain, fi_info*, fid_ep** out, void*);
    static int register_region(fid* domain, const fi_mr_attr* attributes, std::uint64_t, fid_mr** out);
    static int open_fabric(FakeFabric& fabric, fid_fabric** out);

    static int get_name(fid* fid, void* out, std::size_t* length) {
        auto& object = facts_of(fid);
        const Lock lock(object.fabric->mutex_);
        if (const int code = object.fabric->take_failure("fi_getname")) return code;
        const std::uint64_t number = object.endpoint->number_;
        if (*length < sizeof(number)) return -FI_ETOOSMALL;
        std::memcpy(out, &number, sizeof(number));
        *length = sizeof(number);
        return 0;
    }

    static int insert(fid_av* av, const void* address, std::size_t count, fi_addr_t* out, std::uint64_t,
                      void*) {
        auto& fabric = *facts_of(av).fabric;
        const Lock lock(fabric.mutex_);
        if (const int code = fabric.take_failure("fi_av_insert")) return code;
        for (std::size_t i = 0; i < count; ++i) {
            std::uint64_t number = 0;
            std::memcpy(&number, static_cast<const std::byte*>(address) + i * sizeof(number), sizeof(number));
            fabric.addresses_.push_back(number);
            out[i] = fabric.addresses_.size() - 1;
            ++fabric.inserts_;
        }
        return static_cast<int>(count);
    }

    static int remove(fid_av* av, fi_addr_t*, std::size_t count, std::uint64_t) {
        auto& fabric = *facts_of(av).fabric;
        const Lock lock(fabric.mutex_);
        fabric.removes_ += static_cast<int>(count);
        return 0;
    }

    static const char* to_text(fid_av*, const void* address, char* out, std::size_t* length) {
        std::uint64_t number = 0;
        std::memcpy(&number, address, sizeof(number));
        const int written = std::snprintf(out, *length, "fake://%llu", static_cast<unsigned long long>(number));
        *length = static_cast<std::size_t>(written) + 1;
        return out;
    }

    static ssize_t post_send(fid_ep* ep, const void* data, std::size_t size, void* descriptor, fi_addr_t to,
                             bool tagged, std::uint64_t tag, void* context) {
        FakeEndpoint& self = *facts_of(ep).endpoint;
        FakeFabric& fabric = self.fabric_;
        const Lock lock(fabric.mutex_);
        ++self.attempts_;
        if (self.send_refusals_ != 0) {
            if (self.send_refusals_ > 0) --self.send_refusals_;
            return self.send_code_;
        }
        const auto* first = static_cast<const std::byte*>(data);
        FakeSend send{fabric.addresses_.at(to), {first, first + size}, context, descriptor, tagged, tag};
        self.sent_.push_back(send);
        for (auto& other : fabric.endpoints_) {
            if (!other->open_ || other->number_ != send.remote || tagged) continue;
            other->inbox_.push_back(send.bytes);
            other->arrive();
        }
        self.in_flight_.push_back(std::move(send));
        if (!self.hold_) self.finish_send(0, 0);
        return 0;
    }

    static ssize_t send(fid_ep* ep, const void* data, std::size_t size, void* descriptor, fi_addr_t to,
                        void* context) {
        return post_send(ep, data, size, descriptor, to, false, 0, context);
    }
    static ssize_t tagged_send(fid_ep* ep, const void* data, std::size_t size, void* descriptor, fi_addr_t to,
                               std::uint64_t tag, void* context) {
        return post_send(ep, data, size, descriptor, to, true, tag, context);
    }

    static int refuse_receive(FakeEndpoint& self) {
        if (self.receive_refusals_ == 0) return 0;
        if (self.receive_refusals_ > 0) --self.receive_refusals_;
        return static_cast<int>(self.receive_code_);
    }
    static ssize_t receive(fid_ep* ep, void* data, std::size_t size, void*, fi_addr_t, void* context) {
        FakeEndpoint& self = *facts_of(ep).endpoint;
        const Lock lock(self.fabric_.mutex_);
        if (const int code = refuse_receive(self)) return code;
        self.receives_.push_back({static_cast<std::byte*>(data), size, context});
        self.arrive();
        return 0;
    }
    static ssize_t tagged_receive(fid_ep* ep, void*, std::size_t, void*, fi_addr_t, std::uint64_t,
                                  std::uint64_t, void*) {
        FakeEndpoint& self = *facts_of(ep).endpoint;
        const Lock lock(self.fabric_.mutex_);
        return refuse_receive(self);
    }

    // fi_cancel: the send is reported as cancelled, if it is still in flight (P12).
    static ssize_t cancel(fid* fid, void* context) {
        FakeEndpoint& self = *facts_of(fid).endpoint;
        const Lock lock(self.fabric_.mutex_);
        for (std::size_t i = 0; i < self.in_flight_.size(); ++i) {
            if (self.in_flight_[i].context != context) continue;
            self.finish_send(i, FI_ECANCELED);
            return 0;
        }
        return -FI_ENOENT;
    }

    static ssize_t read(fid_cq* cq, void* out, std::size_t count) {
        auto& object = facts_of(cq);
        const Lock lock(object.fabric->mutex_);
        FakeEndpoint* self = object.endpoint;
        if (self == nullptr || self->events_.empty()) return -FI_EAGAIN;
        if (self->events_.front().error != 0) return -FI_EAVAIL;
        auto* entries = static_cast<fi_cq_tagged_entry*>(out);
        std::size_t filled = 0;
        while (filled < count && filled < self->events_.size() && self->events_[filled].error == 0) {
            const FakeEndpoint::Event& event = self->events_[filled];
            entries[filled++] = {event.context, event.flags, event.length, nullptr, 0, event.tag};
        }
        self->events_.erase(self->events_.begin(), self->events_.begin() + static_cast<std::ptrdiff_t>(filled));
        return static_cast<ssize_t>(filled);
    }

    static ssize_t read_error(fid_cq* cq, fi_cq_err_entry* out, std::uint64_t) {
        auto& object = facts_of(cq);
        const Lock lock(object.fabric->mutex_);
        FakeEndpoint* self = object.endpoint;
        if (self == nullptr || self->events_.empty() || self->events_.front().error == 0) return -FI_EAGAIN;
        if (self->hidden_errors_ > 0) {
            --self->hidden_errors_;
            return -FI_EAGAIN;
        }
        const FakeEndpoint::Event event = self->events_.front();
        self->events_.erase(self->events_.begin());
        out->op_context = event.context;
        out->flags = event.flags;
        out->err = event.error;
        return 1;
    }
};

int FakeOperations::open_av(fid_domain* domain, fi_av_attr*, fid_av** out, void*) {
    static fi_ops_av table = [] {
        fi_ops_av t{};
        t.size = sizeof(fi_ops_av);
        t.insert = insert;
        t.remove = remove;
        t.straddr = to_text;
        return t;
    }();
    auto& fabric = *facts_of(domain).fabric;
    const Lock lock(fabric.mutex_);
    if (const int code = fabric.take_failure("fi_av_open")) return code;
    auto* object = make<fid_av>(fabric, "av", FI_CLASS_AV);
    object->fid.ops = &table;
    *out = &object->fid;
    return 0;
}

int FakeOperations::open_cq(fid_domain* domain, fi_cq_attr*, fid_cq** out, void*) {
    static fi_ops_cq table = [] {
        fi_ops_cq t{};
        t.size = sizeof(fi_ops_cq);
        t.read = read;
        t.readerr = read_error;
        return t;
    }();
    auto& fabric = *facts_of(domain).fabric;
    const Lock lock(fabric.mutex_);
    if (const int code = fabric.take_failure("fi_cq_open")) return code;
    auto* object = make<fid_cq>(fabric, "cq", FI_CLASS_CQ);
    object->fid.ops = &table;
    *out = &object->fid;
    return 0;
}

int FakeOperations::open_endpoint(fid_domain* domain, fi_info*, fid_ep** out, void*) {
    static fi_ops_ep endpoint = [] {
        fi_ops_ep t{};
        t.size = sizeof(fi_ops_ep);
        t.cancel = cancel;
        return t;
    }();
    static fi_ops_cm names = [] {
        fi_ops_cm t{};
        t.size = sizeof(fi_ops_cm);
        t.getname = get_name;
        return t;
    }();
    static fi_ops_msg messages = [] {
        fi_ops_msg t{};
        t.size = sizeof(fi_ops_msg);
        t.recv = receive;
        t.send = send;
        return t;
    }();
    static fi_ops_tagged tagged = [] {
        fi_ops_tagged t{};
        t.size = sizeof(fi_ops_tagged);
        t.recv = tagged_receive;
        t.send = tagged_send;
        return t;
    }();
    auto& fabric = *facts_of(domain).fabric;
    const Lock lock(fabric.mutex_);
    if (const int code = fabric.take_failure("fi_endpoint")) return code;
    auto* object = make<fid_ep>(fabric, "ep", FI_CLASS_EP);
    object->fid.ops = &endpoint;
    object->fid.cm = &names;
    object->fid.msg = &messages;
    object->fid.tagged = &tagged;
    fabric.endpoints_.emplace_back(new FakeEndpoint(fabric, kFirstNumber + fabric.endpoints_.size()));
    object->facts.endpoint = fabric.endpoints_.back().get();
    *out = &object->fid;
    return 0;
}

int FakeOperations::register_region(fid* domain, const fi_mr_attr* attributes, std::uint64_t, fid_mr** out) {
    auto& fabric = *facts_of(domain).fabric;
    const Lock lock(fabric.mutex_);
    if (const int code = fabric.take_failure("fi_mr_regattr")) return code;
    const bool own_key = (fabric.mr_mode_ & FI_MR_PROV_KEY) == 0;
    const std::uint64_t key = own_key ? attributes->requested_key : 1 + fabric.keys_.size();
    if (own_key && !fabric.keys_.insert(key).second) return -FI_ENOKEY;  // P7
    auto* object = make<fid_mr>(fabric, "mr", FI_CLASS_MR);
    object->facts.key = object->fid.key = key;
    object->fid.mem_desc = object;
    *out = &object->fid;
    return 0;
}

int FakeOperations::open_domain(fid_fabric* fabric, fi_info* info, fid_domain** out, void*) {
    static fi_ops_domain table = [] {
        fi_ops_domain t{};
        t.size = sizeof(fi_ops_domain);
        t.av_open = open_av;
        t.cq_open = open_cq;
        t.endpoint = open_endpoint;
        return t;
    }();
    static fi_ops_mr regions = [] {
        fi_ops_mr t{};
        t.size = sizeof(fi_ops_mr);
        t.regattr = register_region;
        return t;
    }();
    auto& self = *facts_of(fabric).fabric;
    const Lock lock(self.mutex_);
    if (const int code = self.take_failure("fi_domain")) return code;
    self.mr_mode_ = info->domain_attr->mr_mode;
    auto* object = make<fid_domain>(self, "domain", FI_CLASS_DOMAIN);
    object->fid.ops = &table;
    object->fid.mr = &regions;
    *out = &object->fid;
    return 0;
}

int FakeOperations::open_fabric(FakeFabric& fabric, fid_fabric** out) {
    static fi_ops_fabric table = [] {
        fi_ops_fabric t{};
        t.size = sizeof(fi_ops_fabric);
        t.domain = open_domain;
        return t;
    }();
    const Lock lock(fabric.mutex_);
    if (const int code = fabric.take_failure("fi_fabric")) return code;
    auto* object = make<fid_fabric>(fabric, "fabric", FI_CLASS_FABRIC);
    object->fid.ops = &table;
    *out = &object->fid;
    return 0;
}

}  // namespace duofi::test

int __wrap_fi_fabric(fi_fabric_attr* attributes, fid_fabric** fabric, void* context) {
    using namespace duofi::test;
    const bool ours = attributes->prov_name != nullptr && std::strcmp(attributes->prov_name, FakeFabric::kProvider) == 0;
    if (!ours) return __real_fi_fabric(attributes, fabric, context);
    FakeFabric* self = FakeFabric::current();
    return self != nullptr ? FakeOperations::open_fabric(*self, fabric) : -FI_ENODEV;
}
