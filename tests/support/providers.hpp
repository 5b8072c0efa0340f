// Names of the providers that tests run over. Main thread.
#pragma once

#include <string>

namespace duofi::test {

/// The value of FI_PROVIDER for a word of the command line: native is the tcp provider with
/// reliable datagrams of its own (net before libfabric 1.18, tcp from there), rxm is tcp;ofi_rxm, a
/// personality of the simulated fabric ("duofisim;efa") is followed by its last part, any other word is itself. Opens and closes libfabric to learn its version.
[[nodiscard]] std::string provider_name(const std::string& word);

}  // namespace duofi::test
