// What init of our runtimes reads: the settings of the first user. Set by runtime::acquire before init, constant until
// finalize.
#pragma once

#include "common/util/settings.hpp"

namespace duofi::p2p {

[[nodiscard]] const Settings& runtime_settings() noexcept;

}  // namespace duofi::p2p
