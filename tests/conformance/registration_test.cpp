// Registrations beside and during traffic: net contract 3.1, 3.3, T15, T21, T22.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <random>
#include <thread>

#include "tests/conformance/conformance.hpp"
#include "tests/support/memory_buffer.hpp"

namespace duofi::test {
namespace {

Plan usual(int messages, std::uint64_t seed) {
    Plan plan;
    plan.seed = seed;
    for (int i = 0; i < messages; ++i) plan.add(100 + i % 4 * 9000, 100 + i % 4 * 9000, i % 2);
    return plan;
}

// What the service thread of a caller does while the progress thread sends (T15).
void serve(const Net& net, const Link& link, const std::atomic<bool>& stop, int least) {
    std::vector<std::uint8_t> memory(1 << 18);
    std::minstd_rand random(5);
    for (int round = 0; round < least || !stop.load(); ++round) {
        std::vector<Registration> held;
        for (int i = 0; i < 6; ++i) {
            const std::size_t at = random() % (memory.size() - 1);
            const std::size_t bytes = 1 + random() % (memory.size() - at);
            held.emplace_back(i % 2 == 0 ? link.send : link.recv, memory.data() + at, bytes);
        }
        Listener listener = open_listener(net);
        Connecting connecting(net, 0, listener.handle);
        Link own = finish_link(connecting, listener);
        std::shuffle(held.begin(), held.end(), random);
    }
}

DUOFI_CONFORMANCE(registrations_and_connects_beside_traffic) {
    Net& net = Net::process();
    Link link = connect_pair(rank, net);
    std::atomic<bool> stop{false};
    std::exception_ptr failed;
    std::thread service([&] {
        try {
            serve(net, link, stop, 3);
        } catch (...) {
            failed = std::current_exception();
        }
    });
    std::exception_ptr traffic;
    try {
        run_plan(rank, link, usual(amount(rank, 300), 1));
    } catch (...) {
        traffic = std::current_exception();
    }
    stop.store(true);
    service.join();
    if (traffic) std::rethrow_exception(traffic);
    if (failed) std::rethrow_exception(failed);
    rank.barrier();
}

// T21: overlapping and equal ranges, released in every order, each usable until its own release.
DUOFI_CONFORMANCE(overlapping_registrations) {
    Net& net = Net::process();
    Link link = connect_pair(rank, net);
    constexpr std::size_t kSize = 65536;
    MemoryBuffer out(kSize);
    MemoryBuffer in(kSize);
    out.fill(8);
    struct Range {
        std::size_t at, bytes;
    };
    const std::vector<Range> ranges = {
        {0, kSize}, {0, kSize}, {100, 5000}, {4000, 20000}, {4090, 12}};
    std::vector<std::size_t> order = {0, 1, 2, 3, 4};
    std::minstd_rand random(3);
    for (int round = 0; round < amount(rank, 20); ++round) {
        std::vector<Registration> sends;
        std::vector<Registration> recvs;
        for (const Range& range : ranges) {
            sends.emplace_back(link.send, out.data() + range.at, range.bytes);
            recvs.emplace_back(link.recv, in.data() + range.at, range.bytes);
        }
        for (const std::size_t i : order) {
            in.poison();
            const Range& range = ranges[i];
            const Part part{in.data() + range.at, static_cast<int>(range.bytes), 0,
                            recvs[i].handle()};
            void* recv = post_recv(link.recv, {&part, 1});
            void* send = post_send(link.send, {out.data() + range.at, static_cast<int>(range.bytes),
                                               0, sends[i].handle()});
            wait(net, send);
            require(wait(net, recv)[0] == static_cast<int>(range.bytes), "size of range {}", i);
            require(std::equal(out.data() + range.at, out.data() + range.at + range.bytes,
                               in.data() + range.at),
                    "range {} is wrong", i);
            sends[i].release();
            recvs[i].release();
        }
        std::shuffle(order.begin(), order.end(), std::minstd_rand(static_cast<unsigned>(round)));
        rank.barrier();  // both ranks change the order together
    }
}

// T21: a registration released while its operation is in flight: no crash, other traffic goes on.
DUOFI_CONFORMANCE(release_in_flight) {
    log_capture::expect_warn("");
    Net& net = Net::process();
    Link doomed = connect_pair(rank, net);
    Link other = connect_pair(rank, net);
    MemoryBuffer buffer(1 << 20);
    buffer.fill(1);
    {
        Registration mr(doomed.send, buffer.data(), buffer.size());
        for (int i = 0; i < 50; ++i) {
            if (try_send(doomed.send, {buffer.data(), 1 << 20, 0, mr.handle()}) != nullptr) break;
        }
    }
    run_plan(rank, other, usual(20, 2));
    doomed.send.close();
    doomed.recv.close();
    run_plan(rank, other, usual(20, 3));
    rank.barrier();
}

// 3.3: an empty range, no memory, no comm, an unknown kind.
DUOFI_CONFORMANCE(bad_registrations) {
    log_capture::expect_warn("");
    Net& net = Net::process();
    Link link = connect_pair(rank, net);
    std::array<char, 64> data{};
    void* mhandle = nullptr;
    const auto reg = [&](void* comm, void* at, int size, int type) {
        mhandle = nullptr;
        return net->regMr(comm, at, size, type, &mhandle);
    };
    require(reg(link.send.get(), data.data(), 0, NCCL_PTR_HOST) == ncclInvalidArgument, "size 0");
    require(reg(link.send.get(), data.data(), -1, NCCL_PTR_HOST) == ncclInvalidArgument, "size -1");
    require(reg(link.send.get(), nullptr, 64, NCCL_PTR_HOST) != ncclSuccess, "NULL data");
    require(reg(nullptr, data.data(), 64, NCCL_PTR_HOST) == ncclInternalError, "NULL comm");
    require(reg(link.send.get(), data.data(), 64, 99) != ncclSuccess, "kind 99");
    require(reg(link.send.get(), data.data(), 64, NCCL_PTR_CUDA) != ncclSuccess,
            "device memory that is not there");
    run_plan(rank, link, usual(10, 4));
    rank.barrier();
}

// T22: DMA-BUF where the provider has none: an error, and the descriptor stays the caller's.
DUOFI_CONFORMANCE(dmabuf_is_refused_where_unsupported) {
    log_capture::expect_warn("");
    Net& net = Net::process();
    require((net.properties(0).ptrSupport & NCCL_PTR_DMABUF) == 0,
            "a cpu-only provider offers DMA-BUF");
    Link link = connect_pair(rank, net);
    const UniqueFd file(::memfd_create("duofi-dmabuf", MFD_CLOEXEC));
    require(file && ::ftruncate(file.get(), 65536) == 0, "no memfd");
    void* at = ::mmap(nullptr, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    require(at != MAP_FAILED, "no mapping");
    for (Comm* comm : {&link.send, &link.recv}) {
        void* mhandle = nullptr;
        const auto result =
            net->regMrDmaBuf(comm->get(), at, 4096, NCCL_PTR_HOST, 0, file.get(), &mhandle);
        require(result != ncclSuccess, "regMrDmaBuf succeeded");
        require(
            net->regMrDmaBuf(comm->get(), at, 4096, NCCL_PTR_HOST, 0, -1, &mhandle) != ncclSuccess,
            "fd -1");
    }
    require(::fcntl(file.get(), F_GETFD) >= 0, "the descriptor was closed");
    ::munmap(at, 65536);
    run_plan(rank, link, usual(10, 5));
    rank.barrier();
}

}  // namespace
}  // namespace duofi::test
