#include "tools/duofi/output.hpp"

#include <fmt/core.h>

#include <cstdio>

#include "tools/duofi/table.hpp"

namespace duofi::tool {
namespace {

struct AsText {
    std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
    std::string operator()(std::uint64_t value) const { return fmt::format("{}", value); }
    std::string operator()(double value) const { return fmt::format("{:.6g}", value); }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(const std::string& value) const { return value; }
};

}  // namespace

std::string csv_header(const Record& record) {
    std::vector<std::string> cells;
    for (const auto& [name, value] : record) cells.push_back(name);
    return csv_line(cells);
}

std::string csv_row(const Record& record) {
    std::vector<std::string> cells;
    for (const auto& [name, value] : record) cells.push_back(std::visit(AsText{}, value));
    return csv_line(cells);
}

void print_result(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
}

void complain(std::string_view text) {
    fmt::print(stderr, "duofi: {}\n", text);
}

}  // namespace duofi::tool
