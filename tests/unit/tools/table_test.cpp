#include "tools/duofi/table.hpp"

#include <gtest/gtest.h>

#include "tools/duofi/output.hpp"

namespace duofi::tool {
namespace {

TEST(Table, marks_headers_as_comments_and_aligns_rows_below_them) {
    const Table table({{"size", "B", 6}, {"what", "", 5, true}, {"time", "us", 6}});
    EXPECT_EQ(table.header(),
              "#   size what    time\n"
              "#    (B)         (us)\n");
    EXPECT_EQ(table.row({"8", "x", "1.25"}), "       8 x       1.25\n");
}

TEST(Table, keeps_text_that_is_wider_than_its_column) {
    const Table table({{"a", "", 2}, {"b", "", 2}});
    EXPECT_EQ(table.row({"12345", "6"}), "  12345  6\n");
}

TEST(Table, has_one_header_line_without_units_and_no_trailing_blanks) {
    const Table table({{"a", "", 4, true}, {"b", "", 4, true}});
    EXPECT_EQ(table.header(), "# a    b\n");
    EXPECT_EQ(table.row({"x"}), "  x\n");
}

TEST(Csv, quotes_only_what_needs_it) {
    EXPECT_EQ(csv_line({"a", "tcp;ofi_rxm", "1,5", "say \"hi\""}),
              "a,tcp;ofi_rxm,\"1,5\",\"say \"\"hi\"\"\"\n");
}

TEST(Csv, writes_names_and_values_in_the_order_of_the_record) {
    const Record record{
        {"bytes", std::uint64_t{8}}, {"time_us", 1.5}, {"ok", true}, {"rank", std::int64_t{-1}}};
    EXPECT_EQ(csv_header(record), "bytes,time_us,ok,rank\n");
    EXPECT_EQ(csv_row(record), "8,1.5,true,-1\n");
}

TEST(SizeText, uses_the_largest_exact_unit) {
    EXPECT_EQ(size_text(8), "8 B");
    EXPECT_EQ(size_text(65536), "64 KiB");
    EXPECT_EQ(size_text(1048576), "1 MiB");
    EXPECT_EQ(size_text(1025), "1025 B");
    EXPECT_EQ(size_text(0), "0 B");
}

}  // namespace
}  // namespace duofi::tool
