// PCI address "dddd:bb:dd.f" as a value. Any thread.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace duofi::topology {

struct PciAddress {
    std::uint32_t domain = 0;  ///< 16 bits in general, 32 on some virtual machines
    std::uint8_t bus = 0;
    std::uint8_t device = 0;    ///< 0..31
    std::uint8_t function = 0;  ///< 0..7

    auto operator<=>(const PciAddress&) const = default;

    /// Accepts "dddd:bb:dd.f" (4 to 8 hex digits of domain) and "bb:dd.f"; nothing else.
    [[nodiscard]] static std::optional<PciAddress> parse(std::string_view text) noexcept;
    /// Lower-case "dddd:bb:dd.f", as sysfs spells it.
    [[nodiscard]] std::string text() const;
    /// domain<<24 | bus<<16 | device<<8 | function (net contract 6.4).
    [[nodiscard]] std::uint64_t packed() const noexcept;
};

}  // namespace duofi::topology
