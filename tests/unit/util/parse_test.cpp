// Units: common/util/error.
#include "common/util/parse.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <limits>

namespace duofi {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

template <typename T>
int code_of(const Result<T>& result) {
    return result ? 0 : result.error().provider_errno;
}

TEST(Parse, BooleanWords) {
    for (const char* text : {"1", "true", "TRUE", "Yes", "on", " On ", "2", "-1", "+1"})
        EXPECT_EQ(parse_bool(text).value_or(false), true) << text;
    for (const char* text : {"0", "false", "False", "NO", "off", "\t0\n", "-0", "00"})
        EXPECT_EQ(parse_bool(text).value_or(true), false) << text;
    for (const char* text : {"", " ", "abc", "1x", "truee", ",,", ";", "1 0", "+", "-", "0x1"})
        EXPECT_EQ(code_of(parse_bool(text)), EINVAL) << text;
    EXPECT_EQ(code_of(parse_bool("99999999999999999999")), ERANGE);
}

TEST(Parse, IntegerAndItsLimits) {
    EXPECT_EQ(parse_integer("42", 0, 100), 42);
    EXPECT_EQ(parse_integer(" +7 ", 0, 100), 7);
    EXPECT_EQ(parse_integer("-3", -3, 3), -3);
    EXPECT_EQ(parse_integer("9223372036854775807", kMin, kMax), kMax);
    EXPECT_EQ(parse_integer("-9223372036854775808", kMin, kMax), kMin);
    EXPECT_EQ(code_of(parse_integer("4", 0, 3)), ERANGE);
    EXPECT_EQ(code_of(parse_integer("-1", 0, 3)), ERANGE);
    EXPECT_EQ(code_of(parse_integer("9223372036854775808", kMin, kMax)), ERANGE);
    for (const char* text : {"", "x", "1.5", "1K", "+-1", "--1", "1 2"})
        EXPECT_EQ(code_of(parse_integer(text, kMin, kMax)), EINVAL) << text;
}

TEST(Parse, SizeSuffixes) {
    EXPECT_EQ(parse_size("8192", 0, kMax), 8192);
    EXPECT_EQ(parse_size("8K", 0, kMax), 8192);
    EXPECT_EQ(parse_size("8 kib", 0, kMax), 8192);
    EXPECT_EQ(parse_size("1MB", 0, kMax), 1 << 20);
    EXPECT_EQ(parse_size("2g", 0, kMax), std::int64_t{2} << 30);
    EXPECT_EQ(parse_size("7B", 0, kMax), 7);
    EXPECT_EQ(parse_size("-1", -1, kMax), -1);
    EXPECT_EQ(code_of(parse_size("9007199254740993K", 0, kMax)), ERANGE);
    EXPECT_EQ(code_of(parse_size("2K", 0, 2000)), ERANGE);
    for (const char* text : {"", "K", "8KK", "8T", "8Ki", "8bb", "1.5K", ";"})
        EXPECT_EQ(code_of(parse_size(text, kMin, kMax)), EINVAL) << text;
}

TEST(Parse, DecimalRefusesWhatIsNotANumber) {
    EXPECT_DOUBLE_EQ(parse_decimal("75.5", 0, 100).value_or(-1), 75.5);
    EXPECT_DOUBLE_EQ(parse_decimal("+.5", 0, 100).value_or(-1), 0.5);
    EXPECT_DOUBLE_EQ(parse_decimal("1e2", 0, 100).value_or(-1), 100);
    for (const char* text : {"", "nan", "-nan", "abc", "1,5", "0x10", "1 us"})
        EXPECT_EQ(code_of(parse_decimal(text, 0, 100)), EINVAL) << text;
    for (const char* text : {"inf", "-1", "100.1", "1e999"})
        EXPECT_EQ(code_of(parse_decimal(text, 0, 100)), ERANGE) << text;
}

TEST(Parse, DurationUnits) {
    EXPECT_DOUBLE_EQ(parse_duration("30", 0, 1e6).value_or(-1), 30);
    EXPECT_DOUBLE_EQ(parse_duration("1.5s", 0, 1e6).value_or(-1), 1.5);
    EXPECT_DOUBLE_EQ(parse_duration("250 ms", 0, 1e6).value_or(-1), 0.25);
    EXPECT_DOUBLE_EQ(parse_duration("50US", 0, 1e6).value_or(-1), 50e-6);
    EXPECT_DOUBLE_EQ(parse_duration("2m", 0, 1e6).value_or(-1), 120);
    EXPECT_DOUBLE_EQ(parse_duration("1h", 0, 1e6).value_or(-1), 3600);
    EXPECT_EQ(code_of(parse_duration("1h", 0, 3599)), ERANGE);
    EXPECT_EQ(code_of(parse_duration("1e308h", 0, 1e6)), ERANGE);
    for (const char* text : {"", "s", "1d", "1ss", "abc", "-", ",,"})
        EXPECT_EQ(code_of(parse_duration(text, 0, 1e6)), EINVAL) << text;
}

TEST(Parse, ListSkipsEmptyElements) {
    using List = std::vector<std::string>;
    EXPECT_EQ(parse_list("a,b"), List({"a", "b"}));
    EXPECT_EQ(parse_list(" a , ,b,,c,"), List({"a", "b", "c"}));
    for (const char* text : {"", ",", ",,", " , "}) EXPECT_FALSE(parse_list(text)) << text;
}

TEST(Parse, ChoiceInAnyCase) {
    constexpr std::array<std::string_view, 2> kNames{"SENDRECV", "RDMA"};
    EXPECT_EQ(parse_choice("rdma", kNames), 1u);
    EXPECT_EQ(parse_choice(" SendRecv ", kNames), 0u);
    for (const char* text : {"", "RDM", "RDMAX", "abc"})
        EXPECT_FALSE(parse_choice(text, kNames)) << text;
}

TEST(Parse, InterfaceListForm) {
    for (const char* text : {"lo,docker0", "eth0.100", "^docker,lo", "=eth0", "^=eth0", "br-1",
                             "a,,b", "veth1@if2", "abcdefghijklmno"})
        EXPECT_TRUE(check_interface_list(text)) << text;
    for (const char* text : {"", ",,", ";", "^", "=", "==eth0", "eth0;eth1", "a b", "eth/0",
                             "abcdefghijklmnop", "99999999999999999999"})
        EXPECT_FALSE(check_interface_list(text)) << text;
}

TEST(Parse, ProviderNameForm) {
    for (const char* text : {"alpha", "alpha;beta_rx", "a1-b", " alpha "})
        EXPECT_TRUE(check_provider_name(text)) << text;
    for (const char* text : {"", ";", "alpha;", ";alpha", "a;;b", "-1", ",,", "a,b", "9", "a b"})
        EXPECT_FALSE(check_provider_name(text)) << text;
}

TEST(Parse, EditDistance) {
    EXPECT_EQ(edit_distance("", ""), 0u);
    EXPECT_EQ(edit_distance("abc", ""), 3u);
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
    EXPECT_EQ(edit_distance("PROTOCOL", "protocol"), 0u);
}

TEST(Error, CodesHaveNames) {
    EXPECT_STREQ(to_string(Errc::invalid_argument), "invalid_argument");
    EXPECT_STREQ(to_string(Errc::timed_out), "timed_out");
    EXPECT_STREQ(to_string(static_cast<Errc>(77)), "unknown");
}

}  // namespace
}  // namespace duofi
