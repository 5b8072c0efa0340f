// What init returns, one per call, and the process-wide part behind all of them: settings and the device list that the
// net tables show too (A9, L-20). Any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "common/abi/host_types.h"
#include "common/abi/rma_v16.h"
#include "common/ofi/device_list.hpp"
#include "common/ofi/endpoint.hpp"
#include "common/util/fork_mark.hpp"
#include "common/util/mutex.hpp"
#include "rma_plugin/caller_objects.hpp"
#include "rma_plugin/properties.hpp"

namespace duofi::rma {

/// Made by the first init, kept until the library is unloaded. Plain data; no libfabric object is open in it.
struct Process {
    Settings settings;
    ofi::DeviceList list;                      ///< the devices of the net tables; the strings callers see
    std::deque<ofi::DeviceInfo> one_sided;     ///< the same devices with what one-sided operations need granted
    ReportedForAll reported;
    ForkMark fork_mark;
};

/// nullptr before the first init.
[[nodiscard]] Process* process() noexcept;

/// Endpoints in use, one per instance and device; one per device for all instances where the provider's endpoints are
/// expensive or work in each other's memory (architecture 4.4).
class EndpointPool {
  public:
    [[nodiscard]] Result<std::shared_ptr<ofi::Endpoint>> get(const ofi::DeviceInfo& device,
                                                             const Settings& settings, const Instance* user);

  private:
    Mutex mutex_;
    std::map<std::pair<const ofi::DeviceInfo*, const Instance*>, std::weak_ptr<ofi::Endpoint>> endpoints_;
};

class ListenComm;
class Group;

class Instance {
  public:
    void add(ListenComm& comm);
    void add(Group& group);
    void remove(ListenComm& comm);
    void remove(Group& group);
    /// Whatever the caller has left open: ended, so that no thread and no libfabric object stays (L-17).
    void end_all();

    ObjectHandle* handle = nullptr;  ///< the caller's pointer

  private:
    Mutex mutex_;
    std::vector<ListenComm*> listeners_;
    std::vector<Group*> groups_;
};

/// init of every table: cheap after the first call. `table_version` is told in the log. Errors: discovery's; no_data
/// when the host found the tables beside a net plugin and nobody asked for them (architecture 2).
[[nodiscard]] Result<Instance*> open_instance(ncclDebugLogger_t logger, int table_version);
void close_instance(Instance& instance);

[[nodiscard]] EndpointPool& endpoint_pool();

/// Is this a forked child of the process that ran init (architecture 4.14)? No system call.
[[nodiscard]] bool in_forked_child() noexcept;

/// Makes the list of devices without an instance, for tools that ask before init (rma contract 3.12).
[[nodiscard]] Result<Process*> prepare_process();

}  // namespace duofi::rma
