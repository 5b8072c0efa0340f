// What the integration tests of the RMA plugin share.
#pragma once

#include "tests/integration/integration.hpp"
#include "tests/support/rma_exchange.hpp"

namespace duofi::test {

/// on_provider for groups that use the RMA table: it is asked for by variable.
[[nodiscard]] inline GroupOptions rma_on_provider(const std::string& word, int ranks) {
    GroupOptions options = on_provider(word, ranks);
    options.env["DUOFI_RMA"] = "1";
    return options;
}

/// A group of this process alone, made and used through one table: instance, connection, context,
/// put, signal and get with itself, and the end of all that.
class RmaAlone {
  public:
    explicit RmaAlone(const Rma& table, std::uint64_t comm_id = 1);
    /// Moves `bytes` bytes and checks them.
    void use(std::size_t bytes, std::uint64_t seed);
    [[nodiscard]] RmaTeam& team() { return team_; }

  private:
    RmaTeam team_;
};

}  // namespace duofi::test
