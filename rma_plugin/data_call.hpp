// What all data calls check before anything is posted (P-5, G-3, 3.14). Each refusal is logged by name, value and
// accepted form; nothing is left behind.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/abi/host_types.h"
#include "rma_plugin/context.hpp"
#include "rma_plugin/window.hpp"

namespace duofi::rma {

/// One data call in checked form.
struct DataCall {
    const char* operation = "";
    Context* context = nullptr;
    std::uint32_t rank = 0;
    std::size_t size = 0;      ///< bytes
    std::byte* local = nullptr;
    void* descriptor = nullptr;
    std::uint64_t remote_address = 0;
    std::uint64_t remote_key = 0;
    const Window* remote = nullptr;   ///< nullptr = no data
    std::uint32_t local_window = 0;   ///< id
    std::byte* own_remote = nullptr;  ///< the remote bytes, when the rank is our own
    Signal signal{};
    std::byte* own_word = nullptr;    ///< the signal word, when the rank is our own

    [[nodiscard]] Group& group() const noexcept { return context->group(); }
};

/// Fills in operation, context and rank. false: refused.
[[nodiscard]] bool begin_call(DataCall& call, const char* operation, void* context, int stream,
                              std::uint32_t rank) noexcept;
/// Fills in the data half; with size 0 the windows are not looked at (G-1, P-1).
[[nodiscard]] bool add_data(DataCall& call, std::uint64_t local_off, void* local, std::size_t size,
                            std::uint64_t remote_off, void* remote) noexcept;
/// Fills in the signal half.
[[nodiscard]] bool add_signal(DataCall& call, std::uint64_t offset, void* window, std::uint64_t value,
                              std::uint32_t op) noexcept;
/// A window of this group, or nullptr, logged.
[[nodiscard]] Window* window_of(const DataCall& call, void* mhandle, const char* argument) noexcept;

/// A request that is done at the first test.
[[nodiscard]] ncclResult_t finish_at_once(const DataCall& call, void** request);
/// Posts what was checked, or does it at once when the rank is our own. `get`: remote to local.
[[nodiscard]] ncclResult_t start(const DataCall& call, bool get, void** request);

}  // namespace duofi::rma
