#include "net_plugin/handle.hpp"

#include <span>

#include "common/util/byte_io.hpp"

namespace duofi::net {

namespace {

constexpr std::uint32_t kMagic = 0x464f5544;                   // "DUOF"
constexpr std::uint64_t kAttemptMagic = 0x6e6f63666f756474ULL;  // marks our scratch

std::span<std::byte> scratch(HandleBytes& handle) {
    return std::span(handle.bytes).subspan(ofi::kListenHandleBytes);
}

}  // namespace

void write_handle(HandleBytes& out, const Handle& handle) noexcept {
    ofi::write_listen_handle(out.bytes, kMagic, handle);
    ByteWriter w(scratch(out));
    w.zeros(w.remaining());
}

Result<Handle> read_handle(const HandleBytes& in, std::uint32_t expected_provider) noexcept {
    return ofi::read_listen_handle(in.bytes, kMagic, expected_provider);
}

std::optional<ConnectState> read_connect_state(const HandleBytes& in) noexcept {
    ByteReader r(std::span(in.bytes).subspan(ofi::kListenHandleBytes));
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
