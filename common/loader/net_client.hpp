// A thin C++ convenience over a caller-side v6 table: deadlines, ownership and result codes, while
// the request rules stay visible (a NULL request means post again; net contract 3.4, 3.5). Threads:
// a NetClient may be shared; one comm and its transfers from one thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>

#include "common/abi/host_types.h"
#include "common/abi/net_v6.h"
#include "common/util/clock.hpp"
#include "common/util/error.hpp"

namespace duofi::loader {

inline constexpr std::size_t kNetHandleBytes = 128;  ///< net contract 2.1
using NetHandle = std::array<std::byte, kNetHandleBytes>;

/// A failed call: `result` is the plugin's own code, ncclSuccess when the failure is ours (a
/// deadline).
struct NetFailure {
    ncclResult_t result = ncclSuccess;
    bool timed_out = false;
    const char* call = "";  ///< table entry, a string literal
};
/// "isend returned ncclRemoteError (6)" or "accept did not finish before the deadline".
[[nodiscard]] std::string to_string(const NetFailure& failure);

template <typename T>
using NetResult = tl::expected<T, NetFailure>;

/// An owned memory registration; the destructor calls deregMr. Must die before its comm is closed.
class Registration {
  public:
    Registration() = default;
    Registration(const ncclNet_v6_t* net, void* comm, void* mhandle) noexcept
        : net_(net), comm_(comm), mhandle_(mhandle) {}
    Registration(Registration&& other) noexcept;
    Registration& operator=(Registration&& other) noexcept;
    ~Registration() { static_cast<void>(reset()); }
    /// deregMr now; returns the plugin's code (ncclSuccess when empty).
    ncclResult_t reset() noexcept;
    [[nodiscard]] void* get() const noexcept { return mhandle_; }

  private:
    const ncclNet_v6_t* net_ = nullptr;
    void* comm_ = nullptr;
    void* mhandle_ = nullptr;
};

/// An owned comm of one kind; the destructor calls the matching close entry.
class NetComm {
  public:
    enum class Kind { listen, send, recv };
    NetComm() = default;
    NetComm(const ncclNet_v6_t* net, void* comm, Kind kind) noexcept
        : net_(net), comm_(comm), kind_(kind) {}
    NetComm(NetComm&& other) noexcept;
    NetComm& operator=(NetComm&& other) noexcept;
    ~NetComm() { static_cast<void>(close()); }
    /// Closes now; returns the plugin's code (ncclSuccess when empty).
    ncclResult_t close() noexcept;
    [[nodiscard]] void* get() const noexcept { return comm_; }
    explicit operator bool() const noexcept { return comm_ != nullptr; }

  private:
    const ncclNet_v6_t* net_ = nullptr;
    void* comm_ = nullptr;
    Kind kind_ = Kind::listen;
};

/// One transfer in flight. `request` is what the plugin gave; nullptr means that nothing is posted.
struct Transfer {
    void* request = nullptr;
};

/// The calls. Every wait polls as a caller does and ends at its deadline.
class NetClient {
  public:
    /// `net` must stay loaded and initialised; it is not owned.
    explicit NetClient(const ncclNet_v6_t* net) noexcept : net_(net) {}

    /// listen; `handle` is zeroed before the call and filled for the peer.
    [[nodiscard]] NetResult<NetComm> listen(int device, NetHandle& handle) const;

    struct Pair {
        NetComm send, recv;
    };
    /// Polls connect (to `peer`, with its handle as scratch) and accept (on `listener`) alternately
    /// until both have a comm; neither call is ever waited on alone (net contract 3.2).
    [[nodiscard]] NetResult<Pair> connect_and_accept(int device, NetHandle& peer,
                                                     const NetComm& listener,
                                                     const Deadline& deadline) const;
    [[nodiscard]] NetResult<NetComm> connect(int device, NetHandle& peer,
                                             const Deadline& deadline) const;
    [[nodiscard]] NetResult<NetComm> accept(const NetComm& listener,
                                            const Deadline& deadline) const;

    /// regMr for cpu memory (type HOST). Length at most INT_MAX (the v6 entry takes an int).
    [[nodiscard]] NetResult<Registration> register_memory(const NetComm& comm,
                                                          std::span<std::byte> memory) const;

    /// isend / irecv, repeated while the plugin answers with a NULL request, until the deadline.
    [[nodiscard]] NetResult<Transfer> send(const NetComm& comm, std::span<const std::byte> data,
                                           int tag, const Registration& memory,
                                           const Deadline& deadline) const;
    [[nodiscard]] NetResult<Transfer> recv(const NetComm& comm, std::span<std::byte> data, int tag,
                                           const Registration& memory,
                                           const Deadline& deadline) const;
    /// test until done; returns the bytes transferred. After success or failure the transfer is
    /// empty; after a timeout it still owns its request and may be waited for again.
    [[nodiscard]] NetResult<std::size_t> wait(Transfer& transfer, const Deadline& deadline) const;
    /// One test call: true when done (`bytes` written).
    [[nodiscard]] NetResult<bool> test(Transfer& transfer, std::size_t& bytes) const;

  private:
    [[nodiscard]] NetResult<NetComm> try_connect(int device, NetHandle& peer) const;
    [[nodiscard]] NetResult<NetComm> try_accept(const NetComm& listener) const;

    const ncclNet_v6_t* net_;
};

}  // namespace duofi::loader
