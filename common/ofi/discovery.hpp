// Finds the devices: asks libfabric once, refuses with reasons, keeps one entry per real NIC,
// orders, names. Call at init; takes some milliseconds; any thread, calls are independent.
#pragma once

#include "common/ofi/device_list.hpp"
#include "common/ofi/fid.hpp"
#include "common/ofi/requirements.hpp"
#include "common/topology/platform.hpp"
#include "common/topology/sysfs.hpp"
#include "common/util/error.hpp"
#include "common/util/settings.hpp"

namespace duofi::ofi {

/// The device list for these settings. Logs the choice, and each dropped interface once, at INFO.
/// Errors: no_data (61) when nothing usable exists, quietly unless the user named us (A4, A21,
/// A22); unsupported (95) by the EFA gate (net contract 4.5); no_memory. Signal dispositions are as
/// before.
[[nodiscard]] Result<DeviceList> discover(const Settings& settings, const Requirements& needs);

/// The list that every plugin of this machine shows: `settings` as the user gave them, what the platform adds filled in
/// (copies per NIC, provider filter S17, the speed that a driver tells wrongly, net contract 6.4). Same errors.
[[nodiscard]] Result<DeviceList> discover(const Settings& settings, const Requirements& needs,
                                          const topology::Platform& platform);

/// Same as the first with another root for sysfs and procfs (tests).
[[nodiscard]] Result<DeviceList> discover(const Settings& settings, const Requirements& needs,
                                          const topology::Sysfs& sysfs);

/// The provider whose devices discover() would choose, "" for none. Says nothing in the log. Any thread.
[[nodiscard]] std::string likely_provider(const Settings& settings, const Requirements& needs);

/// Asks again for one device, same NIC, provider and address, under other requirements (another
/// engine, or the basic registration mode of P6). Errors: no_data (61) when the device cannot grant
/// them.
[[nodiscard]] Result<InfoPtr> info_for(const DeviceInfo& device, const Requirements& needs);

}  // namespace duofi::ofi
