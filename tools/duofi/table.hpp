// Fixed-width text tables with `#` header lines, in the form that users of rccl-tests know.
// Values only; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace duofi::tool {

struct Column {
    std::string name, unit;
    std::size_t width = 12;
    bool left = false;  ///< text columns read better flush left
};

class Table {
  public:
    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
    /// Two `#` lines, names and units, each ended by a newline.
    [[nodiscard]] std::string header() const;
    /// One line, ended by a newline. Missing cells are blank; a cell wider than its column keeps
    /// its text.
    [[nodiscard]] std::string row(const std::vector<std::string>& cells) const;

  private:
    [[nodiscard]] std::string line(const std::vector<std::string>& cells, bool comment) const;
    std::vector<Column> columns_;
};

/// One CSV line, ended by a newline; quotes a cell that holds a comma, a quote or a line break.
[[nodiscard]] std::string csv_line(const std::vector<std::string>& cells);

/// "64 KiB", "8 B": the shortest exact form.
[[nodiscard]] std::string size_text(std::size_t bytes);

}  // namespace duofi::tool
