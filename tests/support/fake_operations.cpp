// The tables of operations behind tests/support/fake_fabric.hpp. One lock for the whole provider.
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
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

Facts& facts_of(fid* object) { return *static_cast<Facts*>(object->context); }

template <typename Fid>
Facts& facts_of(Fid* object) {
    return facts_of(&object->fid);
}

// One table of operations per place that asks: what `fill` leaves out stays NULL.
template <typename Table, typename Fill>
Table* table_of(Fill&& fill) {
    static Table table = [&] {
        Table made{};
        made.size = sizeof(Table);
        fill(made);
        return made;
    }();
    return &table;
}

const char* kind_of(std::size_t fclass) {
    switch (fclass) {
        case FI_CLASS_FABRIC: return "fabric";
        case FI_CLASS_DOMAIN: return "domain";
        case FI_CLASS_AV: return "av";
        case FI_CLASS_CQ: return "cq";
        case FI_CLASS_EP: return "ep";
        default: return "mr";
    }
}

}  // namespace

struct FakeOperations {
    using Lock = std::scoped_lock<std::mutex>;

    // The body of every opening call: the script may let it fail, `fill` puts in the tables and may refuse too.
    template <typename Fid, typename Fill>
    static int open(FakeFabric& fabric, const char* call, std::size_t fclass, Fid** out, Fill&& fill) {
        const Lock lock(fabric.mutex_);
        if (const int code = fabric.take_failure(call)) return code;
        auto object = std::make_unique<Object<Fid>>();
        object->fid.fid.fclass = fclass;
        object->fid.fid.context = &object->facts;
        object->fid.fid.ops = table_of<fi_ops>([](fi_ops& t) {
            t.close = &FakeOperations::close<Fid>;
            t.bind = &FakeOperations::bind;
            t.control = &FakeOperations::control;
        });
        object->facts.fabric = &fabric;
        if (const int code = fill(*object)) return code;
        fabric.opened(kind_of(fclass));
        *out = &object.release()->fid;
        return 0;
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

    static ssize_t post(fid_ep* ep, const void* data, std::size_t size, void* descriptor, fi_addr_t to, bool tagged,
                        std::uint64_t tag, void* context) {
        FakeEndpoint& self = *facts_of(ep).endpoint;
        const Lock lock(self.fabric_.mutex_);
        const auto* first = static_cast<const std::byte*>(data);
        return self.post_send(
            {self.fabric_.addresses_.at(to), {first, first + size}, context, descriptor, tagged, tag, 0});
    }
    // fi_write names constant bytes, fi_read writable ones.
    template <typename Data>
    static ssize_t transfer(fid_ep* ep, Data* data, std::size_t size, void* descriptor, fi_addr_t peer,
                            std::uint64_t address, std::uint64_t key, void* context) {
        FakeEndpoint& self = *facts_of(ep).endpoint;
        const Lock lock(self.fabric_.mutex_);
        auto* first = static_cast<std::byte*>(const_cast<void*>(data));
        return self.post_transfer({!std::is_const_v<Data>, self.fabric_.addresses_.at(peer), first, size, descriptor,
                                   address, key, context, 0, false});
    }
    static ssize_t write_message(fid_ep* ep, const fi_msg_rma* write, std::uint64_t flags) {
        FakeEndpoint& self = *facts_of(ep).endpoint;
        const Lock lock(self.fabric_.mutex_);
        return self.post_transfer({false, self.fabric_.addresses_.at(write->addr),
                                   static_cast<std::byte*>(write->msg_iov->iov_base), write->msg_iov->iov_len,
                                   *write->desc, write->rma_iov->addr, write->rma_iov->key, write->context, 0,
                                   (flags & FI_DELIVERY_COMPLETE) != 0});
    }
    static ssize_t send(fid_ep* ep, const void* data, std::size_t size, void* descriptor, fi_addr_t to,
                        void* context) {
        return post(ep, data, size, descriptor, to, false, 0, context);
    }
    static ssize_t tagged_send(fid_ep* ep, const void* data, std::size_t size, void* descriptor, fi_addr_t to,
                               std::uint64_t tag, void* context) {
        return post(ep, data, size, descriptor, to, true, tag, context);
    }
    static ssize_t receive(fid_ep* ep, void* data, std::size_t size, void*, fi_addr_t, void* context) {
        FakeEndpoint& self = *facts_of(ep).endpoint;
        const Lock lock(self.fabric_.mutex_);
        return self.post_receive({static_cast<std::byte*>(data), size, context});
    }
    static ssize_t tagged_receive(fid_ep* ep, void*, std::size_t, void*, fi_addr_t, std::uint64_t tag,
                                  std::uint64_t, void* context) {
        FakeEndpoint& self = *facts_of(ep).endpoint;
        const Lock lock(self.fabric_.mutex_);
        return self.post_tagged_receive({tag, context});
    }
    static ssize_t cancel(fid* fid, void* context) {
        FakeEndpoint& self = *facts_of(fid).endpoint;
        const Lock lock(self.fabric_.mutex_);
        return self.cancel(context);
    }

    static ssize_t read(fid_cq* cq, void* out, std::size_t count) {
        const Facts& facts = facts_of(cq);
        const Lock lock(facts.fabric->mutex_);
        if (facts.endpoint == nullptr) return -FI_EAGAIN;
        return facts.endpoint->read(static_cast<fi_cq_tagged_entry*>(out), count);
    }
    static ssize_t read_error(fid_cq* cq, fi_cq_err_entry* out, std::uint64_t) {
        const Facts& facts = facts_of(cq);
        const Lock lock(facts.fabric->mutex_);
        return facts.endpoint != nullptr ? facts.endpoint->read_error(*out) : -FI_EAGAIN;
    }

    static int open_av(fid_domain* domain, fi_av_attr*, fid_av** out, void*) {
        return open(*facts_of(domain).fabric, "fi_av_open", FI_CLASS_AV, out, [](Object<fid_av>& object) {
            object.fid.ops = table_of<fi_ops_av>([](fi_ops_av& t) {
                t.insert = insert;
                t.remove = remove;
                t.straddr = to_text;
            });
            return 0;
        });
    }

    static int open_cq(fid_domain* domain, fi_cq_attr*, fid_cq** out, void*) {
        return open(*facts_of(domain).fabric, "fi_cq_open", FI_CLASS_CQ, out, [](Object<fid_cq>& object) {
            object.fid.ops = table_of<fi_ops_cq>([](fi_ops_cq& t) {
                t.read = read;
                t.readerr = read_error;
            });
            return 0;
        });
    }

    static int open_endpoint(fid_domain* domain, fi_info*, fid_ep** out, void*) {
        FakeFabric& fabric = *facts_of(domain).fabric;
        return open(fabric, "fi_endpoint", FI_CLASS_EP, out, [&](Object<fid_ep>& object) {
            object.fid.ops = table_of<fi_ops_ep>([](fi_ops_ep& t) { t.cancel = cancel; });
            object.fid.cm = table_of<fi_ops_cm>([](fi_ops_cm& t) { t.getname = get_name; });
            object.fid.msg = table_of<fi_ops_msg>([](fi_ops_msg& t) {
                t.recv = receive;
                t.send = send;
            });
            object.fid.tagged = table_of<fi_ops_tagged>([](fi_ops_tagged& t) {
                t.recv = tagged_receive;
                t.send = tagged_send;
            });
            object.fid.rma = table_of<fi_ops_rma>([](fi_ops_rma& t) {
                t.read = transfer<void>;
                t.write = transfer<const void>;
                t.writemsg = write_message;
            });
            fabric.endpoints_.emplace_back(new FakeEndpoint(fabric, kFirstNumber + fabric.endpoints_.size()));
            object.facts.endpoint = fabric.endpoints_.back().get();
            return 0;
        });
    }

    static int register_region(fid* domain, const fi_mr_attr* attributes, std::uint64_t, fid_mr** out) {
        FakeFabric& fabric = *facts_of(domain).fabric;
        return open(fabric, "fi_mr_regattr", FI_CLASS_MR, out, [&](Object<fid_mr>& object) {
            const bool own_key = (fabric.mr_mode_ & FI_MR_PROV_KEY) == 0;
            const std::uint64_t key = own_key ? attributes->requested_key : 1 + fabric.keys_.size();
            if (own_key && !fabric.keys_.insert(key).second) return -FI_ENOKEY;  // P7
            object.facts.key = object.fid.key = key;
            object.fid.mem_desc = &object;
            return 0;
        });
    }

    static int open_domain(fid_fabric* fabric, fi_info* info, fid_domain** out, void*) {
        FakeFabric& self = *facts_of(fabric).fabric;
        return open(self, "fi_domain", FI_CLASS_DOMAIN, out, [&](Object<fid_domain>& object) {
            self.mr_mode_ = info->domain_attr->mr_mode;
            object.fid.ops = table_of<fi_ops_domain>([](fi_ops_domain& t) {
                t.av_open = open_av;
                t.cq_open = open_cq;
                t.endpoint = open_endpoint;
            });
            object.fid.mr = table_of<fi_ops_mr>([](fi_ops_mr& t) { t.regattr = register_region; });
            return 0;
        });
    }

    static int open_fabric(FakeFabric& fabric, fid_fabric** out) {
        return open(fabric, "fi_fabric", FI_CLASS_FABRIC, out, [](Object<fid_fabric>& object) {
            object.fid.ops = table_of<fi_ops_fabric>([](fi_ops_fabric& t) { t.domain = open_domain; });
            return 0;
        });
    }
};

}  // namespace duofi::test

int __wrap_fi_fabric(fi_fabric_attr* attributes, fid_fabric** fabric, void* context) {
    using namespace duofi::test;
    const bool ours = attributes->prov_name != nullptr && std::strcmp(attributes->prov_name, FakeFabric::kProvider) == 0;
    if (!ours) return __real_fi_fabric(attributes, fabric, context);
    FakeFabric* self = FakeFabric::current();
    return self != nullptr ? FakeOperations::open_fabric(*self, fabric) : -FI_ENODEV;
}
