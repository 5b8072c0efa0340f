#include "common/topology/guid.hpp"

#include <sys/utsname.h>

#include <string>

#include "common/util/host_identity.hpp"

namespace duofi::topology {
namespace {

/// FNV-1a, 64 bits, with a final mix so that short names spread over all bits.
class Hash {
  public:
    void add(std::string_view text) noexcept {
        for (const char c : text) add_byte(static_cast<unsigned char>(c));
        add_byte(0);
    }
    void add(std::uint64_t value) noexcept {
        for (int shift = 0; shift < 64; shift += 8)
            add_byte(static_cast<unsigned char>(value >> shift));
    }
    [[nodiscard]] std::uint64_t value() const noexcept {
        std::uint64_t x = state_;
        x ^= x >> 33;
        x *= 0xff51afd7ed558ccdULL;
        x ^= x >> 33;
        return x;
    }

  private:
    void add_byte(unsigned char byte) noexcept {
        state_ ^= byte;
        state_ *= 0x100000001b3ULL;
    }
    std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

}  // namespace

std::uint64_t host_id(const Sysfs& sysfs) {
    const std::filesystem::path proc = sysfs.root() / "proc";
    const std::uint64_t boot = read_host_identity(proc.c_str()).boot_hash;
    if (boot != 0) return boot;
    Hash hash;
    utsname names{};
    hash.add(::uname(&names) == 0 ? std::string_view(names.nodename) : std::string_view("node"));
    return hash.value();
}

std::uint64_t pci_guid(std::uint64_t host, const PciAddress& address) noexcept {
    // XOR with a constant per node keeps addresses of one node apart.
    return host ^ address.packed();
}

std::uint64_t interface_guid(std::uint64_t host, const Sysfs& sysfs, std::string_view interface) {
    Hash hash;
    hash.add(host);
    hash.add(sysfs.link_text("/proc/self/ns/net").value_or(""));
    hash.add(interface);
    return hash.value();
}

}  // namespace duofi::topology
