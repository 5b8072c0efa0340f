// How a receiver lends its output buffer to a sender of the same process for one operation (p2p
// contract 4.3, C-41). The slot lies in the sender's memory. Behind the pointer travels the number
// of bytes that may be written there, so that ends which disagree are told apart before any harm.
#pragma once

#include <cstddef>
#include <cstdint>

#include "p2p/kernels/kernel.hpp"

namespace duofi::p2p {

/// Receiver, at the start of an operation. A buffer of no bytes may be NULL: then any other address
/// stands for it, since an empty slot means "not yet".
template <typename Memory>
void offer_buffer(std::uint64_t* slot, std::uint64_t address, std::uint64_t bytes) {
    Memory::store_relaxed(slot + 1, bytes);
    Memory::store_release(slot, address != 0 ? address : 1);
}

struct OfferedBuffer {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
};

/// Sender, one look. The slot is emptied before any data of the operation are published, so the
/// offer of the next one is never erased.
template <typename Memory>
[[nodiscard]] bool take_buffer(std::uint64_t* slot, OfferedBuffer& offered) {
    const std::uint64_t address = Memory::load_acquire(slot);
    if (address == 0) return false;
    offered = {address, Memory::load_relaxed(slot + 1)};
    Memory::store_relaxed(slot, 0);
    return true;
}

template <typename Memory>
[[nodiscard]] KernelResult await_buffer(std::uint64_t* slot, OfferedBuffer& offered,
                                        Waiter& waiter) {
    if (!Memory::await_acquire(slot, waiter, offered.address,
                               [](std::uint64_t address) { return address != 0; }))
        return waiter.result();
    offered.bytes = Memory::load_relaxed(slot + 1);
    Memory::store_relaxed(slot, 0);
    return KernelResult::ok;
}

}  // namespace duofi::p2p
