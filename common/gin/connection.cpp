#include "common/gin/connection.hpp"

#include <array>
#include <cstring>
#include <utility>

namespace duofi::gin {
namespace {

Errc code_of(ncclResult_t result) {
    switch (result) {
        case ncclInvalidArgument:
            return Errc::invalid_argument;
        case ncclInvalidUsage:
            return Errc::invalid_usage;
        case ncclRemoteError:
            return Errc::remote;
        case ncclInternalError:
            return Errc::internal;
        default:
            return Errc::system;
    }
}

/// What each rank tells the others before they connect.
struct Card {
    std::array<std::byte, loader::kNetHandleBytes> handle{};
    std::uint32_t result = 0;
};

Result<std::vector<Card>> exchange_cards(const Exchange& exchange, const Card& own) {
    std::vector<Card> cards(static_cast<std::size_t>(exchange.size));
    DUOFI_TRY(exchange.all_gather(std::as_bytes(std::span(&own, 1)),
                                  std::as_writable_bytes(std::span(cards))));
    return cards;
}

Result<ncclNetProperties_v12_t> properties_of(const loader::RmaClient& client, int device) {
    ncclNetProperties_v12_t properties{};
    const ncclResult_t result = client.table().properties(device, &properties);
    if (result != ncclSuccess) return failed({result, false, "getProperties"});
    return properties;
}

}  // namespace

Exchange alone() {
    return {0, 1, [](std::span<const std::byte> mine, std::span<std::byte> all) -> Status {
                if (all.size() != mine.size()) return fail(Errc::invalid_argument, "all_gather");
                if (!mine.empty()) std::memcpy(all.data(), mine.data(), mine.size());
                return {};
            }};
}

Members::Members(int rank, int size, int stride) : stride_(stride < 1 ? 1 : stride) {
    for (int other = rank % stride_; other < size; other += stride_) {
        if (other == rank) own_ = static_cast<int>(ranks_.size());
        ranks_.push_back(other);
    }
}

int Members::member_of(int rank) const noexcept {
    if (ranks_.empty() || rank < 0 || rank % stride_ != ranks_.front()) return -1;
    const int member = rank / stride_;
    return member < size() ? member : -1;
}

tl::unexpected<Error> failed(const loader::NetFailure& failure) {
    if (failure.timed_out) return fail(Errc::timed_out, failure.call);
    return fail(code_of(failure.result), failure.call, -static_cast<int>(failure.result));
}

Result<Connection> connect(const loader::RmaClient& client, const Exchange& exchange,
                           Members members, const ConnectRequest& request) {
    Card own;
    loader::NetHandle handle{};
    auto listener = client.listen(request.instance, request.device, handle);
    own.handle = handle;
    own.result = static_cast<std::uint32_t>(listener ? ncclSuccess : listener.error().result);
    DUOFI_ASSIGN(const std::vector<Card> cards, exchange_cards(exchange, own));
    if (!listener) return failed(listener.error());
    std::vector<loader::NetHandle> handles;
    for (int member = 0; member < members.size(); ++member) {
        const Card& card = cards[static_cast<std::size_t>(members.rank_of(member))];
        if (card.result != ncclSuccess) return fail(Errc::remote, "listen of another rank");
        handles.push_back(card.handle);
    }
    Connection connection;
    if (request.properties_first) {
        DUOFI_ASSIGN(connection.properties, properties_of(client, request.device));
    }
    auto group = client.connect(request.connect_instance, *listener, handles, members.own());
    if (!group) return failed(group.error());
    connection.group = std::move(*group);
    if (!request.properties_first) {
        DUOFI_ASSIGN(connection.properties, properties_of(client, request.device));
    }
    const ncclResult_t closed = listener->close();
    if (closed != ncclSuccess) return failed({closed, false, "closeListen"});
    connection.members = std::move(members);
    return connection;
}

}  // namespace duofi::gin
