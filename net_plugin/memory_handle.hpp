// The mhandle of regMr and the check that every operation makes with it. Any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/ofi/domain.hpp"
#include "common/ofi/handshake.hpp"
#include "common/util/error.hpp"

namespace duofi::ofi {
class Endpoint;
}

namespace duofi::net {

struct MemoryHandle {
    static constexpr std::uint64_t kLive = 0x64756f66696d7231;  // "duofimr1"
    std::uint64_t magic = 0;
    std::atomic<bool> exposed{false};  ///< peers were given its key
    std::size_t rails = 0;
    std::array<ofi::Registration, ofi::kMaxRails> registration;  ///< one for each rail

    [[nodiscard]] const ofi::Registration& first() const noexcept { return registration[0]; }
};

/// Registers `size` > 0 bytes on the domain of each endpoint. Errors: those of Domain::register_memory; nothing is left.
[[nodiscard]] Result<void*> make_memory_handle(std::span<ofi::Endpoint* const> rails, void* data, std::size_t size);
/// Errors: invalid_argument for a handle that is not (or no longer) registered, logged.
[[nodiscard]] Status drop_memory_handle(void* handle);
/// Same without a line in the log.
[[nodiscard]] Status drop_memory_handle_quietly(void* handle);

/// The key by which peers reach the registration; they may until it is dropped. Errors: invalid_argument as above,
/// else those of Domain::expose, not logged.
[[nodiscard]] Result<std::uint64_t> expose_memory(void* handle);

/// Is [data, data+size) inside the registration, and is that of this domain? `descriptor` is set for the
/// post. NULL handles pass where the provider needs none. false: logged with `operation`.
[[nodiscard]] bool check_memory(ofi::Domain& domain, void* handle, const void* data, std::size_t size,
                                const char* operation, void*& descriptor) noexcept;

}  // namespace duofi::net
