#include "net_plugin/handle.hpp"

#include <span>

#include "common/util/byte_io.hpp"

namespace duofi::net {

namespace {

constexpr std::uint32_t kMagic = 0x464f5544;                   // "DUOF"
constexpr std::uint64_t kAttemptMagic = 0x6e6f63666f756474ULL;  // marks our scratch

std::span<std::byte> scratch(HandleBytes& handle) {
    return std::span(handle.bytes).subspan(kWireHandleBytes);
}

}  // namespace

std::uint32_t provider_mark(std::string_view provider) noexcept {
    std::uint32_t hash = 2166136261u;  // FNV-1a
    for (const char c : provider) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    return hash;
}

void write_handle(HandleBytes& out, const Handle& handle) noexcept {
    ByteWriter w(out.bytes);
    w.u32(kMagic);
    w.u8(ofi::kWireVersion);
    w.u8(handle.name.length);
    w.zeros(2);
    w.u32(handle.provider);
    w.u32(handle.port);
    w.bytes(handle.nonce);
    w.bytes(handle.name.bytes);
    w.zeros(w.remaining());
}

Result<Handle> read_handle(const HandleBytes& in, std::uint32_t expected_provider) noexcept {
    ByteReader r(in.bytes);
    if (r.u32() != kMagic) return fail(Errc::invalid_argument, "handle magic");
    if (r.u8() != ofi::kWireVersion) return fail(Errc::invalid_usage, "handle version");
    Handle handle;
    handle.name.length = r.u8();
    const std::uint16_t reserved = r.u16();
    handle.provider = r.u32();
    handle.port = r.u32();
    r.bytes(handle.nonce);
    r.bytes(handle.name.bytes);
    if (reserved != 0 || handle.port == 0 || handle.name.length == 0 ||
        handle.name.length > ofi::EndpointName::kMaxBytes)
        return fail(Errc::invalid_argument, "handle fields");
    if (handle.nonce == ofi::Nonce{} || handle.name.bytes == ofi::EndpointName{}.bytes)
        return fail(Errc::invalid_argument, "handle is cut short");
    for (std::size_t i = handle.name.length; i < handle.name.bytes.size(); ++i)
        if (handle.name.bytes[i] != std::byte{0}) return fail(Errc::invalid_argument, "handle padding");
    if (handle.provider != expected_provider) return fail(Errc::invalid_usage, "handle provider");
    return handle;
}

std::optional<ConnectState> read_connect_state(const HandleBytes& in) noexcept {
    ByteReader r(std::span(in.bytes).subspan(kWireHandleBytes));
    if (r.u64() != kAttemptMagic) return std::nullopt;
    ConnectState state;
    state.attempt = reinterpret_cast<void*>(r.u64());
    state.generation = r.u64();
    if (state.attempt == nullptr) return std::nullopt;
    return state;
}

void write_connect_state(HandleBytes& out, const ConnectState& state) noexcept {
    ByteWriter w(scratch(out));
    w.u64(kAttemptMagic);
    w.u64(reinterpret_cast<std::uint64_t>(state.attempt));
    w.u64(state.generation);
}

void clear_connect_state(HandleBytes& out) noexcept {
    ByteWriter w(scratch(out));
    w.zeros(w.remaining());
}

}  // namespace duofi::net
