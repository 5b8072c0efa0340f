#include "rma_plugin/handle.hpp"

#include <cstring>

namespace duofi::rma {

namespace {

constexpr std::uint32_t kMagic = 0x524f5544;  // "DUOR"

}  // namespace

void write_handle(void* out, const ofi::ListenHandle& handle) noexcept {
    std::memset(out, 0, kHandleBytes);
    ofi::write_listen_handle({static_cast<std::byte*>(out), kHandleBytes}, kMagic, handle);
}

Result<ofi::ListenHandle> read_handle(const void* in, std::uint32_t expected_provider) noexcept {
    if (in == nullptr) return fail(Errc::invalid_argument, "handle");
    return ofi::read_listen_handle({static_cast<const std::byte*>(in), kHandleBytes}, kMagic, expected_provider);
}

}  // namespace duofi::rma
