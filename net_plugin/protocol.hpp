// The object chain behind the table (seed section 2): plugin > device > endpoint > comms. The entries walk it,
// a protocol implements it, a recording fake proves the walk. A reference taken by get_endpoint passes to the
// comm that listen or connect makes, and goes back with release() when they fail.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/abi/host_types.h"
#include "common/util/error.hpp"
#include "net_plugin/handle.hpp"

namespace duofi::net {

struct DeviceProperties;
class Endpoint;
class OneSided;

/// One buffer of a grouped receive.
struct RecvBuffer {
    void* data = nullptr;
    std::size_t size = 0;
    int tag = 0;
    void* memory = nullptr;  ///< caller's mhandle, may be NULL
};

/// What the caller tests. Lives in its comm's pool; the memory outlives the comm (use after close is told).
class Request;

class Comm {
  public:
    explicit Comm(Endpoint& endpoint) : endpoint_(endpoint) {}
    virtual ~Comm() = default;
    Comm(const Comm&) = delete;
    Comm& operator=(const Comm&) = delete;

    [[nodiscard]] Endpoint& endpoint() const noexcept { return endpoint_; }
    /// Ends the comm and destroys it: local, at most a second, also with operations in flight or a dead peer
    /// (architecture 4.8). The caller of close() then releases the endpoint.
    virtual void close() = 0;

  private:
    Endpoint& endpoint_;
};

/// Both directions: one comm is used by one thread at a time, but not always the same (net contract 3.1).
class DataComm : public Comm {
  public:
    using Comm::Comm;
    /// Registers caller memory; `size` > 0 bytes, type NCCL_PTR_HOST. Gives the caller's mhandle.
    [[nodiscard]] virtual Result<void*> register_memory(void* data, std::size_t size) = 0;
    /// Access to the peer's memory, as long as the comm (net contract 3.10). nullptr: not on this device.
    [[nodiscard]] virtual OneSided* one_sided() noexcept { return nullptr; }
};

class SendComm : public DataComm {
  public:
    using DataComm::DataComm;
    /// nullptr = not now, call again (net contract 3.4).
    [[nodiscard]] virtual Result<Request*> isend(void* data, std::size_t size, int tag, void* memory) = 0;
};

class RecvComm : public DataComm {
  public:
    using DataComm::DataComm;
    /// nullptr = not now, call again. `count` 1..8, checked by the entry.
    [[nodiscard]] virtual Result<Request*> irecv(const RecvBuffer* buffers, int count) = 0;
    /// nullptr = nothing to flush (net contract 3.6).
    [[nodiscard]] virtual Result<Request*> iflush(const RecvBuffer* buffers, int count) = 0;
};

class ListenComm : public Comm {
  public:
    using Comm::Comm;
    /// nullptr = nobody is there yet, call again. The new comm has its own reference on the endpoint.
    [[nodiscard]] virtual Result<RecvComm*> accept() = 0;
};

struct ConnectProgress {
    SendComm* comm = nullptr;
    bool ready = false;
    bool asked = false;  ///< the request has reached the fabric: the comm can be used, and says "not now" until ready
};

class Endpoint {
  public:
    virtual ~Endpoint() = default;
    /// Describes the new listen comm in `handle`.
    [[nodiscard]] virtual Result<ListenComm*> listen(Handle& handle) = 0;
    /// Starts (`attempt` null) or continues a connection; never blocks. Not ready: call again with the comm
    /// that was returned. An error has destroyed the attempt; the caller releases the endpoint.
    [[nodiscard]] virtual Result<ConnectProgress> connect(const Handle& handle, SendComm* attempt) = 0;
    virtual void add_reference() = 0;
    virtual void release() = 0;
};

class Device {
  public:
    virtual ~Device() = default;
    /// Endpoint of the calling thread, with one reference for the caller of this function.
    [[nodiscard]] virtual Result<Endpoint*> get_endpoint() = 0;
    [[nodiscard]] virtual const DeviceProperties& properties() const noexcept = 0;
};

class Plugin {
  public:
    virtual ~Plugin() = default;
    [[nodiscard]] virtual int device_count() const noexcept = 0;
    /// nullptr if there is no such device.
    [[nodiscard]] virtual Device* get_device(int index) noexcept = 0;
};

}  // namespace duofi::net
