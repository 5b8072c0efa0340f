#include "common/gin/descriptor.hpp"

namespace duofi::gin {
namespace {

/// `width` bits of a word from bit `at` on.
constexpr std::uint64_t field(std::uint64_t value, unsigned at, unsigned width) noexcept {
    return (value & ((std::uint64_t{1} << width) - 1)) << at;
}
constexpr std::uint64_t extract(std::uint64_t word, unsigned at, unsigned width) noexcept {
    return (word >> at) & ((std::uint64_t{1} << width) - 1);
}

}  // namespace

PackedDescriptor pack(const Descriptor& d) noexcept {
    PackedDescriptor packed;
    packed.words.fill(kWordFlag);
    auto& w = packed.words;
    w[0] |= field(d.version, 1, 4) | field(d.bytes, 7, 57);
    if (d.has(op_inline)) {
        w[1] |= field(d.inline_value, 8, 32) | field(d.inline_value >> 32, 40, 16);
        w[2] |= field(d.inline_value >> 48, 8, 16);
    } else {
        w[1] |= field(d.src_offset, 1, 63);
        w[2] |= field(d.src_handle, 1, 63);
    }
    w[3] |= field(d.dst_offset, 1, 63);
    w[4] |= field(d.dst_handle, 1, 63);
    w[5] |= field(d.counter, 1, 23) | field(d.signal, 24, 24) | field(d.signal_value, 48, 16);
    w[6] |= field(d.strong ? 1 : 0, 1, 1) | field(d.signal_value >> 16, 8, 16) |
            field(d.signal_value >> 32, 24, 32);
    w[7] |= field(d.op, 8, 16);
    return packed;
}

Descriptor unpack(const PackedDescriptor& packed) noexcept {
    const auto& w = packed.words;
    Descriptor d;
    d.version = static_cast<std::uint32_t>(extract(w[0], 1, 4));
    d.bytes = extract(w[0], 7, 57);
    d.op = static_cast<std::uint16_t>(extract(w[7], 8, 16));
    if (d.has(op_inline)) {
        d.inline_value =
            extract(w[1], 8, 32) | extract(w[1], 40, 16) << 32 | extract(w[2], 8, 16) << 48;
    } else {
        d.src_offset = extract(w[1], 1, 63);
        d.src_handle = extract(w[2], 1, 63);
    }
    d.dst_offset = extract(w[3], 1, 63);
    d.dst_handle = extract(w[4], 1, 63);
    d.counter = static_cast<std::uint32_t>(extract(w[5], 1, 23));
    d.signal = static_cast<std::uint32_t>(extract(w[5], 24, 24));
    d.signal_value =
        extract(w[5], 48, 16) | extract(w[6], 8, 16) << 16 | extract(w[6], 24, 32) << 32;
    d.strong = extract(w[6], 1, 1) != 0 || (d.version < kDescriptorVersion && d.signals());
    return d;
}

}  // namespace duofi::gin
