// The tables of `duofi demo`: rows and closing lines in each form. Prints; one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/duofi/output.hpp"

namespace duofi::tool {

/// One size of one table.
struct DemoRow {
    std::string provider;
    std::string table;  ///< "net_v6", "rma_v16", "p2p"
    std::string type = "uint8";
    int ranks = 0;
    std::uint64_t count = 0;  ///< elements; 0 = bytes
    std::uint64_t bytes = 0;
    unsigned iterations = 0;
    double time_us = 0;           ///< mean over the ranks
    double slowest_time_us = 0;   ///< of the slowest rank
    double algbw = 0, busbw = 0;  ///< GB/s, 10^9 bytes
    std::uint64_t checked_bytes = 0, wrong_bytes = 0;
};

/// Sums over the rows of a table.
struct DemoSums {
    std::uint64_t checked_bytes = 0, wrong_bytes = 0;
    [[nodiscard]] bool ok() const noexcept { return wrong_bytes == 0 && checked_bytes > 0; }
};

class DemoTable {
  public:
    /// `first`: no table came before it (a CSV header is printed once).
    DemoTable(Form form, bool first) : form_(form), csv_header_due_(first) {}
    /// Text above a table, then the names of its columns; nothing in the other forms.
    void begin(const std::string& text) const;
    void add(const DemoRow& row);
    /// The closing lines; nothing in the other forms.
    void end(int ranks) const;
    [[nodiscard]] DemoSums sums() const;

  private:
    Form form_;
    bool csv_header_due_;
    std::vector<DemoRow> rows_;
};

/// The last JSON line: all tables together.
void print_demo_end(Form form, const DemoSums& sums);

}  // namespace duofi::tool
