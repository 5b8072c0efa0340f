#include "common/ofi/listen_handle.hpp"

#include "common/util/byte_io.hpp"

namespace duofi::ofi {

std::uint32_t provider_mark(std::string_view provider) noexcept {
    std::uint32_t hash = 2166136261u;  // FNV-1a
    for (const char c : provider) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    return hash;
}

void write_listen_handle(std::span<std::byte> out, std::uint32_t magic, const ListenHandle& handle) noexcept {
    ByteWriter w(out.first(kListenHandleBytes));
    w.u32(magic);
    w.u8(kWireVersion);
    w.u8(handle.name.length);
    w.zeros(2);
    w.u32(handle.provider);
    w.u32(handle.port);
    w.bytes(handle.nonce);
    w.bytes(handle.name.bytes);
    w.zeros(w.remaining());
}

Result<ListenHandle> read_listen_handle(std::span<const std::byte> in, std::uint32_t magic,
                                        std::uint32_t expected_provider) noexcept {
    ByteReader r(in);
    if (r.u32() != magic) return fail(Errc::invalid_argument, "handle magic");
    if (r.u8() != kWireVersion) return fail(Errc::invalid_usage, "handle version");
    ListenHandle handle;
    handle.name.length = r.u8();
    const std::uint16_t reserved = r.u16();
    handle.provider = r.u32();
    handle.port = r.u32();
    r.bytes(handle.nonce);
    r.bytes(handle.name.bytes);
    if (!r.ok() || reserved != 0 || handle.port == 0 || handle.name.length == 0 ||
        handle.name.length > EndpointName::kMaxBytes)
        return fail(Errc::invalid_argument, "handle fields");
    if (handle.nonce == Nonce{} || handle.name.bytes == EndpointName{}.bytes)
        return fail(Errc::invalid_argument, "handle is cut short");
    for (std::size_t i = handle.name.length; i < handle.name.bytes.size(); ++i)
        if (handle.name.bytes[i] != std::byte{0}) return fail(Errc::invalid_argument, "handle padding");
    if (handle.provider != expected_provider) return fail(Errc::invalid_usage, "handle provider");
    return handle;
}

}  // namespace duofi::ofi
