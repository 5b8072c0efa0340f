// A stand-in for libnccom: finds the table by dlsym of one symbol and calls everything by byte offset, without any
// header of ours that describes the layout (net contract 1.6, 2.2). A v5-only and a v4-only caller besides. A comm from
// one thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "common/abi/host_types.h"
#include "tests/support/failure.hpp"
#include "tests/support/memory_buffer.hpp"
#include "tests/support/net_driver.hpp"
#include "tests/support/net_link.hpp"
#include "tests/support/peer_group.hpp"

namespace duofi::test {

enum class Slot {
    init, fini, devices, get_properties, listen, connect, accept, reg_mr, reg_mr_dmabuf, dereg_mr, isend, irecv, iflush,
    test, close_send, close_recv, close_listen, get_mr_key, iwrite, iwrite_inline, iread
};

/// What the caller reads of a properties struct, at its offsets; -1 where the version has no such field.
struct NccomProperties {
    const char* name = nullptr;
    const char* pci_path = nullptr;
    int ptr_support = -1, reg_is_global = -1, speed = -1, port = -1, max_comms = -1, max_recvs = -1, rma_supported = -1;
    std::size_t max_write_inline = 0, max_key_bytes = 0;
};

class Nccom {
  public:
    /// dlopen and dlsym of ncclNetPlugin_v<version>; no init. Throws TestFailure.
    explicit Nccom(int version);
    ~Nccom() { close(); }
    Nccom(const Nccom&) = delete;
    Nccom& operator=(const Nccom&) = delete;
    void close();

    /// One per process, initialised with the recording logger.
    static Nccom& process(int version);

    [[nodiscard]] int version() const { return version_; }
    [[nodiscard]] bool has(Slot slot) const;
    /// Calls the pointer at the slot's offset. The arguments have exactly the types of the table.
    template <typename... Arguments>
    [[nodiscard]] ncclResult_t call(Slot slot, Arguments... arguments) const {
        ncclResult_t (*function)(Arguments...) = nullptr;
        std::memcpy(&function, table_ + offset(slot), sizeof(function));
        return function(arguments...);
    }

    [[nodiscard]] NccomProperties properties(int device) const;
    [[nodiscard]] int devices() const;
    /// The pointers of the table, name first.
    [[nodiscard]] std::vector<void*> pointers() const;

  private:
    [[nodiscard]] std::size_t offset(Slot slot) const;
    void* library_ = nullptr;
    const char* table_ = nullptr;
    int version_;
};

/// Owns one comm.
class NccomComm {
  public:
    NccomComm() = default;
    NccomComm(const Nccom& net, Slot close, void* comm) : net_(&net), close_(close), comm_(comm) {}
    NccomComm(NccomComm&& other) noexcept { *this = std::move(other); }
    NccomComm& operator=(NccomComm&& other) noexcept;
    ~NccomComm();
    [[nodiscard]] void* get() const { return comm_; }
    [[nodiscard]] const Nccom& net() const { return *net_; }
    explicit operator bool() const { return comm_ != nullptr; }
    /// Throws unless it gives `wanted` within kCloseLimit.
    void close(ncclResult_t wanted = ncclSuccess);

  private:
    const Nccom* net_ = nullptr;
    Slot close_ = Slot::close_send;
    void* comm_ = nullptr;
};

struct NccomLink {
    NccomComm send, recv;
};

/// Owns one registration of host memory.
class NccomMemory {
  public:
    NccomMemory(const NccomComm& comm, void* data, std::size_t bytes);
    NccomMemory(NccomMemory&& other) noexcept;
    NccomMemory& operator=(NccomMemory&&) = delete;
    ~NccomMemory() { release(); }
    [[nodiscard]] void* handle() const { return handle_; }
    [[nodiscard]] std::uint64_t key() const;
    void release();

  private:
    const Nccom* net_;
    void* comm_;
    void* handle_ = nullptr;
};

/// Links with the partner (0-1, 2-3), each way; collective. v4: both sides connect before they accept.
[[nodiscard]] NccomLink nccom_pair(Rank& rank, const Nccom& net);

/// Repeats until there is a request.
[[nodiscard]] void* nccom_send(const NccomComm& comm, void* data, std::size_t bytes, int tag, const NccomMemory& memory);
[[nodiscard]] void* nccom_recv(const NccomComm& comm, void* data, std::size_t bytes, int tag, const NccomMemory& memory);
[[nodiscard]] void* nccom_write(const NccomComm& comm, void* data, std::size_t bytes, const NccomMemory& memory,
                                std::uint64_t address, std::uint64_t key);
[[nodiscard]] void* nccom_write_inline(const NccomComm& comm, void* data, std::size_t bytes, std::uint64_t address,
                                       std::uint64_t key);
[[nodiscard]] void* nccom_read(const NccomComm& comm, void* data, std::size_t bytes, const NccomMemory& memory,
                               std::uint64_t address, std::uint64_t key);

/// Tests until done; the size told. Throws on an error or after kStepPatience.
int nccom_wait(const Nccom& net, void* request);
/// Tests until it fails; ncclSuccess when it is done instead, ncclInProgress when `limit` passes.
[[nodiscard]] ncclResult_t nccom_outcome(const Nccom& net, void* request, Nanoseconds limit);

/// What one rank tells the other about memory that may be reached.
struct Window {
    std::uint64_t address = 0, key = 0, bytes = 0;
};

}  // namespace duofi::test
