// The 128-byte operation descriptor that a kernel writes and the proxy thread reads (rma
// contract 4.2). Values only; any thread.
#pragma once

#include <array>
#include <cstdint>

namespace duofi::gin {

inline constexpr std::uint32_t kDescriptorVersion = 2;
inline constexpr std::size_t kDescriptorWords = 16;
/// Bit 0 of every word: written.
inline constexpr std::uint64_t kWordFlag = 1;

/// Bits of the operation.
enum Op : std::uint16_t {
    op_put = 1,
    op_inline = 2,
    op_counter = 4,
    op_signal_inc = 8,
    op_signal_add = 16,
    op_va_signal = 32,
    op_get = 64,
    op_flush = 128,
};

/// As it lies in a queue: 16 little-endian words.
struct alignas(16) PackedDescriptor {
    std::array<std::uint64_t, kDescriptorWords> words{};
    bool operator==(const PackedDescriptor&) const = default;
};
static_assert(sizeof(PackedDescriptor) == 128);

/// The same, taken apart. Fields that an operation does not use are 0. For op_get `src_*` is the
/// remote and `dst_*` the local side; for op_va_signal `src_*` is place and region of the signal.
struct Descriptor {
    std::uint32_t version = kDescriptorVersion;  ///< 4 bits
    std::uint64_t bytes = 0;                     ///< 57 bits
    std::uint16_t op = 0;                        ///< Op bits
    std::uint64_t src_offset = 0;                ///< 63 bits
    std::uint64_t src_handle = 0;                ///< 63 bits (M-4)
    std::uint64_t dst_offset = 0;                ///< 63 bits
    std::uint64_t dst_handle = 0;                ///< 63 bits
    std::uint64_t inline_value = 0;              ///< with op_inline, in place of src_*
    std::uint32_t counter = 0;                   ///< 23 bits
    std::uint32_t signal = 0;                    ///< 24 bits
    std::uint64_t signal_value = 0;
    bool strong = false;

    bool operator==(const Descriptor&) const = default;
    [[nodiscard]] bool has(Op bit) const noexcept { return (op & bit) != 0; }
    [[nodiscard]] bool signals() const noexcept { return has(op_signal_inc) || has(op_signal_add); }
};

/// Bits beyond a field's width are cut off.
[[nodiscard]] PackedDescriptor pack(const Descriptor& descriptor) noexcept;
/// Reads the inline value only with op_inline and src_* only without. Signals of versions below 2
/// are strong whatever their bit says.
[[nodiscard]] Descriptor unpack(const PackedDescriptor& packed) noexcept;

/// A handle as the descriptor holds it and back.
[[nodiscard]] inline std::uint64_t handle_bits(const void* handle) noexcept {
    return reinterpret_cast<std::uintptr_t>(handle);
}
[[nodiscard]] inline void* handle_of(std::uint64_t bits) noexcept {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(bits));
}

}  // namespace duofi::gin
