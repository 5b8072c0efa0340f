// Sends one message from one process to another and back with bare calls of the v6 table, so that
// every rule of the interface is visible. Nothing here needs a GPU.
//
//   LD_LIBRARY_PATH=<folder of librccl-net-duofi.so> ./02_send_recv
//
// Read it from the bottom: main() starts the two processes, run() is what each does.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "common/loader/host_logger.hpp"
#include "common/loader/plugin_host.hpp"

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kBytes = 1 << 20;
constexpr int kTag = 7;
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

/// Both ends connect to each other: a comm carries data in one direction only.
struct Comms {
    void* send = nullptr;
    void* recv = nullptr;
};

Comms connect_both(const ncclNet_v6_t& net, int socket) {
    // listen fills 128 opaque bytes. How they reach the peer is the host's business; here: a
    // socket.
    char own[NCCL_NET_HANDLE_MAXSIZE] = {}, peer[NCCL_NET_HANDLE_MAXSIZE];
    void* listener = nullptr;
    check(net.listen(0, own, &listener), "listen");
    if (::write(socket, own, sizeof own) != sizeof own ||
        ::recv(socket, peer, sizeof peer, MSG_WAITALL) != sizeof peer) {
        std::fprintf(stderr, "the other process is gone\n");
        std::exit(1);
    }
    // connect and accept never block. Success with a NULL comm means: call again, with the same
    // handle memory, which is the plugin's notebook meanwhile. Poll both, the peer may need either.
    Comms comms;
    const auto start = Clock::now();
    while (!comms.send || !comms.recv) {
        if (!comms.send) check(net.connect(0, peer, &comms.send), "connect");
        if (!comms.recv) check(net.accept(listener, &comms.recv), "accept");
        check_deadline(start, "the connection");
    }
    check(net.closeListen(listener), "closeListen");
    return comms;
}

/// test drives the network and says when a request is done; afterwards the request no longer
/// exists.
int wait_for(const ncclNet_v6_t& net, void* request, const char* what) {
    int done = 0, size = 0;
    const auto start = Clock::now();
    while (!done) {
        check(net.test(request, &done, &size), "test");
        check_deadline(start, what);
    }
    return size;
}

void send(const ncclNet_v6_t& net, void* comm, std::vector<char>& data, void* memory) {
    // A NULL request means that the message could not be posted now: call again with the same
    // arguments.
    void* request = nullptr;
    const auto start = Clock::now();
    while (!request) {
        check(net.isend(comm, data.data(), static_cast<int>(data.size()), kTag, memory, &request),
              "isend");
        check_deadline(start, "room for a send");
    }
    wait_for(net, request, "the send");  // from here on the buffer may change
}

int receive(const ncclNet_v6_t& net, void* comm, std::vector<char>& data, void* memory) {
    // irecv takes up to maxRecvs buffers at once; one is the common case.
    void* buffers[] = {data.data()};
    int sizes[] = {static_cast<int>(data.size())}, tags[] = {kTag};
    void* memories[] = {memory};
    void* request = nullptr;
    const auto start = Clock::now();
    while (!request) {
        check(net.irecv(comm, 1, buffers, sizes, tags, memories, &request), "irecv");
        check_deadline(start, "room for a receive");
    }
    return wait_for(net, request, "the receive");  // bytes that came, at most the buffer's size
}

int run(bool first, int socket) {
    using namespace duofi;
    loader::NetRequest request = loader::NetRequest::from_environment();
    if (!request.plugin) request.plugin = "duofi";
    const auto plugin = loader::open_net(request, loader::host_line);
    const auto* net =
        plugin ? static_cast<const ncclNet_v6_t*>(plugin->symbol("ncclNetPlugin_v6")) : nullptr;
    if (!net) {
        std::fprintf(stderr, "no plugin with a v6 table found; see LD_LIBRARY_PATH\n");
        return 1;
    }
    int devices = 0;
    check(net->init(loader::host_logger()), "init");
    check(net->devices(&devices), "devices");
    if (devices == 0) {
        std::fprintf(stderr, "no device\n");
        return 1;
    }
    Comms comms = connect_both(*net, socket);

    // Memory must be registered with each comm that uses it.
    std::vector<char> data(kBytes, first ? 'a' : ' ');
    void *send_memory = nullptr, *recv_memory = nullptr;
    const int size = static_cast<int>(data.size());
    check(net->regMr(comms.send, data.data(), size, NCCL_PTR_HOST, &send_memory), "regMr");
    check(net->regMr(comms.recv, data.data(), size, NCCL_PTR_HOST, &recv_memory), "regMr");

    // The first process sends 'a's and gets them back as 'b's from the second.
    if (first) send(*net, comms.send, data, send_memory);
    const int got = receive(*net, comms.recv, data, recv_memory);
    const std::vector<char> expected(kBytes, first ? 'b' : 'a');
    const bool right = got == size && data == expected;
    if (!first) {
        std::memset(data.data(), 'b', data.size());
        send(*net, comms.send, data, send_memory);
    }
    std::printf("process %d got %d bytes: %s\n", first ? 1 : 2, got, right ? "right" : "WRONG");

    check(net->deregMr(comms.send, send_memory), "deregMr");
    check(net->deregMr(comms.recv, recv_memory), "deregMr");
    check(net->closeSend(comms.send), "closeSend");
    check(net->closeRecv(comms.recv), "closeRecv");
    return right ? 0 : 1;
}

}  // namespace

int main() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 1;
    const pid_t child =
        ::fork();  // before any plugin is loaded: after it, only the parent may use it
    if (child < 0) return 1;
    const bool first = child > 0;
    ::close(ends[first ? 1 : 0]);
    const int code = run(first, ends[first ? 0 : 1]);
    if (!first) return code;
    int status = 0;
    ::waitpid(child, &status, 0);
    const bool child_ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return code == 0 && child_ok ? 0 : 1;
}
