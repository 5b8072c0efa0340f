#include "common/bootstrap/store_wire.hpp"

#include <algorithm>

#include "common/util/byte_io.hpp"

namespace duofi::bootstrap::wire {

Bytes encode(const Hello& hello) {
    Bytes bytes(kHelloBytes);
    ByteWriter out(bytes);
    out.bytes(kMagic);
    out.u32(hello.version);
    out.u32(hello.size);
    out.u32(hello.rank);
    out.u32(0);
    return bytes;
}

Bytes encode(const Request& request) {
    const std::size_t body = kRequestFixedBytes + request.key.size() + request.value.size();
    Bytes bytes(kFrameHeaderBytes + body);
    ByteWriter out(bytes);
    out.u32(static_cast<std::uint32_t>(body));
    out.u32(request.id);
    out.u8(static_cast<std::uint8_t>(request.op));
    out.u8(0);
    out.u16(static_cast<std::uint16_t>(request.key.size()));
    out.bytes(as_value(request.key));
    out.bytes(request.value);
    return bytes;
}

Bytes encode(const Response& response) {
    const std::size_t body = kResponseFixedBytes + response.value.size();
    Bytes bytes(kFrameHeaderBytes + body);
    ByteWriter out(bytes);
    out.u32(static_cast<std::uint32_t>(body));
    out.u32(response.id);
    out.u8(static_cast<std::uint8_t>(response.state));
    out.u8(0);
    out.u16(0);
    out.i32(response.rank);
    out.bytes(response.value);
    return bytes;
}

bool may_be_hello(std::span<const std::byte> bytes) noexcept {
    const std::size_t known = std::min(bytes.size(), kMagic.size());
    return std::equal(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(known),
                      kMagic.begin());
}

std::optional<Hello> decode_hello(std::span<const std::byte> bytes) noexcept {
    if (bytes.size() < kHelloBytes || !may_be_hello(bytes)) return std::nullopt;
    ByteReader in(bytes);
    in.skip(kMagic.size());
    Hello hello;
    hello.version = in.u32();
    hello.size = in.u32();
    hello.rank = in.u32();
    return hello;
}

std::optional<std::size_t> body_length(
    std::span<const std::byte, kFrameHeaderBytes> header) noexcept {
    ByteReader in(header);
    const std::size_t length = in.u32();
    if (length > kMaxBodyBytes) return std::nullopt;
    return length;
}

std::optional<Request> decode_request(std::span<const std::byte> frame) {
    ByteReader in(frame);
    Request request;
    in.skip(4);
    request.id = in.u32();
    const std::uint8_t op = in.u8();
    in.skip(1);
    const std::size_t key_bytes = in.u16();
    const auto key = in.view(key_bytes);
    const auto value = in.view(in.remaining());
    if (!in.ok() || key.size() > kMaxKeyBytes || value.size() > kMaxValueBytes) return std::nullopt;
    if (op < static_cast<std::uint8_t>(Op::set) || op > static_cast<std::uint8_t>(Op::farewell))
        return std::nullopt;
    request.op = static_cast<Op>(op);
    if (request.op != Op::farewell && key.empty()) return std::nullopt;
    request.key.assign(reinterpret_cast<const char*>(key.data()), key.size());
    request.value.assign(value.begin(), value.end());
    return request;
}

std::optional<Response> decode_response(std::span<const std::byte> frame) {
    ByteReader in(frame);
    Response response;
    in.skip(4);
    response.id = in.u32();
    const std::uint8_t state = in.u8();
    in.skip(3);
    response.rank = in.i32();
    const auto value = in.view(in.remaining());
    if (!in.ok() || state > static_cast<std::uint8_t>(State::bad_request)) return std::nullopt;
    response.state = static_cast<State>(state);
    response.value.assign(value.begin(), value.end());
    return response;
}

}  // namespace duofi::bootstrap::wire
