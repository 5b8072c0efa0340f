// One collComm of the emulated callers: how it is made, which ranks it holds (rma contract 3.2).
// Set-up calls are collective and come from one thread at a time.
#pragma once

#include <vector>

#include "common/gin/exchange.hpp"
#include "common/loader/rma_client.hpp"

namespace duofi::gin {

/// The members of a group, in its own numbering, and the way back from ranks of the exchange.
class Members {
  public:
    Members() = default;
    /// Every rank of the exchange, or with a stride s >= 1 those that are equal to `rank` modulo s
    /// (rail groups, C-4).
    Members(int rank, int size, int stride);
    [[nodiscard]] int size() const noexcept { return static_cast<int>(ranks_.size()); }
    [[nodiscard]] int own() const noexcept { return own_; }
    /// Rank of the exchange.
    [[nodiscard]] int rank_of(int member) const noexcept {
        return ranks_[static_cast<std::size_t>(member)];
    }
    /// Number inside the group, -1 for a rank outside.
    [[nodiscard]] int member_of(int rank) const noexcept;

  private:
    std::vector<int> ranks_;
    int own_ = 0;
    int stride_ = 1;
};

/// How a collComm is to be made.
struct ConnectRequest {
    void* instance = nullptr;          ///< goes to listen
    void* connect_instance = nullptr;  ///< goes to connect; callers pass others' pointers (C-3)
    int device = 0;
    bool properties_first = true;  ///< GIN asks before connect, the RMA side after it
};

struct Connection {
    Members members;
    loader::RmaGroup group;
    ncclNetProperties_v12_t properties{};
};

/// listen, exchange of the handles, connect, getProperties and closeListen, as the callers do. A
/// rank whose listen fails makes all fail. Errors: what the table returned, as negative
/// provider_errno.
[[nodiscard]] Result<Connection> connect(const loader::RmaClient& client, const Exchange& exchange,
                                         Members members, const ConnectRequest& request);

/// A failure of the table as an Error: remote, invalid_argument, ... with the plugin's code as
/// negative provider_errno.
[[nodiscard]] tl::unexpected<Error> failed(const loader::NetFailure& failure);

}  // namespace duofi::gin
