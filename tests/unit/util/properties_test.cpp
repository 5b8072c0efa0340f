// Properties that hold for all inputs, tried on random ones.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "common/util/byte_io.hpp"
#include "common/util/interval_map.hpp"
#include "common/util/parse.hpp"
#include "common/util/settings_table.hpp"

namespace duofi {
namespace {

std::vector<std::byte> as_bytes(const std::vector<std::uint8_t>& numbers) {
    std::vector<std::byte> bytes(numbers.size());
    std::transform(numbers.begin(), numbers.end(), bytes.begin(),
                   [](std::uint8_t n) { return std::byte{n}; });
    return bytes;
}

RC_GTEST_PROP(ByteIoProperty, WhatIsWrittenIsRead,
              (std::uint8_t a, std::uint16_t b, std::uint32_t c, std::uint64_t d, std::int64_t e,
               const std::vector<std::uint8_t>& blob)) {
    std::vector<std::byte> buffer(23 + blob.size());
    ByteWriter out(buffer);
    out.u8(a);
    out.u16(b);
    out.u32(c);
    out.u64(d);
    out.i64(e);
    out.bytes(as_bytes(blob));
    RC_ASSERT(out.ok());
    RC_ASSERT(out.remaining() == 0u);
    ByteReader in(buffer);
    RC_ASSERT(in.u8() == a);
    RC_ASSERT(in.u16() == b);
    RC_ASSERT(in.u32() == c);
    RC_ASSERT(in.u64() == d);
    RC_ASSERT(in.i64() == e);
    std::vector<std::byte> rest(blob.size());
    in.bytes(rest);
    RC_ASSERT(rest == as_bytes(blob));
    RC_ASSERT(in.ok());
}

// Whatever is asked for, in whatever order: the position never leaves the buffer, and ok() says
// whether all of it was there.
RC_GTEST_PROP(ByteIoProperty, ReaderNeverLeavesTheBuffer,
              (const std::vector<std::uint8_t>& content, const std::vector<std::uint8_t>& steps)) {
    const auto buffer = as_bytes(content);
    ByteReader in(buffer);
    std::size_t asked = 0;
    for (const std::uint8_t step : steps) {
        const std::size_t count = step % 9;
        switch (count) {
            case 1:
                (void)in.u8();
                break;
            case 2:
                (void)in.u16();
                break;
            case 4:
                (void)in.u32();
                break;
            case 8:
                (void)in.u64();
                break;
            default:
                in.skip(count);
        }
        asked += count;
        RC_ASSERT(in.position() <= buffer.size());
        RC_ASSERT(in.ok() == (asked <= buffer.size()));
        RC_ASSERT(!in.ok() || in.position() == asked);
    }
}

RC_GTEST_PROP(ParseProperty, IntegersSurvive, (std::int64_t value)) {
    const auto parsed = parse_integer(std::to_string(value), INT64_MIN, INT64_MAX);
    RC_ASSERT(parsed.has_value());
    RC_ASSERT(*parsed == value);
}

RC_GTEST_PROP(ParseProperty, ResultsStayWithinTheLimits,
              (const std::string& text, std::int32_t a, std::int32_t b)) {
    const std::int64_t low = std::min(a, b);
    const std::int64_t high = std::max(a, b);
    if (const auto integer = parse_integer(text, low, high))
        RC_ASSERT(*integer >= low && *integer <= high);
    if (const auto size = parse_size(text, low, high)) RC_ASSERT(*size >= low && *size <= high);
    const auto bottom = static_cast<double>(low);
    const auto top = static_cast<double>(high);
    if (const auto number = parse_decimal(text, bottom, top))
        RC_ASSERT(*number >= bottom && *number <= top);
    if (const auto seconds = parse_duration(text, bottom, top))
        RC_ASSERT(*seconds >= bottom && *seconds <= top);
}

RC_GTEST_PROP(ParseProperty, SuffixMultiplies, (std::int32_t count)) {
    RC_ASSERT(parse_size(std::to_string(count) + "K", INT64_MIN, INT64_MAX).value() ==
              std::int64_t{count} * 1024);
}

RC_GTEST_PROP(ParseProperty, ListElementsAreTrimmedAndNotEmpty, (const std::string& text)) {
    const auto list = parse_list(text);
    if (!list) return;
    for (const std::string& element : *list) {
        RC_ASSERT(!element.empty());
        RC_ASSERT(trimmed(element) == element);
        RC_ASSERT(element.find(',') == std::string::npos);
    }
}

RC_GTEST_PROP(ParseProperty, EditDistanceIsSymmetricAndBounded,
              (const std::string& a, const std::string& b)) {
    const std::size_t distance = edit_distance(a, b);
    RC_ASSERT(distance == edit_distance(b, a));
    RC_ASSERT(distance <= std::max(a.size(), b.size()));
    RC_ASSERT((distance == 0) == equal_ignoring_case(a, b));
}

// Any text in any variable: either refused, and nothing changed, or accepted.
RC_GTEST_PROP(SettingsProperty, AnyTextIsTakenOrRefused, (const std::string& text)) {
    for (const SettingDescriptor& row : setting_table()) {
        Settings settings;
        const std::string before = value_text(settings, row);
        if (!assign_setting(settings, row, text)) RC_ASSERT(value_text(settings, row) == before);
    }
}

// The map against a plain list of ranges.
RC_GTEST_PROP(IntervalMapProperty, AgreesWithAPlainSearch, ()) {
    struct Range {
        std::uintptr_t start;
        std::size_t length;
        int value;
        bool operator==(const Range&) const = default;
    };
    IntervalMap<int> map;
    std::vector<Range> model;
    const int steps = *rc::gen::inRange(1, 60);
    for (int i = 0; i < steps; ++i) {
        const bool erase = !model.empty() && *rc::gen::inRange(0, 3) == 0;
        if (erase) {
            const auto victim = *rc::gen::inRange<std::size_t>(0, model.size());
            const Range range = model[victim];
            RC_ASSERT(map.erase(range.start, range.length, range.value));
            model.erase(model.begin() + static_cast<std::ptrdiff_t>(victim));
        } else {
            const Range range{*rc::gen::inRange<std::uintptr_t>(0, 200),
                              *rc::gen::inRange<std::size_t>(1, 60), i};
            RC_ASSERT(map.insert(range.start, range.length, range.value));
            model.push_back(range);
        }
        RC_ASSERT(map.size() == model.size());
        const auto address = *rc::gen::inRange<std::uintptr_t>(0, 260);
        const auto length = *rc::gen::inRange<std::size_t>(0, 70);
        const auto covers = [&](const Range& range) {
            return range.start <= address && range.start + range.length >= address + length;
        };
        const int* found = map.find_covering(address, length);
        const bool expected = std::any_of(model.begin(), model.end(), covers);
        RC_ASSERT((found != nullptr) == expected);
        if (found != nullptr)
            RC_ASSERT(std::any_of(model.begin(), model.end(), [&](const Range& range) {
                return range.value == *found && covers(range);
            }));
    }
}

}  // namespace
}  // namespace duofi
