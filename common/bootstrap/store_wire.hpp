// Messages of the TCP store. Little-endian, fixed width; every length is checked before it is
// believed. Values only; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/bootstrap/store.hpp"

namespace duofi::bootstrap::wire {

/// First bytes of every client; what does not begin so is not ours (report A11).
inline constexpr std::array<std::byte, 8> kMagic{std::byte{0xd0}, std::byte{0x0f}, std::byte{0x15},
                                                 std::byte{'d'},  std::byte{'u'},  std::byte{'o'},
                                                 std::byte{'f'},  std::byte{'i'}};
inline constexpr std::uint32_t kVersion = 1;

/// magic 8, version u32, size u32, rank u32, zero u32.
inline constexpr std::size_t kHelloBytes = 24;
/// length of the body u32, id u32: before every request and response.
inline constexpr std::size_t kFrameHeaderBytes = 8;
/// op u8, zero u8, key length u16, then key and value.
inline constexpr std::size_t kRequestFixedBytes = 4;
/// state u8, zero u8 u16, rank i32, then the value.
inline constexpr std::size_t kResponseFixedBytes = 8;
inline constexpr std::size_t kMaxBodyBytes = kResponseFixedBytes + kMaxKeyBytes + kMaxValueBytes;

enum class Op : std::uint8_t { set = 1, get = 2, barrier = 3, farewell = 4 };
enum class State : std::uint8_t {
    ok = 0,
    peer_gone = 1,    ///< `rank` is dead, or left a barrier behind
    bad_hello = 2,    ///< version or size differ, or the rank is taken; the connection ends
    bad_request = 3,  ///< malformed; the connection ends
};

struct Hello {
    std::uint32_t version = kVersion;
    std::uint32_t size = 0;
    std::uint32_t rank = 0;
};

struct Request {
    std::uint32_t id = 0;
    Op op = Op::farewell;
    std::string key;
    Bytes value;
};

struct Response {
    std::uint32_t id = 0;
    State state = State::ok;
    std::int32_t rank = -1;
    Bytes value;
};

[[nodiscard]] Bytes encode(const Hello& hello);
[[nodiscard]] Bytes encode(const Request& request);
[[nodiscard]] Bytes encode(const Response& response);

/// True while `bytes` (of any length) can still become a hello.
[[nodiscard]] bool may_be_hello(std::span<const std::byte> bytes) noexcept;
/// No value when fewer than kHelloBytes or not a hello. Version, size and rank are not judged.
[[nodiscard]] std::optional<Hello> decode_hello(std::span<const std::byte> bytes) noexcept;

/// Length of the body that a frame header announces; no value when over kMaxBodyBytes.
[[nodiscard]] std::optional<std::size_t> body_length(
    std::span<const std::byte, kFrameHeaderBytes> header) noexcept;
/// `frame` is header and whole body. No value when malformed.
[[nodiscard]] std::optional<Request> decode_request(std::span<const std::byte> frame);
[[nodiscard]] std::optional<Response> decode_response(std::span<const std::byte> frame);

}  // namespace duofi::bootstrap::wire
