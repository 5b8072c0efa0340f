// The caller's life cycle of RMA plugins: a process with communicators that come and go (rma
// contract 1.4). Threads: any; like the callers it takes one lock for the RMA side and another for
// the GIN side, so two init calls of the plugin may overlap (L-15).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "common/loader/plugin_host.hpp"
#include "common/loader/rma_table.hpp"

namespace duofi::loader {

/// An RMA plugin assigned to one communicator. A value; give it back once, with RmaHost::release.
struct AssignedRma {
    RmaTable table;  ///< valid until the library goes with its last communicator
    int devices = 0;
    std::string name;
    std::string library;           ///< path of the mapped file
    void* rma_instance = nullptr;  ///< of the host-initiated side
    void* gin_instance = nullptr;  ///< of the GIN side; nullptr when the type filter refuses it
    bool gin = false;              ///< the GIN side may use the table
    std::size_t index = 0;         ///< place in the list of candidates
};

/// What the caller's other variables say. Defaults are the callers'.
struct RmaHostOptions {
    int ref_count = 0;  ///< NCCL_RMA_PLUGIN_REF_COUNT: 1 keeps the library for ever
    int gin_type = -1;  ///< NCCL_GIN_TYPE: -1 = any, else compared with netDeviceType of device 0
    [[nodiscard]] static RmaHostOptions from_environment();
};

/// Plays the part of the caller.
class RmaHost {
  public:
    /// Nothing is opened before the first communicator. `logger` goes to every init, may be NULL.
    RmaHost(RmaRequest request, ncclDebugLogger_t logger, HostLog log = {},
            RmaHostOptions options = RmaHostOptions());
    ~RmaHost();
    RmaHost(const RmaHost&) = delete;
    RmaHost& operator=(const RmaHost&) = delete;

    /// For a new communicator: load what is not loaded, init for the RMA side, devices the first
    /// time, a v13 table only with device type GIN_PROXY, the other external entries disabled; then
    /// init again for the GIN side (L-14), at once finalized when the type filter refuses it. A
    /// failing entry is disabled for good and the next is tried. Errors: Errc::no_data when only
    /// the built-in backends are left.
    [[nodiscard]] Result<AssignedRma> attach(std::uint64_t comm_id);

    /// When a communicator goes: finalize of the GIN instance, then of the RMA instance, then
    /// dlclose when no communicator uses the library (L-17).
    void release(const AssignedRma& rma);

    /// How often each thing was done so far.
    struct Counts {
        int loads = 0, unloads = 0, inits = 0, device_calls = 0, finalizes = 0;
    };
    [[nodiscard]] Counts counts() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace duofi::loader
