// The caller's side of the RMA tables v13 to v16 with ownership and deadlines, in the form of v16:
// what every test of the RMA plugin is written with. Data calls on one context come from one thread
// at a time (rma contract 3.1); control calls may block.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/loader/rma_table.hpp"
#include "tests/support/failure.hpp"
#include "tests/support/net_driver.hpp"

namespace duofi::test {

inline constexpr int kOldestRma = 13;
inline constexpr int kNewestRma = 16;

/// How long one wait may take. Variable DUOFI_TEST_PATIENCE_MS shortens it for programs whose
/// waits are expected to fail.
[[nodiscard]] Nanoseconds rma_patience();

/// One dlopen of the module under test. One thread at a time.
class RmaModule {
  public:
    /// Throws TestFailure with the loader's text.
    explicit RmaModule(const std::string& path);
    RmaModule(RmaModule&& other) noexcept;
    RmaModule& operator=(RmaModule&&) = delete;
    ~RmaModule() { close(); }
    /// Throws when the module has no table of that version.
    [[nodiscard]] const void* table(int version) const;
    [[nodiscard]] const ncclNet_v6_t* net_v6() const;
    void close();

  private:
    void* library_;
};

/// A table under test. Any thread.
class Rma {
  public:
    Rma(const void* table, int version) : table_(table, version), version_(version) {}

    /// The module of DUOFI_PLUGIN_PATH, opened once per process and never closed.
    static const Rma& process(int version = kNewestRma);

    [[nodiscard]] const loader::RmaTable* operator->() const { return &table_; }
    [[nodiscard]] int version() const { return version_; }
    /// Weak signals exist from v14 on (rma contract 2.5), hints from v15 on (2.6).
    [[nodiscard]] bool has_weak_signals() const { return version_ >= 14; }
    [[nodiscard]] bool has_hints() const { return version_ >= 15; }
    [[nodiscard]] int devices() const;
    [[nodiscard]] ncclNetProperties_v12_t properties(int dev) const;

  private:
    loader::RmaTable table_;
    int version_;
};

/// Owns one object of the table: instance, listen comm, collComm, context or registration. Its end
/// must succeed within kCloseLimit.
class RmaOwned {
  public:
    using End = std::function<ncclResult_t(void*)>;

    RmaOwned() = default;
    RmaOwned(void* object, const char* what, End end)
        : object_(object), what_(what), end_(std::move(end)) {}
    RmaOwned(RmaOwned&& other) noexcept { *this = std::move(other); }
    RmaOwned& operator=(RmaOwned&& other) noexcept;
    ~RmaOwned();

    [[nodiscard]] void* get() const { return object_; }
    explicit operator bool() const { return object_ != nullptr; }
    /// Throws unless it succeeds in time; returns the time it took. Nothing when already ended.
    Nanoseconds close();
    /// Forgets the object without ending it.
    void* abandon() { return std::exchange(object_, nullptr); }

  private:
    void* object_ = nullptr;
    const char* what_ = "";
    End end_;
};

/// init with the recording logger.
[[nodiscard]] RmaOwned open_instance(const Rma& rma, std::uint64_t comm_id);

struct RmaListener {
    RmaOwned comm;
    Handle handle{};
};
[[nodiscard]] RmaListener rma_listen(const Rma& rma, void* instance, int dev = 0);

/// connect without judging its result: the handles lie in one array of 128-byte slots that is
/// overwritten and freed afterwards (C-2).
[[nodiscard]] ncclResult_t rma_connect(const Rma& rma, void* ctx,
                                       const std::vector<Handle>& handles, int rank,
                                       void* listen_comm, void** coll_comm);

/// The object that owns a collComm.
[[nodiscard]] RmaOwned own_coll(const Rma& rma, void* coll_comm);

[[nodiscard]] RmaOwned open_context(const Rma& rma, void* coll_comm, int contexts = 1,
                                    int stride = 1);

/// Where data calls go.
struct RmaStream {
    const Rma* rma = nullptr;
    void* coll = nullptr;
    void* ctx = nullptr;
    int context = 0;
};

struct RmaPut {
    std::uint64_t from = 0;  ///< offset in the local region
    void* source = nullptr;  ///< local mhandle
    std::size_t bytes = 0;
    std::uint64_t to = 0;  ///< offset in the target's region
    void* target = nullptr;
    int rank = 0;
    std::uint32_t hints = 0;
};

struct RmaSignal {
    std::uint64_t at = 0;
    void* region = nullptr;
    std::uint64_t value = 0;
    std::uint32_t op = NCCL_NET_SIGNAL_OP_INC;
    bool strong = true;
};

/// One call each, result not judged; `request` keeps what the caller left in it.
[[nodiscard]] ncclResult_t try_put(const RmaStream& on, const RmaPut& put, void** request);
[[nodiscard]] ncclResult_t try_signal(const RmaStream& on, const RmaPut& put,
                                      const RmaSignal& signal, void** request);
/// `put.to`/`target` name the remote side, `from`/`source` the local one.
[[nodiscard]] ncclResult_t try_get(const RmaStream& on, const RmaPut& get, void** request);

/// One call each, which must succeed and give a request although garbage stood there.
[[nodiscard]] void* post_put(const RmaStream& on, const RmaPut& put);
[[nodiscard]] void* post_signal(const RmaStream& on, const RmaPut& put, const RmaSignal& signal);
[[nodiscard]] void* post_get(const RmaStream& on, const RmaPut& get);
[[nodiscard]] void* post_flush(const RmaStream& on, void* mhandle, int rank);

/// One call of test; `done` must be written (E-1).
[[nodiscard]] bool rma_test(const RmaStream& on, void* request);
/// Tests until done.
void rma_wait(const RmaStream& on, void* request);
void rma_wait_all(const RmaStream& on, std::span<void* const> requests);
/// Tests until it fails; the error.
[[nodiscard]] ncclResult_t rma_wait_error(const RmaStream& on, void* request, Nanoseconds limit);

}  // namespace duofi::test
