// What the integration tests share: groups of processes on a provider, self-links, bounded calls.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <cstdint>
#include <string>

#include "tests/support/log_capture.hpp"
#include "tests/support/memory_buffer.hpp"
#include "tests/support/message_plan.hpp"
#include "tests/support/net_link.hpp"
#include "tests/support/peer_group.hpp"
#include "tests/support/providers.hpp"

namespace duofi::test {

/// Options for `ranks` processes on a provider word (native, rxm, shm, sockets, or a raw name).
[[nodiscard]] GroupOptions on_provider(const std::string& word, int ranks);

/// The long tier was asked for on the command line (--full).
[[nodiscard]] bool full_tier();

/// A connection of this process with itself.
[[nodiscard]] Link connect_self(const Net& net, int dev = 0);

/// Sends `bytes` bytes over a link whose two ends are both here, and checks them.
void transfer_self(const Link& link, std::size_t bytes, std::uint64_t seed);

/// A plan of `messages` messages of mixed sizes.
[[nodiscard]] Plan mixed_plan(int messages, std::uint64_t seed);

/// A parameter per provider that integration tests run on.
class OnProvider : public testing::TestWithParam<const char*> {};

/// Name of a parameter in test names.
[[nodiscard]] std::string provider_test_name(const testing::TestParamInfo<const char*>& info);

}  // namespace duofi::test
