// The caller's side of ncclNetPlugin_v6 with ownership and deadlines: what every test of the net
// table is written with. A comm belongs to one thread at a time (net contract 3.1).
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "common/abi/net_v6.h"
#include "tests/support/failure.hpp"

namespace duofi::test {

using Handle = std::array<char, NCCL_NET_HANDLE_MAXSIZE>;

/// How long a single step may take before the test gives up.
inline constexpr Nanoseconds kStepPatience = patience(20 * kSecond);
/// Every close, in any state (net contract 3.7, architecture 4.8).
inline constexpr Nanoseconds kCloseLimit = patience(kSecond);

[[nodiscard]] const char* result_name(ncclResult_t result);

/// Throws TestFailure naming `what` unless `result` is success.
void expect_success(ncclResult_t result, const char* what);

/// Gives the processor away between two polls, for longer the more of them found nothing.
void relax();
/// A poll found something.
void moved_on();

class Net {
  public:
    explicit Net(const ncclNet_v6_t& table) : table_(&table) {}

    /// The module under test, opened and initialised once per process with the recording logger.
    static Net& process();

    [[nodiscard]] const ncclNet_v6_t* operator->() const { return table_; }
    [[nodiscard]] const ncclNet_v6_t& table() const { return *table_; }
    [[nodiscard]] int devices() const;
    [[nodiscard]] ncclNetProperties_v6_t properties(int dev) const;

  private:
    const ncclNet_v6_t* table_;
};

enum class CommKind { listen, send, recv };

/// Owns one comm.
class Comm {
  public:
    Comm() = default;
    Comm(const Net& net, CommKind kind, void* comm) : net_(&net), kind_(kind), comm_(comm) {}
    Comm(Comm&& other) noexcept;
    Comm& operator=(Comm&& other) noexcept;
    ~Comm();

    [[nodiscard]] void* get() const { return comm_; }
    [[nodiscard]] const Net& net() const { return *net_; }
    explicit operator bool() const { return comm_ != nullptr; }
    /// Throws unless the close succeeds within kCloseLimit. Returns the time it took.
    Nanoseconds close();
    /// Forgets the comm without closing it.
    void* abandon();

  private:
    const Net* net_ = nullptr;
    CommKind kind_ = CommKind::listen;
    void* comm_ = nullptr;
};

struct Listener {
    Comm comm;
    Handle handle{};
};

[[nodiscard]] Listener open_listener(const Net& net, int dev = 0);

/// A connect that is under way: the handle copy is the plugin's scratch.
class Connecting {
  public:
    Connecting(const Net& net, int dev, const Handle& handle)
        : net_(&net), dev_(dev), handle_(handle) {}
    /// One call of connect.
    [[nodiscard]] std::optional<Comm> poll();
    /// The same without judging the result.
    [[nodiscard]] ncclResult_t raw_poll(void** comm);

  private:
    const Net* net_;
    int dev_;
    Handle handle_;
};

/// One call of accept.
[[nodiscard]] std::optional<Comm> poll_accept(const Listener& listener);

/// One message slot of a grouped receive.
struct Part {
    void* data = nullptr;
    int bytes = 0;
    int tag = 0;
    void* mhandle = nullptr;
};

/// One call; NULL means: not now. The request word holds garbage on entry (net contract 3.4).
[[nodiscard]] void* try_send(const Comm& comm, const Part& part);
[[nodiscard]] void* try_recv(const Comm& comm, std::span<const Part> parts);

/// Repeats the call until it gives a request.
[[nodiscard]] void* post_send(const Comm& comm, const Part& part);
[[nodiscard]] void* post_recv(const Comm& comm, std::span<const Part> parts);

/// One call of test; `sizes` may be NULL. Checks that `done` was written. `what` names it in failures.
[[nodiscard]] bool test_once(const Net& net, void* request, int* sizes, const char* what = "test");

/// Tests until done; the sizes of `parts` parts. Entries behind them must stay untouched.
std::vector<int> wait(const Net& net, void* request, int parts = 1);

/// Tests until it fails; the error. Throws when it succeeds or `limit` passes.
[[nodiscard]] ncclResult_t wait_error(const Net& net, void* request, Nanoseconds limit);

/// Owns one registration.
class Registration {
  public:
    Registration() = default;
    Registration(const Comm& comm, void* data, std::size_t bytes);
    Registration(Registration&& other) noexcept;
    Registration& operator=(Registration&& other) noexcept;
    ~Registration();
    [[nodiscard]] void* handle() const { return handle_; }
    void release();

  private:
    const Net* net_ = nullptr;
    void* comm_ = nullptr;
    void* handle_ = nullptr;
};

}  // namespace duofi::test
