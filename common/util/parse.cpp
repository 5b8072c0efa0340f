#include "common/util/parse.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>

namespace duofi {
namespace {

bool is_letter(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) noexcept {
    return c >= '0' && c <= '9';
}
bool is_blank(char c) noexcept {
    return c == ' ' || (c >= '\t' && c <= '\r');
}
char lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

auto malformed(const char* place) {
    return fail(Errc::invalid_argument, place, EINVAL);
}
auto out_of_range(const char* place) {
    return fail(Errc::invalid_argument, place, ERANGE);
}

// Takes a number from the front of `text`. A leading '+' is skipped, since from_chars refuses it.
template <typename N>
Result<N> take_number(std::string_view& text, const char* place) {
    if (text.size() > 1 && text.front() == '+' && (is_digit(text[1]) || text[1] == '.'))
        text.remove_prefix(1);
    N value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::result_out_of_range) return out_of_range(place);
    if (error != std::errc{}) return malformed(place);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return value;
}

// Factor of a size suffix; 0 when it is none.
std::int64_t size_factor(std::string_view suffix) noexcept {
    if (suffix.empty()) return 1;
    std::int64_t factor = 0;
    switch (lower(suffix.front())) {
        case 'k':
            factor = std::int64_t{1} << 10;
            break;
        case 'm':
            factor = std::int64_t{1} << 20;
            break;
        case 'g':
            factor = std::int64_t{1} << 30;
            break;
        default:
            return equal_ignoring_case(suffix, "b") ? 1 : 0;
    }
    suffix.remove_prefix(1);
    const bool known =
        suffix.empty() || equal_ignoring_case(suffix, "b") || equal_ignoring_case(suffix, "ib");
    return known ? factor : 0;
}

// Seconds of a time unit; 0 when it is none.
double unit_seconds(std::string_view unit) noexcept {
    struct Unit {
        std::string_view name;
        double seconds;
    };
    static constexpr std::array<Unit, 6> kUnits{
        {{"", 1.0}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1.0}, {"m", 60.0}, {"h", 3600.0}}};
    for (const Unit& known : kUnits)
        if (equal_ignoring_case(unit, known.name)) return known.seconds;
    return 0;
}

Result<double> within(double value, double low, double high, const char* place) {
    if (std::isnan(value)) return malformed(place);
    if (!std::isfinite(value) || value < low || value > high) return out_of_range(place);
    return value;
}

}  // namespace

std::string_view trimmed(std::string_view text) noexcept {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return lower(x) == lower(y); });
}

Result<bool> parse_bool(std::string_view text) {
    text = trimmed(text);
    for (const std::string_view word : {"true", "yes", "on"})
        if (equal_ignoring_case(text, word)) return true;
    for (const std::string_view word : {"false", "no", "off"})
        if (equal_ignoring_case(text, word)) return false;
    DUOFI_ASSIGN(const auto number, take_number<std::int64_t>(text, "parse_bool"));
    if (!text.empty()) return malformed("parse_bool");
    return number != 0;
}

Result<std::int64_t> parse_integer(std::string_view text, std::int64_t low, std::int64_t high) {
    text = trimmed(text);
    DUOFI_ASSIGN(const auto value, take_number<std::int64_t>(text, "parse_integer"));
    if (!text.empty()) return malformed("parse_integer");
    if (value < low || value > high) return out_of_range("parse_integer");
    return value;
}

Result<std::int64_t> parse_size(std::string_view text, std::int64_t low, std::int64_t high) {
    text = trimmed(text);
    DUOFI_ASSIGN(const auto number, take_number<std::int64_t>(text, "parse_size"));
    const std::int64_t factor = size_factor(trimmed(text));
    if (factor == 0) return malformed("parse_size");
    std::int64_t value = 0;
    if (__builtin_mul_overflow(number, factor, &value) || value < low || value > high)
        return out_of_range("parse_size");
    return value;
}

Result<double> parse_decimal(std::string_view text, double low, double high) {
    text = trimmed(text);
    DUOFI_ASSIGN(const auto value, take_number<double>(text, "parse_decimal"));
    if (!text.empty()) return malformed("parse_decimal");
    return within(value, low, high, "parse_decimal");
}

Result<double> parse_duration(std::string_view text, double low, double high) {
    text = trimmed(text);
    DUOFI_ASSIGN(const auto number, take_number<double>(text, "parse_duration"));
    const double seconds = unit_seconds(trimmed(text));
    if (seconds == 0) return malformed("parse_duration");
    return within(number * seconds, low, high, "parse_duration");
}

Result<std::vector<std::string>> parse_list(std::string_view text) {
    std::vector<std::string> elements;
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const std::string_view element = trimmed(text.substr(0, comma));
        if (!element.empty()) elements.emplace_back(element);
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    if (elements.empty()) return malformed("parse_list");
    return elements;
}

Result<std::size_t> parse_choice(std::string_view text, std::span<const std::string_view> names) {
    text = trimmed(text);
    for (std::size_t i = 0; i < names.size(); ++i)
        if (equal_ignoring_case(text, names[i])) return i;
    return malformed("parse_choice");
}

Status check_interface_list(std::string_view text) {
    constexpr std::size_t kLongestName = 15;  // IFNAMSIZ without the terminator
    text = trimmed(text);
    for (const char mark : {'^', '='})
        if (!text.empty() && text.front() == mark) text.remove_prefix(1);
    DUOFI_ASSIGN(const auto names, parse_list(text));
    for (const std::string& name : names) {
        const bool good =
            name.size() <= kLongestName && std::all_of(name.begin(), name.end(), [](char c) {
                return is_letter(c) || is_digit(c) ||
                       std::string_view("._-@").find(c) != std::string::npos;
            });
        if (!good) return malformed("check_interface_list");
    }
    return {};
}

Status check_provider_name(std::string_view text) {
    text = trimmed(text);
    bool part_begins = true;
    for (const char c : text) {
        const bool inner = is_digit(c) || c == '_' || c == '-';
        if (part_begins ? !is_letter(c) : !(is_letter(c) || inner || c == ';'))
            return malformed("check_provider_name");
        part_begins = c == ';';
    }
    if (part_begins) return malformed("check_provider_name");
    return {};
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
        }
    }
    return row[b.size()];
}

}  // namespace duofi
