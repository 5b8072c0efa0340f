// The runtime in force and the calls through its table (p2p contract 2). Each call checks that one is installed, calls
// the slot, turns its code into an Error and logs a failure once. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "common/util/error.hpp"
#include "common/util/host_identity.hpp"
#include "common/util/settings.hpp"
#include "p2p/runtime/runtime_table.hpp"

namespace duofi::local {
class ProcessWatch;
}

namespace duofi::p2p::runtime {

/// The table of a name of DUOFI_P2P_RUNTIME ("host", "unified", "sim", "cuda", "hip", "neuron"), or NULL.
[[nodiscard]] const RuntimeTable* find_table(std::string_view name) noexcept;

/// One communicator's use of the runtime. The first one initialises it, the last one finalizes it.
class Use {
  public:
    Use() = default;
    Use(Use&& other) noexcept;
    Use& operator=(Use&& other) noexcept;
    ~Use();
    [[nodiscard]] const RuntimeTable& table() const noexcept { return *table_; }
    explicit operator bool() const noexcept { return table_ != nullptr; }

  private:
    friend Result<Use> acquire(const RuntimeTable& table, const Settings& settings);
    explicit Use(const RuntimeTable* table) noexcept : table_(table) {}
    const RuntimeTable* table_ = nullptr;
};

/// Installs the runtime that the settings name. Errors: unsupported (not in this build), invalid_usage (another one is
/// in use in this process, or this is a forked child), those of its init.
[[nodiscard]] Result<Use> acquire(const Settings& settings);
/// A table of the caller's (tests, mocks).
[[nodiscard]] Result<Use> acquire(const RuntimeTable& table, const Settings& settings);

/// The table in force, or NULL, also in a forked child. Any call below fails with invalid_usage without one.
[[nodiscard]] const RuntimeTable* installed() noexcept;
/// Whether a runtime is in use that only the parent of this process may use.
[[nodiscard]] bool in_forked_child() noexcept;
/// Capability bits, 0 without a runtime.
[[nodiscard]] std::uint64_t capabilities() noexcept;
[[nodiscard]] inline bool has(Capability bit) noexcept { return (capabilities() & bit) != 0; }

[[nodiscard]] Result<int> device_count();
[[nodiscard]] Status set_device(int device);
[[nodiscard]] Result<int> device();
[[nodiscard]] Result<DeviceInfo> device_info(int device);
[[nodiscard]] Result<int> device_family(int device);
[[nodiscard]] Result<int> device_by_bus_id(std::int64_t bus_id);
[[nodiscard]] Result<std::int64_t> bus_id(int device);
[[nodiscard]] Result<int> numa_node(int device);
[[nodiscard]] Result<bool> can_access_peer(int device, int peer);
/// "Already enabled" (704) is success.
[[nodiscard]] Status enable_peer_access(int peer);
[[nodiscard]] Status disable_peer_access(int peer);

/// For ncclPeerInfo::shmDev; compare with same_ipc_domain, never with ==.
[[nodiscard]] Result<std::uint64_t> ipc_domain_id();
[[nodiscard]] bool same_ipc_domain(std::uint64_t a, std::uint64_t b) noexcept;
/// `*memory` must hold a value that is right where handles mean nothing (T-5); real runtimes overwrite it.
[[nodiscard]] Status ipc_open(void** memory, const p2pIpcHandle& handle);
[[nodiscard]] Status ipc_get(p2pIpcHandle* handle, void* memory);
[[nodiscard]] Status ipc_close(void* memory);

/// Zero-filled, 2 MiB aligned from 2 MiB on, on the NUMA node of the calling thread's device. Only the first page has
/// memory at once; give the rest pages with reserve() before kernels touch it.
[[nodiscard]] Result<void*> allocate(std::size_t bytes);
[[nodiscard]] Status free(void* memory);
[[nodiscard]] Result<void*> host_allocate(std::size_t bytes);
[[nodiscard]] Status host_free(void* memory);
[[nodiscard]] Status fill(void* memory, int value, std::size_t bytes);
/// Logs nothing. Errors: invalid_argument when the address is not memory of the runtime.
[[nodiscard]] Result<PointerInfo> pointer_info(const void* pointer);
/// Does nothing on the unified runtime: source and target must be the same memory there (C-24).
[[nodiscard]] Status copy(void* to, const void* from, std::size_t bytes, CopyKind kind);
[[nodiscard]] Status copy_async(void* to, const void* from, std::size_t bytes, CopyKind kind);

[[nodiscard]] Result<RelayLease> remote_allocate(const RelayAddress& at, std::size_t bytes);
[[nodiscard]] Status remote_free(std::int32_t lease_id);

/// See RuntimeTable.
[[nodiscard]] Status retain(const void* memory);
[[nodiscard]] Status release(const void* memory);
[[nodiscard]] Status reserve(const void* memory, std::size_t bytes);
[[nodiscard]] Status end_exports(void* memory);

/// Tells of deaths of local processes; there from the first Use to the last, NULL otherwise. One thread, which starts
/// with the first watch.
[[nodiscard]] local::ProcessWatch* process_watch() noexcept;

}  // namespace duofi::p2p::runtime
