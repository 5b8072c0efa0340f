#include "common/ofi/handshake.hpp"

#include <sys/random.h>

#include <cerrno>
#include <system_error>

#include "common/ofi/endpoint.hpp"
#include "common/util/byte_io.hpp"

namespace duofi::ofi {

namespace {

constexpr std::uint32_t kHelloMagic = 0x4f4c4844;    // "DHLO"
constexpr std::uint32_t kWelcomeMagic = 0x4c455744;  // "DWEL"

void write_name(ByteWriter& w, const EndpointName& name) noexcept {
    w.u8(name.length);
    w.bytes({name.bytes.data(), name.length});
}

bool read_name(ByteReader& r, EndpointName& name) noexcept {
    name.length = r.u8();
    if (name.length == 0 || name.length > EndpointName::kMaxBytes) return false;
    r.bytes({name.bytes.data(), name.length});
    return true;
}

void write_rails(ByteWriter& w, const RailNames& rails) noexcept {
    w.u8(rails.count);
    for (std::size_t i = 0; i < rails.count; ++i) write_name(w, rails.names[i]);
}

bool read_rails(ByteReader& r, RailNames& rails) noexcept {
    rails.count = r.u8();
    if (rails.count > rails.names.size()) return false;
    for (std::size_t i = 0; i < rails.count; ++i)
        if (!read_name(r, rails.names[i])) return false;
    return true;
}

}  // namespace

Nonce make_nonce() {
    Nonce nonce;
    if (::getrandom(nonce.data(), nonce.size(), 0) != static_cast<ssize_t>(nonce.size()))
        throw std::system_error(errno, std::generic_category(), "getrandom");
    return nonce;
}

const char* to_string(RefuseReason reason) noexcept {
    switch (reason) {
        case RefuseReason::not_listening: return "nobody listens at this handle any more";
        case RefuseReason::wrong_nonce: return "the handle belongs to another listen comm";
        case RefuseReason::wrong_version: return "the other side speaks another protocol version";
        case RefuseReason::busy: return "too many connect requests wait for accept";
        case RefuseReason::wrong_rails: return "the other endpoints of the device cannot be reached";
        case RefuseReason::wrong_protocol:
            return "the other side runs another protocol: set the same OFI_NCCL_PROTOCOL everywhere";
        case RefuseReason::closed: return "the listen comm was closed before accept";
    }
    return "unknown reason";
}

std::size_t write_hello(std::span<std::byte> out, const Hello& hello) noexcept {
    ByteWriter w(out);
    w.u32(kHelloMagic);
    w.u8(hello.version);
    w.u8(static_cast<std::uint8_t>(hello.path));
    w.zeros(2);
    w.u32(hello.port);
    w.u32(hello.eager_limit);
    w.u32(hello.packet_bytes);
    w.bytes(hello.nonce);
    write(w, hello.identity);
    write_name(w, hello.name);
    write_rails(w, hello.rails);
    return w.ok() ? w.position() : 0;
}

std::optional<Hello> parse_hello(std::span<const std::byte> in) noexcept {
    ByteReader r(in);
    if (r.u32() != kHelloMagic) return std::nullopt;
    Hello hello;
    hello.version = r.u8();
    hello.path = static_cast<DataPath>(r.u8());
    r.skip(2);
    hello.port = r.u32();
    hello.eager_limit = r.u32();
    hello.packet_bytes = r.u32();
    r.bytes(hello.nonce);
    hello.identity = read_identity(r);
    if (!read_name(r, hello.name) || !read_rails(r, hello.rails)) return std::nullopt;
    return r.ok() ? std::optional(hello) : std::nullopt;
}

std::size_t write_welcome(std::span<std::byte> out, const Welcome& welcome) noexcept {
    ByteWriter w(out);
    w.u32(kWelcomeMagic);
    w.u8(welcome.version);
    w.zeros(3);
    w.u32(welcome.port);
    w.u32(welcome.eager_limit);
    w.u32(welcome.packet_bytes);
    w.u32(welcome.credits);
    w.bytes(welcome.nonce);
    write(w, welcome.identity);
    write_rails(w, welcome.rails);
    return w.ok() ? w.position() : 0;
}

std::optional<Welcome> parse_welcome(std::span<const std::byte> in) noexcept {
    ByteReader r(in);
    if (r.u32() != kWelcomeMagic) return std::nullopt;
    Welcome welcome;
    welcome.version = r.u8();
    r.skip(3);
    welcome.port = r.u32();
    welcome.eager_limit = r.u32();
    welcome.packet_bytes = r.u32();
    welcome.credits = r.u32();
    r.bytes(welcome.nonce);
    welcome.identity = read_identity(r);
    if (!read_rails(r, welcome.rails)) return std::nullopt;
    return r.ok() ? std::optional(welcome) : std::nullopt;
}

void refuse(Endpoint& endpoint, Peer& peer, std::uint32_t port, RefuseReason reason) noexcept {
    MessageHeader header;
    header.kind = static_cast<std::uint16_t>(MessageKind::refuse);
    header.port = port;
    header.word = static_cast<std::uint32_t>(reason);
    endpoint.send_message(peer, header, {});
}

}  // namespace duofi::ofi
