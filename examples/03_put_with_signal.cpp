// Writes into another process's memory and rings its bell, with bare calls of the RMA table, so
// that every rule of the interface is visible. Nothing here needs a GPU.
//
//   NCCL_RMA_PLUGIN=duofi LD_LIBRARY_PATH=<folder of librccl-rma-duofi.so> ./03_put_with_signal
//
// Read it from the bottom: main() starts the two processes, run() is what each does.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "common/loader/host_logger.hpp"
#include "common/loader/rma_host.hpp"

namespace {

using duofi::loader::RmaTable;
using Clock = std::chrono::steady_clock;
using Handle = std::array<char, NCCL_NET_HANDLE_MAXSIZE>;
constexpr std::size_t kBytes = 1 << 20;
constexpr std::size_t kSignalOffset = kBytes;  // a word behind the data
constexpr auto kPatience = std::chrono::seconds(30);

/// Ends the process with a message when a call fails. Real programs do better.
void check(ncclResult_t result, const char* call) {
    if (result == ncclSuccess) return;
    std::fprintf(stderr, "%s returned %d\n", call, static_cast<int>(result));
    std::exit(1);
}

void check_deadline(Clock::time_point start, const char* what) {
    if (Clock::now() - start < kPatience) return;
    std::fprintf(stderr, "gave up waiting for %s\n", what);
    std::exit(1);
}

/// A group of ranks over one device. listen fills 128 opaque bytes; the host gathers those of all
/// ranks, in rank order, and gives them to connect. How they travel is the host's business; here: a
/// socket.
void* connect(const RmaTable& rma, void* instance, int rank, int socket) {
    std::array<Handle, 2> handles{};
    Handle& own = handles[static_cast<std::size_t>(rank)];
    Handle& other = handles[static_cast<std::size_t>(1 - rank)];
    void* listener = nullptr;
    check(rma.listen(instance, 0, own.data(), &listener), "listen");
    if (::write(socket, own.data(), own.size()) != static_cast<ssize_t>(own.size()) ||
        ::recv(socket, other.data(), other.size(), MSG_WAITALL) !=
            static_cast<ssize_t>(other.size())) {
        std::fprintf(stderr, "the other process is gone\n");
        std::exit(1);
    }
    // connect may block until all ranks have called it. Afterwards the listener is not needed.
    void* pointers[] = {handles[0].data(), handles[1].data()};
    void* group = nullptr;
    check(rma.connect(instance, pointers, 2, rank, listener, &group), "connect");
    check(rma.close_listen(listener), "closeListen");
    return group;
}

/// `test` drives the network and says when a request is done; afterwards the request no longer
/// exists. Done means that the bytes and the signal are at the target.
void wait_for(const RmaTable& rma, void* group, void* request, const char* what) {
    int done = 0;
    const auto start = Clock::now();
    while (!done) {
        check(rma.test(group, request, &done), "test");
        check_deadline(start, what);
    }
}

/// The target calls nothing at all: it looks at its own memory. Acquire: who sees the signal sees
/// the data that was put before it.
void wait_for_signal(std::vector<std::uint64_t>& memory, std::uint64_t value) {
    std::atomic_ref word(memory[kSignalOffset / 8]);
    const auto start = Clock::now();
    while (word.load(std::memory_order_acquire) < value) {
        check_deadline(start, "the signal");
        std::this_thread::yield();
    }
}

/// The same byte everywhere is enough to be checked by eye.
bool all_equal(const std::vector<std::uint64_t>& memory, std::uint64_t word) {
    for (std::size_t i = 0; i < kBytes / 8; ++i)
        if (memory[i] != word) return false;
    return true;
}

bool talk(const RmaTable& rma, void* group, void* context, int rank) {
    // A region is registered by all ranks in the same order: the n-th registration of one rank is
    // the n-th of every other. The handle names the region on *any* rank.
    std::vector<std::uint64_t> memory(kBytes / 8 + 1);
    void* region = nullptr;
    check(rma.reg_mr_sym(group, memory.data(), 8 * memory.size(), NCCL_PTR_HOST, 0, &region),
          "regMrSym");
    // From the start of the region here to the start of the region there, then add 1 to a word
    // there.
    duofi::loader::RmaPut put;
    put.src = put.dst = region;
    put.bytes = kBytes;
    put.rank = static_cast<std::uint32_t>(1 - rank);
    duofi::loader::RmaSignal signal;
    signal.handle = region;
    signal.offset = kSignalOffset;
    void* request = nullptr;
    bool right = true;
    if (rank == 0) {
        for (std::size_t i = 0; i < kBytes / 8; ++i) memory[i] = 0x6161616161616161;  // 'a'
        check(rma.iput_signal(context, put, signal, &request), "iputSignal");
        wait_for(rma, group, request, "the put");
        wait_for_signal(memory, 1);  // the answer came
        right = all_equal(memory, 0x6262626262626262);
    } else {
        wait_for_signal(memory, 1);
        right = all_equal(memory, 0x6161616161616161);
        for (std::size_t i = 0; i < kBytes / 8; ++i) memory[i] = 0x6262626262626262;  // 'b'
        check(rma.iput_signal(context, put, signal, &request), "iputSignal");
        wait_for(rma, group, request, "the put");
    }
    std::printf("process %d got %zu bytes and a signal: %s\n", rank + 1, kBytes,
                right ? "right" : "WRONG");
    // The context goes first: after it nothing of this rank uses the memory.
    check(rma.destroy_context(context), "destroyContext");
    check(rma.dereg_mr_sym(group, region), "deregMrSym");
    return right;
}

int run(int rank, int socket) {
    using namespace duofi;
    // Reads NCCL_RMA_PLUGIN. The plugin looks at it, too: unless its name is there it declines, so
    // that a host which finds these tables beside the net plugin does not use them unasked.
    const loader::RmaRequest request = loader::RmaRequest::from_environment();
    // RmaHost plays RCCL's part: it opens the library, takes the newest table both know, and calls
    // init twice, for the two sides of the library that use it.
    loader::RmaHost host(request, loader::host_logger(), loader::host_line);
    const auto plugin = host.attach(/*comm_id=*/2024);
    if (!plugin) {
        std::fprintf(stderr,
                     "no RMA plugin; see NCCL_RMA_PLUGIN and LD_LIBRARY_PATH, "
                     "NCCL_DEBUG=INFO shows why\n");
        return 1;
    }
    const RmaTable& rma = plugin->table;  // v13 to v16, seen as v16
    void* group = connect(rma, plugin->rma_instance, rank, socket);
    ncclRmaConfig_v16_t config{};
    config.nContexts = 1;  // independent streams of operations
    config.trafficClass = NCCL_NET_TRAFFIC_CLASS_UNDEF;
    config.rankStride = 1;
    void* context = nullptr;
    check(rma.create_context(group, &config, &context), "createContext");
    const bool right = talk(rma, group, context, rank);
    check(rma.close_coll(group), "closeColl");
    host.release(*plugin);
    return right ? 0 : 1;
}

}  // namespace

int main() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 1;
    const pid_t child =
        ::fork();  // before any plugin is loaded: after it, only the parent may use it
    if (child < 0) return 1;
    const int rank = child > 0 ? 0 : 1;
    ::close(ends[rank == 0 ? 1 : 0]);
    const int code = run(rank, ends[rank]);
    if (rank != 0) return code;
    int status = 0;
    ::waitpid(child, &status, 0);
    const bool child_ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return code == 0 && child_ok ? 0 : 1;
}
