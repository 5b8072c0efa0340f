// One-sided calls that must not work: keys, ranges and arguments that are wrong, memory that is gone, ends of either
// side under way. Net contract 3.7, 3.10, P4, T28.
#include <csignal>
#include <unistd.h>

#include "tests/conformance/neuron/neuron_conformance.hpp"

namespace duofi::test {
namespace {

constexpr std::size_t kBytes = 64 * 1024;

// What rank 0 reaches of rank 1.
struct Target {
    MemoryBuffer memory{kBytes}, local{kBytes};
    NccomMemory registered;
    NccomMemory local_write, local_read;
    Window window;
    Target(Rank& rank, const NccomLink& link)
        : registered(link.recv, memory.data(), kBytes),
          local_write(link.send, local.data(), kBytes),
          local_read(link.recv, local.data(), kBytes) {
        memory.poison();
        const Window mine{reinterpret_cast<std::uint64_t>(memory.data()), registered.key(), kBytes};
        window = rank.all_gather(mine)[static_cast<std::size_t>(partner_of(rank))];
    }
};

void expect_refusal(const Nccom& net, void* request, const char* what) {
    const ncclResult_t result = nccom_outcome(net, request, kStepPatience);
    require(result == ncclInvalidArgument, "{} ended with {}", what, result_name(result));
}

// A wrong key, or a range outside of what it stands for: the call fails, nothing is written, the connection lives on.
DUOFI_NEURON_CONFORMANCE(wrong_key_and_wrong_range, 5) {
    log_capture::expect_warn("the peer has no memory under that key");
    const NccomLink link = nccom_pair(rank, nccom_of(rank));
    const Nccom& net = link.send.net();
    Target target(rank, link);
    const Window& w = target.window;
    void* local = target.local.data();
    for (const std::uint64_t key : {w.key ^ 0x5555, std::uint64_t{0}, ~std::uint64_t{0}}) {
        expect_refusal(net, nccom_write(link.send, local, 64, target.local_write, w.address, key), "a write, wrong key");
        expect_refusal(net, nccom_write(link.send, local, kBytes, target.local_write, w.address, key), "a large one");
        expect_refusal(net, nccom_write_inline(link.send, local, 8, w.address, key), "an inline write, wrong key");
        expect_refusal(net, nccom_read(link.recv, local, 64, target.local_read, w.address, key), "a read, wrong key");
    }
    for (const std::uint64_t address : {w.address - 1, w.address + kBytes - 63, std::uint64_t{0}, ~std::uint64_t{0}}) {
        expect_refusal(net, nccom_write(link.send, local, 64, target.local_write, address, w.key), "a write, outside");
        expect_refusal(net, nccom_read(link.recv, local, 64, target.local_read, address, w.key), "a read, outside");
    }
    rank.barrier();
    require(target.memory.poisoned(), "memory was written all the same");
    rank.barrier();
    target.local.fill(3);
    (void)nccom_wait(net, nccom_write(link.send, local, kBytes, target.local_write, w.address, w.key));
    rank.barrier();
    require(!first_mismatch(target.memory.data(), kBytes, 3), "the connection does not work any more");
}

DUOFI_NEURON_CONFORMANCE(bad_arguments, 5) {
    log_capture::expect_warn("");
    const NccomLink link = nccom_pair(rank, nccom_of(rank));
    const Nccom& net = link.send.net();
    Target target(rank, link);
    const Window& w = target.window;
    void* local = target.local.data();
    void* handle = target.local_write.handle();
    void* request = nullptr;
    const auto write = [&](void* comm, void* data, std::size_t bytes, void* memory) {
        request = &request;
        return net.call(Slot::iwrite, comm, data, bytes, memory, w.address, w.key, &request);
    };
    require(write(link.send.get(), target.local.data() + 1, kBytes, handle) == ncclInvalidArgument, "beyond the mhandle");
    require(request == nullptr, "a refusal with a request");
    require(write(link.send.get(), nullptr, 64, handle) == ncclInvalidArgument, "NULL data");
    require(write(link.send.get(), local, std::size_t{1} << 40, handle) == ncclInvalidArgument, "a terabyte");
    require(write(link.recv.get(), local, 64, handle) == ncclInternalError, "iwrite on a receive comm");
    require(write(nullptr, local, 64, handle) == ncclInternalError, "iwrite on no comm");
    require(net.call(Slot::iread, link.send.get(), local, std::size_t{64}, handle, w.address, w.key, &request) ==
                ncclInternalError, "iread on a send comm");
    require(net.call(Slot::iwrite, link.send.get(), local, std::size_t{64}, handle, w.address, w.key,
                     static_cast<void**>(nullptr)) == ncclInternalError, "no place for the request");
    std::uint64_t key = 0;
    require(net.call(Slot::get_mr_key, static_cast<void*>(nullptr), &key) == ncclInvalidArgument, "the key of nothing");
    require(net.call(Slot::get_mr_key, handle, static_cast<std::uint64_t*>(nullptr)) == ncclInternalError, "no place");
    target.local_write.release();
    require(net.call(Slot::get_mr_key, handle, &key) == ncclInvalidArgument, "the key of what is deregistered");
    void* registered = &request;
    require(net.call(Slot::reg_mr, link.send.get(), local, kBytes, int{NCCL_PTR_NEURON}, &registered) ==
                ncclInvalidArgument && registered == nullptr, "device memory without a device");
    rank.barrier();
}

// The owner takes its memory back: who asks for the first time is refused.
DUOFI_NEURON_CONFORMANCE(a_key_ends_with_its_registration, 5) {
    log_capture::expect_warn("the peer has no memory under that key");
    const NccomLink link = nccom_pair(rank, nccom_of(rank));
    Target target(rank, link);
    rank.barrier();
    target.registered.release();
    rank.barrier();
    expect_refusal(link.send.net(), nccom_write(link.send, target.local.data(), 64, target.local_write,
                                                target.window.address, target.window.key), "a write to what is gone");
    rank.barrier();
    require(target.memory.poisoned(), "memory was written after deregMr");
}

// The same with a key that has worked before: the provider is asked, and its answer may be an error or none.
void use_after_release(Rank& rank, bool read) {
    log_capture::expect_warn("");
    NccomLink link = nccom_pair(rank, nccom_of(rank));
    const Nccom& net = link.send.net();
    auto target = std::make_unique<Target>(rank, link);
    const auto start = [&] {
        const Window& w = target->window;
        return read ? nccom_read(link.recv, target->local.data(), 64, target->local_read, w.address, w.key)
                    : nccom_write(link.send, target->local.data(), 64, target->local_write, w.address, w.key);
    };
    if (rank.index == 0) (void)nccom_wait(net, start());
    rank.barrier();
    if (rank.index == 1) target->registered.release();
    rank.barrier();
    if (rank.index == 0) {
        const ncclResult_t result = nccom_outcome(net, start(), patience(3 * kSecond));
        const char* stall = read ? "no progress: op=iread" : "no progress: op=iwrite";
        const bool stalled = result == ncclInProgress && log_capture::count(NCCL_LOG_WARN, stall) > 0;
        require(stalled || (result != ncclSuccess && result != ncclInProgress), "it ended with {}, without a line",
                result_name(result));
        link.send.close();
        link.recv.close();
    }
    rank.barrier();
    target->local_write.release(), target->local_read.release();
    if (rank.index == 1) link.send.close(), link.recv.close();
}

DUOFI_NEURON_CONFORMANCE_WITH(a_known_key_of_memory_that_is_gone, 5, Ranks::own) { use_after_release(rank, false); }
DUOFI_NEURON_CONFORMANCE_WITH(reading_memory_that_is_gone, 5, Ranks::own) { use_after_release(rank, true); }

DUOFI_NEURON_CONFORMANCE(closing_with_transfers_under_way, 5) {
    log_capture::expect_warn("");
    constexpr int kRounds = 4, kEach = 16;
    for (int round = 0; round < kRounds; ++round) {
        NccomLink link = nccom_pair(rank, nccom_of(rank));
        const Nccom& net = link.send.net();
        Target target(rank, link);
        for (int i = 0; i < kEach; ++i) {
            void* request = nullptr;
            const ncclResult_t write = net.call(Slot::iwrite, link.send.get(), static_cast<void*>(target.local.data()),
                                                kBytes, target.local_write.handle(), target.window.address,
                                                target.window.key, &request);
            const ncclResult_t read = net.call(Slot::iread, link.recv.get(), static_cast<void*>(target.local.data()),
                                               kBytes, target.local_read.handle(), target.window.address,
                                               target.window.key, &request);
            require(write == ncclSuccess || write == ncclRemoteError, "iwrite gave {}", result_name(write));
            require(read == ncclSuccess || read == ncclRemoteError, "iread gave {}", result_name(read));
        }
        if (round % 2 == 0) rank.barrier();
        link.send.close();
        link.recv.close();
        rank.barrier();
    }
    const NccomLink link = nccom_pair(rank, nccom_of(rank));
    Target target(rank, link);
    (void)nccom_wait(link.send.net(), nccom_write(link.send, target.local.data(), kBytes, target.local_write,
                                                  target.window.address, target.window.key));
    rank.barrier();
}

// The other side closes before it was asked, and while it is: what waits for it ends.
DUOFI_NEURON_CONFORMANCE(the_other_side_closes, 5) {
    log_capture::expect_warn("");
    NccomLink link = nccom_pair(rank, nccom_of(rank));
    const Nccom& net = link.send.net();
    Target target(rank, link);
    rank.barrier();
    if (rank.index == 1) {
        link.send.close();
        link.recv.close();
        rank.barrier();
        return;
    }
    rank.barrier();
    const auto expect_end = [&](Slot slot, void* comm, NccomMemory& memory) {
        void* request = nullptr;
        ncclResult_t result = net.call(slot, comm, static_cast<void*>(target.local.data()), std::size_t{64},
                                       memory.handle(), target.window.address, target.window.key ^ 1, &request);
        if (result == ncclSuccess && request != nullptr) result = nccom_outcome(net, request, kStepPatience);
        require(result == ncclRemoteError, "an operation on a comm without its other end gave {}", result_name(result));
    };
    expect_end(Slot::iwrite, link.send.get(), target.local_write);
    expect_end(Slot::iread, link.recv.get(), target.local_read);
    link.send.close();
    link.recv.close();
}

// The owner is killed while it is written to.
DUOFI_NEURON_CONFORMANCE_WITH(a_dead_owner, 5, Ranks::own_second_killed) {
    log_capture::expect_warn("");
    NccomLink link = nccom_pair(rank, nccom_of(rank));
    const Nccom& net = link.send.net();
    Target target(rank, link);
    const auto process = rank.all_gather(::getpid())[1];
    if (rank.index == 1) {
        ::usleep(100'000);  // for some writes to be under way
        rank.barrier();
        for (;;) ::pause();
    }
    const Deadline deadline(kStepPatience);
    bool killed = false;
    ncclResult_t result = ncclSuccess;
    while (result == ncclSuccess) {
        require(!deadline.passed(), "writes to a dead process go on");
        void* request = nullptr;
        result = net.call(Slot::iwrite, link.send.get(), static_cast<void*>(target.local.data()), kBytes,
                          target.local_write.handle(), target.window.address, target.window.key, &request);
        if (result == ncclSuccess && request != nullptr) result = nccom_outcome(net, request, kStepPatience);
        if (!killed) {
            rank.barrier();
            require(result == ncclSuccess, "a write to a live process gave {}", result_name(result));
            require(::kill(process, SIGKILL) == 0, "no such process");
            killed = true;
        }
    }
    require(result == ncclRemoteError, "writes to a dead process end with {}", result_name(result));
    link.send.close();
    link.recv.close();
}

}  // namespace
}  // namespace duofi::test
