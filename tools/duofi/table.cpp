#include "tools/duofi/table.hpp"

#include <fmt/core.h>

#include <array>

namespace duofi::tool {

std::string Table::line(const std::vector<std::string>& cells, bool comment) const {
    std::string out = comment ? "#" : " ";
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        const std::string text = i < cells.size() ? cells[i] : std::string();
        if (columns_[i].left)
            out += fmt::format(" {:<{}}", text, columns_[i].width);
        else
            out += fmt::format(" {:>{}}", text, columns_[i].width);
    }
    while (out.size() > 1 && out.back() == ' ') out.pop_back();
    return out + "\n";
}

std::string Table::header() const {
    std::vector<std::string> names, units;
    bool any_unit = false;
    for (const Column& column : columns_) {
        names.push_back(column.name);
        units.push_back(column.unit.empty() ? std::string() : "(" + column.unit + ")");
        any_unit = any_unit || !column.unit.empty();
    }
    return line(names, true) + (any_unit ? line(units, true) : std::string());
}

std::string Table::row(const std::vector<std::string>& cells) const {
    return line(cells, false);
}

std::string csv_line(const std::vector<std::string>& cells) {
    std::string out;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        if (i > 0) out += ',';
        if (cells[i].find_first_of(",\"\r\n") == std::string::npos) {
            out += cells[i];
            continue;
        }
        out += '"';
        for (const char c : cells[i]) out += c == '"' ? std::string("\"\"") : std::string(1, c);
        out += '"';
    }
    return out + "\n";
}

std::string size_text(std::size_t bytes) {
    constexpr std::array<const char*, 4> kUnits{"B", "KiB", "MiB", "GiB"};
    std::size_t unit = 0;
    while (bytes >= 1024 && bytes % 1024 == 0 && unit + 1 < kUnits.size()) {
        bytes /= 1024;
        ++unit;
    }
    return fmt::format("{} {}", bytes, kUnits[unit]);
}

}  // namespace duofi::tool
