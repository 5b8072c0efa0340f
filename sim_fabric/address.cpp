#include "sim_fabric/address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <rdma/fi_errno.h>
#include <sys/random.h>

#include <cstdio>
#include <cstring>
#include <memory>

#include "sim_fabric/knobs.hpp"

namespace duofi::sim {
namespace {

// The shapes of prov/efa/src/efa.h (struct efa_ep_addr: GID, number and key of the queue pair) and of
// prov/cxi/include/cxip.h (struct cxip_addr: numbers of the process and of the NIC, virtual network).
Name make_name(const Personality& personality, unsigned nic, std::uint64_t word) {
    const std::uint32_t low = static_cast<std::uint32_t>(word), high = static_cast<std::uint32_t>(word >> 32);
    char text[32];
    if (personality.address_format == FI_ADDR_STR) {
        const int length = std::snprintf(text, sizeof(text), "duofisim:%08x%08x", high, low);
        return Name(text, static_cast<std::size_t>(length) + 1);
    }
    std::uint32_t words[8] = {};
    if (personality.address_format == FI_ADDR_EFA) {
        words[0] = htonl(0xfe800000U);
        words[3] = htonl(nic + 1);
        words[4] = low & 0xffff;
        words[5] = high;
        return Name(reinterpret_cast<const char*>(words), 32);
    }
    if (personality.address_format == FI_ADDR_CXI) {
        words[0] = (low & 0x1ff) | (nic + 1) << 9;
        words[1] = high & 0xffff;
        return Name(reinterpret_cast<const char*>(words), 8);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(0x0a4d0001U + (nic << 8));  // 10.77.<nic>.1
    address.sin_port = word == 0 ? std::uint16_t{0} : htons(static_cast<std::uint16_t>(1024 + low % 64000));
    return Name(reinterpret_cast<const char*>(&address), sizeof(address));
}

std::string name_text(const Personality& personality, const Name& name) {
    if (personality.address_format == FI_ADDR_STR) return name.c_str();
    std::string out = std::string("fi_addr_") + personality.provider + "://";
    char digits[4];
    for (const char byte : name) {
        std::snprintf(digits, sizeof(digits), "%02x", static_cast<unsigned>(static_cast<unsigned char>(byte)));
        out += digits;
    }
    return out;
}

}  // namespace

Name wildcard_name(const Personality& personality, unsigned nic) { return make_name(personality, nic, 0); }

Name random_name(const Personality& personality, unsigned nic) {
    std::uint64_t word = 0;
    while (::getrandom(&word, sizeof(word), 0) != sizeof(word)) {}
    return make_name(personality, nic, word | 1);
}

std::size_t name_bytes(const Personality& personality) noexcept { return wildcard_name(personality, 0).size(); }

int AddressVector::open(fid_domain*, fi_av_attr* attributes, fid_av** av, void* context) {
    if (const int code = failing(Site::av_open); code != 0) return code;
    static auto ops = [] {
        using Ops = fi_ops_av;
        auto made = refusing<Ops, &Ops::insertsvc, &Ops::insertsym, &Ops::lookup, &Ops::av_set>();
        made.insert = insert;
        made.remove = remove;
        made.straddr = straddr;
        return made;
    }();
    static fi_ops base = object_ops(close);
    std::unique_ptr<AddressVector> made(new AddressVector);
    made->fid = {FI_CLASS_AV, context, &base};
    made->ops = &ops;
    if (attributes != nullptr) attributes->type = FI_AV_TABLE;
    *av = made.release();
    return 0;
}

int AddressVector::close(Fid* object) {
    delete static_cast<AddressVector*>(reinterpret_cast<fid_av*>(object));
    return 0;
}

// fi_av(3): returns how many were inserted, or, where nothing could be, an error.
int AddressVector::insert(fid_av* av, const void* address, std::size_t count, fi_addr_t* out, std::uint64_t, void*) {
    if (const int code = failing(Site::av_insert); code != 0) return code;
    auto& self = *static_cast<AddressVector*>(av);
    const std::size_t bytes = name_bytes(*knobs().personality);
    const std::scoped_lock lock(self.mutex_);
    for (std::size_t i = 0; i < count; ++i) {
        const Name name(static_cast<const char*>(address) + i * bytes, bytes);
        const auto [place, added] = self.numbers_.try_emplace(name, self.entries_.size());
        if (added) self.entries_.push_back({name, 0});
        ++self.entries_[place->second].uses;
        if (out != nullptr) out[i] = place->second;
    }
    return static_cast<int>(count);
}

int AddressVector::remove(fid_av* av, fi_addr_t* addresses, std::size_t count, std::uint64_t) {
    auto& self = *static_cast<AddressVector*>(av);
    const std::scoped_lock lock(self.mutex_);
    for (std::size_t i = 0; i < count; ++i) {
        if (addresses[i] >= self.entries_.size() || self.entries_[addresses[i]].uses == 0) return -FI_EINVAL;
        Entry& entry = self.entries_[addresses[i]];
        if (--entry.uses != 0) continue;
        self.numbers_.erase(entry.name);
        entry.name.clear();
    }
    return 0;
}

const char* AddressVector::straddr(fid_av*, const void* address, char* text, std::size_t* length) {
    const Personality& is = *knobs().personality;
    const std::string name = name_text(is, Name(static_cast<const char*>(address), name_bytes(is)));
    if (*length != 0) std::snprintf(text, *length, "%s", name.c_str());
    *length = name.size() + 1;
    return text;
}

Name AddressVector::name_of(fi_addr_t address) const {
    const std::scoped_lock lock(mutex_);
    return address < entries_.size() ? entries_[address].name : Name();
}

fi_addr_t AddressVector::find(const Name& name) const {
    const std::scoped_lock lock(mutex_);
    const auto known = numbers_.find(name);
    return known != numbers_.end() ? known->second : FI_ADDR_NOTAVAIL;
}

}  // namespace duofi::sim
