#include "common/topology/pci_address.hpp"

#include <fmt/core.h>

#include <charconv>

namespace duofi::topology {
namespace {

/// Takes a hex field of min..max digits off the front of `text`.
std::optional<std::uint32_t> take_hex(std::string_view& text, std::size_t min,
                                      std::size_t max) noexcept {
    std::uint32_t value = 0;
    const char* const begin = text.data();
    const char* const limit = begin + (text.size() < max ? text.size() : max);
    const auto [end, error] = std::from_chars(begin, limit, value, 16);
    const auto digits = static_cast<std::size_t>(end - begin);
    if (error != std::errc{} || digits < min) return std::nullopt;
    text.remove_prefix(digits);
    return value;
}

bool take(std::string_view& text, char c) noexcept {
    if (text.empty() || text.front() != c) return false;
    text.remove_prefix(1);
    return true;
}

}  // namespace

std::optional<PciAddress> PciAddress::parse(std::string_view text) noexcept {
    PciAddress address;
    if (text.find(':') != text.rfind(':')) {
        const auto domain = take_hex(text, 4, 8);
        if (!domain || !take(text, ':')) return std::nullopt;
        address.domain = *domain;
    }
    const auto bus = take_hex(text, 2, 2);
    if (!bus || !take(text, ':')) return std::nullopt;
    const auto device = take_hex(text, 2, 2);
    if (!device || *device > 31 || !take(text, '.')) return std::nullopt;
    const auto function = take_hex(text, 1, 1);
    if (!function || *function > 7 || !text.empty()) return std::nullopt;
    address.bus = static_cast<std::uint8_t>(*bus);
    address.device = static_cast<std::uint8_t>(*device);
    address.function = static_cast<std::uint8_t>(*function);
    return address;
}

std::string PciAddress::text() const {
    return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain, bus, device, function);
}

std::uint64_t PciAddress::packed() const noexcept {
    return (std::uint64_t{domain} << 24) | (std::uint64_t{bus} << 16) |
           (std::uint64_t{device} << 8) | function;
}

}  // namespace duofi::topology
