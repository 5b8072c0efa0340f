// Requests: the limit that is not an error, bad arguments, flush: net contract 3.4-3.6, T7, T9,
// T12.
#include <cstring>

#include "tests/conformance/conformance.hpp"
#include "tests/support/memory_buffer.hpp"

namespace duofi::test {
namespace {

constexpr int kUnlimited = 50000;  // a limit must show before so many small requests
constexpr int kBytes = 64;

struct Batch {
    Batch(const Comm& comm, int count)
        : buffer(static_cast<std::size_t>(count) * kBytes),
          mr(comm, buffer.data(), buffer.size()) {}
    void* at(int i) { return buffer.data() + static_cast<std::ptrdiff_t>(i) * kBytes; }
    MemoryBuffer buffer;
    Registration mr;
};

void send_rest(const Link& link, Batch& out, std::vector<void*>& requests, std::size_t count) {
    while (requests.size() < count) {
        const int i = static_cast<int>(requests.size());
        fill_pattern(out.at(i), kBytes, static_cast<std::uint64_t>(i));
        requests.push_back(post_send(link.send, {out.at(i), kBytes, 4, out.mr.handle()}));
    }
}

void take_all(const Link& link, Batch& in, std::size_t count) {
    std::vector<void*> window;
    std::size_t posted = 0;
    std::size_t done = 0;
    while (done < count) {
        while (posted < count && posted - done < 16) {
            const Part part{in.at(static_cast<int>(posted)), kBytes, 4, in.mr.handle()};
            window.push_back(post_recv(link.recv, {&part, 1}));
            ++posted;
        }
        require(wait(link.recv.net(), window[done])[0] == kBytes, "size of message {}", done);
        require(!first_mismatch(in.at(static_cast<int>(done)), kBytes, done), "message {} is wrong",
                done);
        ++done;
    }
}

// T7: sends without a receiver end in NULL, never in an error, and drain afterwards.
DUOFI_CONFORMANCE(sends_without_receiver_meet_a_limit) {
    Net& net = Net::process();
    Link link = connect_pair(rank, net);
    Batch out(link.send, kUnlimited);
    std::vector<void*> requests;
    for (int refused = 0; refused < 30;) {
        const int i = static_cast<int>(requests.size());
        require(i < kUnlimited - 1, "no limit after {} sends", i);
        fill_pattern(out.at(i), kBytes, static_cast<std::uint64_t>(i));
        void* request = try_send(link.send, {out.at(i), kBytes, 4, out.mr.handle()});
        if (request != nullptr) requests.push_back(request);
        refused += request == nullptr ? 1 : 0;
    }
    const auto counts = rank.all_gather(requests.size());
    const std::size_t theirs = counts[static_cast<std::size_t>(partner_of(rank))];
    Batch in(link.recv, static_cast<int>(theirs) + 1);
    take_all(link, in, theirs);
    for (void* request : requests) require(wait(net, request)[0] == kBytes, "size of a send");
    rank.barrier();
}

// T7: receives end in NULL after at least NCCL_NET_MAX_REQUESTS.
DUOFI_CONFORMANCE(receives_meet_a_limit) {
    Net& net = Net::process();
    Link link = connect_pair(rank, net);
    Batch in(link.recv, kUnlimited);
    std::vector<void*> requests;
    for (int refused = 0; refused < 30;) {
        const int i = static_cast<int>(requests.size());
        require(i < kUnlimited - 1, "no limit after {} receives", i);
        const Part part{in.at(i), kBytes, 4, in.mr.handle()};
        void* request = try_recv(link.recv, {&part, 1});
        if (request != nullptr) requests.push_back(request);
        refused += request == nullptr ? 1 : 0;
    }
    require(requests.size() >= NCCL_NET_MAX_REQUESTS, "only {} receives", requests.size());
    const auto counts = rank.all_gather(requests.size());
    const std::size_t wanted = counts[static_cast<std::size_t>(partner_of(rank))];
    Batch out(link.send, static_cast<int>(wanted));
    std::vector<void*> sends;
    send_rest(link, out, sends, wanted);
    for (std::size_t i = 0; i < requests.size(); ++i) {
        require(wait(net, requests[i])[0] == kBytes, "size of message {}", i);
        require(!first_mismatch(in.at(static_cast<int>(i)), kBytes, i), "message {} is wrong", i);
    }
    for (void* request : sends) wait(net, request);
    rank.barrier();
}

// 3.4: 32 groups of 8 on the receiver, 256 sends on the sender, all at once and without a test
// call.
DUOFI_CONFORMANCE(promised_number_of_requests_fits) {
    Net& net = Net::process();
    Link link = connect_pair(rank, net);
    constexpr int kGroups = NCCL_NET_MAX_REQUESTS;
    constexpr int kAll = kGroups * NCCL_NET_MAX_RECVS;
    Batch in(link.recv, kAll);
    Batch out(link.send, kAll);
    std::vector<void*> recvs;
    for (int group = 0; group < kGroups; ++group) {
        std::array<Part, NCCL_NET_MAX_RECVS> parts;
        for (int p = 0; p < NCCL_NET_MAX_RECVS; ++p) {
            parts[static_cast<std::size_t>(p)] = {in.at(group * NCCL_NET_MAX_RECVS + p), kBytes, p,
                                                  in.mr.handle()};
        }
        recvs.push_back(post_recv(link.recv, parts));
    }
    rank.barrier();
    std::vector<void*> sends;
    for (int i = 0; i < kAll; ++i) {
        fill_pattern(out.at(i), kBytes, static_cast<std::uint64_t>(i));
        sends.push_back(
            post_send(link.send, {out.at(i), kBytes, i % NCCL_NET_MAX_RECVS, out.mr.handle()}));
    }
    for (auto request = recvs.rbegin(); request != recvs.rend(); ++request) wait(net, *request, 8);
    for (auto request = sends.rbegin(); request != sends.rend(); ++request) wait(net, *request);
    for (int i = 0; i < kAll; ++i) {
        require(!first_mismatch(in.at(i), kBytes, static_cast<std::uint64_t>(i)),
                "message {} is wrong", i);
    }
    rank.barrier();
}

// T9, 3.6: nothing to flush in host memory: success and no request, whatever the sizes.
DUOFI_CONFORMANCE(flush_of_host_memory_is_nothing) {
    Net& net = Net::process();
    Link link = connect_pair(rank, net);
    MemoryBuffer buffer(4096);
    Registration mr(link.recv, buffer.data(), buffer.size());
    std::array<void*, 3> data = {buffer.data(), buffer.data() + 64, nullptr};
    std::array<void*, 3> mhandles = {mr.handle(), mr.handle(), nullptr};
    for (const std::array<int, 3>& sizes :
         {std::array<int, 3>{64, 128, 0}, std::array<int, 3>{0, 0, 0}}) {
        for (int n = 1; n <= 3; ++n) {
            std::array<int, 3> given = sizes;
            void* request = reinterpret_cast<void*>(0x1);
            expect_success(net->iflush(link.recv.get(), n, data.data(), given.data(),
                                       mhandles.data(), &request),
                           "iflush");
            require(request == nullptr, "iflush of host memory gave a request");
        }
    }
    rank.barrier();
}

// 3.4, 3.9: bad counts, ranges and pointers give their code and disturb nothing.
DUOFI_CONFORMANCE(bad_arguments_disturb_nobody) {
    log_capture::expect_warn("");
    Net& net = Net::process();
    Link link = connect_pair(rank, net);
    MemoryBuffer buffer(4096);
    Registration recv_mr(link.recv, buffer.data(), 1024);
    Registration send_mr(link.send, buffer.data(), 1024);
    void* request = nullptr;
    std::array<void*, 16> data;
    std::array<int, 16> sizes;
    std::array<int, 16> tags{};
    std::array<void*, 16> mhandles;
    data.fill(buffer.data());
    sizes.fill(64);
    mhandles.fill(recv_mr.handle());
    for (const int n : {-1, 0, 9, 16, 1 << 30}) {
        const auto result = net->irecv(link.recv.get(), n, data.data(), sizes.data(), tags.data(),
                                       mhandles.data(), &request);
        require(result == ncclInvalidArgument, "irecv of {} parts gave {}", n, result_name(result));
    }
    for (const auto& [from, bytes] :
         std::vector<std::pair<int, int>>{{0, 1025}, {1000, 25}, {2048, 1}, {0, -1}, {-8, 16}}) {
        data[0] = buffer.data() + from;
        sizes[0] = bytes;
        auto result = net->irecv(link.recv.get(), 1, data.data(), sizes.data(), tags.data(),
                                 mhandles.data(), &request);
        require(result == ncclInvalidArgument, "irecv of [{}, +{}) gave {}", from, bytes,
                result_name(result));
        result = net->isend(link.send.get(), data[0], bytes, 0, send_mr.handle(), &request);
        require(result == ncclInvalidArgument, "isend of [{}, +{}) gave {}", from, bytes,
                result_name(result));
    }
    int done = 0;
    require(net->test(nullptr, &done, nullptr) == ncclInternalError, "test of NULL");
    require(
        net->isend(nullptr, buffer.data(), 8, 0, send_mr.handle(), &request) == ncclInternalError,
        "isend on NULL");
    require(net->irecv(nullptr, 1, data.data(), sizes.data(), tags.data(), mhandles.data(),
                       &request) == ncclInternalError,
            "irecv on NULL");
    require(net->iflush(nullptr, 1, data.data(), sizes.data(), mhandles.data(), &request) ==
                ncclInternalError,
            "iflush on NULL");
    Plan plan;
    for (int i = 0; i < 20; ++i) plan.add(i * 800, i * 800);
    run_plan(rank, link, plan);
    rank.barrier();
}

}  // namespace
}  // namespace duofi::test
