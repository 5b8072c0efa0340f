// An RMA table inside the test: it records every call, moves bytes and adds signals between the
// ranks of this process, and misbehaves when told to. One FakeRma per test; any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/abi/rma_v16.h"
#include "common/loader/rma_table.hpp"

namespace duofi::gin::test {

enum class CallKind { iput, iput_signal, iget, iflush };

/// One data call as it came in.
struct FakeCall {
    CallKind kind = CallKind::iput;
    int context = 0;
    std::uint64_t src_offset = 0;
    void* src = nullptr;
    std::size_t bytes = 0;
    std::uint64_t dst_offset = 0;
    void* dst = nullptr;
    std::uint32_t rank = 0;
    std::uint64_t signal_offset = 0;
    void* signal = nullptr;
    std::uint64_t value = 0;
    std::uint32_t op = 0;
    bool strong = false;
    std::uint32_t flags = 0;
    void* request = nullptr;
    std::uint64_t first_word = 0;  ///< up to 8 bytes of the source when it was called
};

/// What goes wrong, and how.
struct Faults {
    ncclResult_t data = ncclSuccess;  ///< of data calls
    ncclResult_t test = ncclSuccess;  ///< of test
    ncclResult_t progress = ncclSuccess;
    ncclResult_t listen = ncclSuccess;
    bool null_requests = false;  ///< success without a request
    bool never_done = false;     ///< test never says done
    bool last_error = false;
};

class FakeRma;
struct FakeGroup;
struct FakeRegion {
    FakeGroup* group = nullptr;
    std::size_t number = 0;  // order of registration in the group
    std::byte* data = nullptr;
    std::size_t bytes = 0;
};

struct FakeGroup {
    FakeRma* owner = nullptr;
    std::vector<FakeGroup*>* world = nullptr;
    int rank = 0;
    std::vector<FakeRegion*> regions;
};

class FakeRma {
  public:
    FakeRma();
    ~FakeRma();
    FakeRma(const FakeRma&) = delete;
    FakeRma& operator=(const FakeRma&) = delete;

    [[nodiscard]] loader::RmaTable table() const;
    /// Distinct for each call.
    [[nodiscard]] void* new_instance();

    /// With `alone` no rank waits for the others: calls to them are recorded, no bytes move.
    bool alone = false;
    /// Requests stay open until complete() names them.
    bool hold = false;
    bool null_flush = false;  ///< iflush answers with NULL
    int max_recvs = 1;
    Faults faults;

    [[nodiscard]] std::vector<FakeCall> calls() const;
    /// Set-up calls by name and size, in order: "regMrSym 64 flags 3".
    [[nodiscard]] std::vector<std::string> set_up() const;
    [[nodiscard]] int progress_calls() const;
    [[nodiscard]] std::vector<void*> tested() const;
    void complete(const FakeCall& call);
    void complete_all();
    void forget_calls();
    /// Requests that were given out and never reported done.
    [[nodiscard]] std::size_t open_requests() const;

  private:
    friend struct FakeEntries;
    struct Request {
        bool done = false;
    };
    struct World {
        std::vector<FakeGroup*> groups;
        std::size_t arrived = 0, left = 0;
    };

    static std::atomic<FakeRma*> current_;  // what entries without an object reach
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<FakeCall> calls_;
    std::vector<std::string> set_up_;
    std::vector<void*> tested_;
    int progress_calls_ = 0;
    std::uint64_t next_id_ = 0;
    std::map<std::uint64_t, std::shared_ptr<World>> worlds_;
    std::map<void*, std::unique_ptr<Request>> requests_;
    std::vector<std::unique_ptr<FakeGroup>> groups_;
    std::vector<std::unique_ptr<FakeRegion>> regions_;
    std::vector<std::unique_ptr<int>> instances_;
};

}  // namespace duofi::gin::test
