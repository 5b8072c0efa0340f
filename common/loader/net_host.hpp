// The caller's life cycle of net plugins: a process with communicators that come and go (net
// contract 1.7). Calls of one NetHost are serialised by its own mutex, as the callers serialise
// theirs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "common/loader/plugin_host.hpp"

namespace duofi::loader {

/// A net plugin assigned to one communicator. A value; give it back once, with NetHost::release.
struct AssignedNet {
    const void* table = nullptr;  ///< valid until the library goes with its last communicator
    const ncclNet_v6_t* v6 =
        nullptr;  ///< the same, when version is 6 and the caller is not libnccom
    int version = 0;
    int devices = 0;
    std::string name;
    void* context = nullptr;      ///< what v11 and v12 returned from init
    std::size_t index = 0;        ///< place in the list of candidates
    bool loaded_library = false;  ///< this communicator was the one that opened the library
};

/// Plays the part of the caller: init once per process up to 2.27; counted from 2.28 for tables up
/// to v10; once per communicator, with finalize, for v11 and v12. Libraries go by
/// NCCL_NET_PLUGIN_REF_COUNT. libnccom binds once and calls fini (+16) at the end.
class NetHost {
  public:
    /// Nothing is opened before the first communicator. `logger` goes to every init.
    NetHost(NetRequest request, ncclDebugLogger_t logger, HostLog log = {});
    /// Closes what is still open, as the end of the process would.
    ~NetHost();
    NetHost(const NetHost&) = delete;
    NetHost& operator=(const NetHost&) = delete;

    /// What the caller does for a new communicator: load what is not loaded, compare the name,
    /// init, devices, device type; a failing entry is disabled for good and the next is tried.
    /// `comm_id` goes to v11 and v12. Errors: Errc::no_data when only the built-in networks are
    /// left.
    [[nodiscard]] Result<AssignedNet> attach(std::uint64_t comm_id);

    /// What the caller does when a communicator goes: finalize where the table has it, then dlclose
    /// when the count is zero (it starts at the request's ref_count: by default 0 from 2.28, 1
    /// in 2.26 and 2.27).
    void release(const AssignedNet& net);

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
