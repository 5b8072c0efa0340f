// Rules for network interfaces of providers that speak sockaddr: reports A6 and A7, net
// contract 4.4. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace duofi::ofi {

/// A comma list in the grammar that users know from the callers' own interface lists: names are
/// prefixes; '=' before the first makes all of them exact, before another one that one. Empty
/// elements are skipped (A3).
class InterfaceNames {
  public:
    InterfaceNames() = default;
    [[nodiscard]] static InterfaceNames parse(std::string_view list);
    [[nodiscard]] bool matches(std::string_view interface) const noexcept;
    [[nodiscard]] bool empty() const noexcept { return names_.empty(); }
    /// The list in its normal form: "docker,br-,=lo".
    [[nodiscard]] std::string text() const;

  private:
    struct Name {
        std::string text;
        bool exact = false;
    };
    std::vector<Name> names_;
};

/// What the rules say about one interface, best first.
enum class Verdict : std::uint8_t {
    use,
    only_if_alone,  ///< loopback, not named by the user: used when nothing else is left (A6)
    last_resort,  ///< left out by the default list alone: used when not even loopback is left (A7)
    refused,      ///< by the user
};

class InterfaceFilter {
  public:
    /// `exclude` unset: the default list of report A7. Set: it replaces that list; a leading '^'
    /// changes nothing, since every name is one to leave out. `include` not empty: the only
    /// interfaces to use, and naming one there overrides every other rule. Loopback is never
    /// brought in by an exclude list (A6).
    explicit InterfaceFilter(const std::optional<std::string>& exclude = std::nullopt,
                             std::string_view include = {});

    [[nodiscard]] Verdict judge(std::string_view interface, bool loopback) const noexcept;
    /// True when the user asked for this interface by name.
    [[nodiscard]] bool named(std::string_view interface) const noexcept;
    /// Why `judge` did not say `use`, with the variable to change.
    [[nodiscard]] std::string reason(std::string_view interface, bool loopback) const;
    /// Is a list of the user's own in force?
    [[nodiscard]] bool of_user() const noexcept { return !default_list_ || !include_.empty(); }
    /// The filter in force as `variable=value` (A21).
    [[nodiscard]] std::string describe() const;

  private:
    InterfaceNames include_, exclude_;
    bool default_list_ = true;
};

}  // namespace duofi::ofi
