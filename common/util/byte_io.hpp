// Bounds-checked little-endian reading and writing of wire structures (handles, hello, control
// messages). Neither class owns its buffer. Not thread-safe; one user at a time. No allocation, no
// exceptions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace duofi {

/// Appends integers and bytes to a fixed buffer. The first value that does not fit clears ok(),
/// writes nothing, and every later call is ignored, so one check at the end is enough.
class ByteWriter {
  public:
    explicit ByteWriter(std::span<std::byte> buffer) noexcept : buffer_(buffer) {}

    void u8(std::uint8_t value) noexcept { put(value); }
    void u16(std::uint16_t value) noexcept { put(value); }
    void u32(std::uint32_t value) noexcept { put(value); }
    void u64(std::uint64_t value) noexcept { put(value); }
    void i32(std::int32_t value) noexcept { put(static_cast<std::uint32_t>(value)); }
    void i64(std::int64_t value) noexcept { put(static_cast<std::uint64_t>(value)); }

    /// Copies `data` as it is.
    void bytes(std::span<const std::byte> data) noexcept {
        if (!claim(data.size())) return;
        if (!data.empty()) std::memcpy(buffer_.data() + position_, data.data(), data.size());
        position_ += data.size();
    }

    /// Writes `count` zero bytes (padding, reserved fields).
    void zeros(std::size_t count) noexcept {
        if (!claim(count)) return;
        if (count != 0) std::memset(buffer_.data() + position_, 0, count);
        position_ += count;
    }

    /// False once something did not fit.
    [[nodiscard]] bool ok() const noexcept { return ok_; }
    /// Bytes written so far.
    [[nodiscard]] std::size_t position() const noexcept { return position_; }
    [[nodiscard]] std::size_t remaining() const noexcept { return buffer_.size() - position_; }
    /// The part that was written.
    [[nodiscard]] std::span<const std::byte> written() const noexcept {
        return buffer_.first(position_);
    }

  private:
    bool claim(std::size_t count) noexcept {
        if (count > remaining()) ok_ = false;
        return ok_;
    }
    template <typename U>
    void put(U value) noexcept {
        static_assert(std::is_unsigned_v<U>);
        if (!claim(sizeof(U))) return;
        for (std::size_t i = 0; i < sizeof(U); ++i)
            buffer_[position_ + i] = static_cast<std::byte>((value >> (8 * i)) & 0xffU);
        position_ += sizeof(U);
    }

    std::span<std::byte> buffer_;
    std::size_t position_ = 0;
    bool ok_ = true;
};

/// Takes integers and bytes from a buffer that may be shorter than it should be. A read past the
/// end yields zero, clears ok(), and every later read yields zero too; nothing outside is ever
/// touched.
class ByteReader {
  public:
    explicit ByteReader(std::span<const std::byte> buffer) noexcept : buffer_(buffer) {}

    std::uint8_t u8() noexcept { return get<std::uint8_t>(); }
    std::uint16_t u16() noexcept { return get<std::uint16_t>(); }
    std::uint32_t u32() noexcept { return get<std::uint32_t>(); }
    std::uint64_t u64() noexcept { return get<std::uint64_t>(); }
    std::int32_t i32() noexcept { return static_cast<std::int32_t>(get<std::uint32_t>()); }
    std::int64_t i64() noexcept { return static_cast<std::int64_t>(get<std::uint64_t>()); }

    /// Fills `out`, with zeros when not enough is left.
    void bytes(std::span<std::byte> out) noexcept {
        const bool fits = claim(out.size());
        if (out.empty()) return;
        if (!fits) {
            std::memset(out.data(), 0, out.size());
            return;
        }
        std::memcpy(out.data(), buffer_.data() + position_, out.size());
        position_ += out.size();
    }

    /// A view of the next `count` bytes inside the buffer; empty when not enough is left.
    std::span<const std::byte> view(std::size_t count) noexcept {
        if (!claim(count)) return {};
        const auto part = buffer_.subspan(position_, count);
        position_ += count;
        return part;
    }

    void skip(std::size_t count) noexcept { (void)view(count); }

    /// False once more was asked for than the buffer holds.
    [[nodiscard]] bool ok() const noexcept { return ok_; }
    [[nodiscard]] std::size_t position() const noexcept { return position_; }
    [[nodiscard]] std::size_t remaining() const noexcept { return buffer_.size() - position_; }

  private:
    bool claim(std::size_t count) noexcept {
        if (count > remaining()) ok_ = false;
        return ok_;
    }
    template <typename U>
    U get() noexcept {
        if (!claim(sizeof(U))) return 0;
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < sizeof(U); ++i)
            value |= std::to_integer<std::uint64_t>(buffer_[position_ + i]) << (8 * i);
        position_ += sizeof(U);
        return static_cast<U>(value);
    }

    std::span<const std::byte> buffer_;
    std::size_t position_ = 0;
    bool ok_ = true;
};

}  // namespace duofi
