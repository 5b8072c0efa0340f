// iwrite, iwriteInline, iread and getMrKey: net contract 3.10, T28. Units: net_plugin/neuron/one_sided,
// net_plugin/neuron/calls, net_plugin/neuron/rma_request.
#include <unistd.h>

#include "tests/conformance/neuron/neuron_conformance.hpp"

namespace duofi::test {
namespace {

constexpr std::size_t kLargest = std::size_t{4} << 20;

// Memory of this rank that its partner may reach, and the partner's.
struct Shared {
    MemoryBuffer memory;
    NccomMemory registered;
    Window theirs;
    Shared(Rank& rank, const NccomComm& comm, std::size_t bytes)
        : memory(bytes), registered((memory.poison(), comm), memory.data(), bytes) {
        const Window mine{reinterpret_cast<std::uint64_t>(memory.data()), registered.key(), bytes};
        theirs = rank.all_gather(mine)[static_cast<std::size_t>(partner_of(rank))];
    }
};

std::vector<std::size_t> sizes_of(const Nccom& net) {
    return {0, 1, 64, net.properties(0).max_write_inline, 100'000, kLargest};
}

void check_window(Shared& shared, std::size_t bytes, std::uint64_t seed) {
    const auto wrong = first_mismatch(shared.memory.data(), bytes, seed);
    require(!wrong, "byte {} of {} that were written is wrong", wrong.value_or(0), bytes);
    require(shared.memory.guards_intact(bytes), "bytes around the write were touched");
}

// Done means that the bytes are there: the owner looks without a call in between.
DUOFI_NEURON_CONFORMANCE(writes_of_all_sizes, 5) {
    const NccomLink link = nccom_pair(rank, nccom_of(rank));
    Shared shared(rank, link.recv, kLargest);
    std::uint64_t seed = 10;
    for (const std::size_t bytes : sizes_of(link.send.net())) {
        MemoryBuffer source(bytes);
        source.fill(seed + static_cast<std::uint64_t>(rank.index));
        const NccomMemory registered(link.send, source.data(), std::max<std::size_t>(bytes, 1));
        const int told = nccom_wait(link.send.net(), nccom_write(link.send, source.data(), bytes, registered,
                                                                 shared.theirs.address, shared.theirs.key));
        require(told == static_cast<int>(bytes), "iwrite of {} bytes tells {}", bytes, told);
        rank.barrier();
        check_window(shared, bytes, seed + static_cast<std::uint64_t>(partner_of(rank)));
        shared.memory.poison();
        rank.barrier();
        ++seed;
    }
}

DUOFI_NEURON_CONFORMANCE(inline_writes_leave_their_source_at_once, 5) {
    const NccomLink link = nccom_pair(rank, nccom_of(rank));
    const Nccom& net = link.send.net();
    const std::size_t limit = net.properties(0).max_write_inline;
    Shared shared(rank, link.recv, limit + 64);
    std::uint64_t seed = 40;
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{64}, limit}) {
        MemoryBuffer source(bytes);
        source.fill(seed + static_cast<std::uint64_t>(rank.index));
        void* request = nccom_write_inline(link.send, source.data(), bytes, shared.theirs.address, shared.theirs.key);
        source.poison();
        require(nccom_wait(net, request) == static_cast<int>(bytes), "iwriteInline of {} bytes tells another size", bytes);
        rank.barrier();
        check_window(shared, bytes, seed + static_cast<std::uint64_t>(partner_of(rank)));
        shared.memory.poison();
        rank.barrier();
        ++seed;
    }
    log_capture::expect_warn("iwriteInline: size=");
    MemoryBuffer source(limit + 1);
    void* request = &request;
    require(net.call(Slot::iwrite_inline, link.send.get(), static_cast<void*>(source.data()), limit + 1,
                     shared.theirs.address, shared.theirs.key, &request) == ncclInvalidArgument && request == nullptr,
            "an inline write over the limit is taken");
}

DUOFI_NEURON_CONFORMANCE(reads_of_all_sizes, 5) {
    const NccomLink link = nccom_pair(rank, nccom_of(rank));
    Shared shared(rank, link.send, kLargest);
    shared.memory.fill(70 + static_cast<std::uint64_t>(rank.index));
    rank.barrier();
    for (const std::size_t bytes : sizes_of(link.recv.net())) {
        MemoryBuffer into(bytes);
        into.poison();
        const NccomMemory registered(link.recv, into.data(), std::max<std::size_t>(bytes, 1));
        const int told = nccom_wait(link.recv.net(), nccom_read(link.recv, into.data(), bytes, registered,
                                                                shared.theirs.address, shared.theirs.key));
        require(told == static_cast<int>(bytes), "iread of {} bytes tells {}", bytes, told);
        require(!first_mismatch(into.data(), bytes, 70 + static_cast<std::uint64_t>(partner_of(rank))), "wrong data read");
        require(into.guards_intact(), "bytes around the read were written");
    }
    rank.barrier();
}

// In the middle of a registration, to and from the middle of others, together with messages.
DUOFI_NEURON_CONFORMANCE(parts_of_regions_beside_messages, 5) {
    constexpr std::size_t kBytes = 60'000, kPart = 7'001;
    const NccomLink link = nccom_pair(rank, nccom_of(rank));
    const Nccom& net = link.send.net();
    Shared shared(rank, link.recv, kBytes);
    MemoryBuffer source(kBytes), message(kBytes), received(kBytes);
    const NccomMemory from(link.send, source.data(), kBytes), to_send(link.send, message.data(), kBytes),
        to_receive(link.recv, received.data(), kBytes);
    source.fill(90 + static_cast<std::uint64_t>(rank.index));
    message.fill(95);
    void* receiving = nccom_recv(link.recv, received.data(), kBytes, 1, to_receive);
    void* sending = nccom_send(link.send, message.data(), kBytes, 1, to_send);
    std::vector<void*> writes;
    for (std::size_t at = 0; at < kBytes; at += kPart) {
        const std::size_t bytes = std::min(kPart, kBytes - at);
        writes.push_back(nccom_write(link.send, source.data() + at, bytes, from, shared.theirs.address + at,
                                     shared.theirs.key));
    }
    for (void* write : writes) (void)nccom_wait(net, write);
    (void)nccom_wait(net, sending);
    require(nccom_wait(net, receiving) == static_cast<int>(kBytes), "the message is cut");
    require(!first_mismatch(received.data(), kBytes, 95), "the message is wrong");
    rank.barrier();
    check_window(shared, kBytes, 90 + static_cast<std::uint64_t>(partner_of(rank)));
}

// The owner of the memory makes no call at all meanwhile (P8): it waits for the others. Its service looks after it, at
// once also when it had fallen asleep, not at its next regular look (each 100 ms).
DUOFI_NEURON_CONFORMANCE(an_owner_that_calls_nothing, 5) {
    constexpr int kWrites = 40;
    const NccomLink link = nccom_pair(rank, nccom_of(rank));
    const Nccom& net = link.send.net();
    Shared shared(rank, link.recv, kLargest);
    MemoryBuffer source(kLargest);
    source.fill(5);
    const NccomMemory registered(link.send, source.data(), kLargest);
    for (int turn = 0; turn < 2; ++turn) {
        rank.barrier();
        if (rank.index % 2 == turn) {
            if (turn == 1) ::usleep(400'000);  // as long as a service with nothing to do takes to fall asleep
            (void)nccom_wait(net, nccom_write(link.send, source.data(), kLargest, registered, shared.theirs.address,
                                              shared.theirs.key));
            const Nanoseconds begin = now_ns();
            for (int i = 0; i < kWrites; ++i)
                (void)nccom_wait(net, nccom_write(link.send, source.data(), 64, registered, shared.theirs.address,
                                                  shared.theirs.key));
            require(now_ns() - begin < patience(2 * kSecond), "{} small writes to a quiet owner took {} ms", kWrites,
                    (now_ns() - begin) / kMillisecond);
        }
        rank.barrier();
    }
    check_window(shared, kLargest, 5);
}

// Beyond 128 outstanding there is no error, only "not now" (net contract 2.1, 3.10).
DUOFI_NEURON_CONFORMANCE(many_outstanding_writes, 5) {
    constexpr std::size_t kBytes = 2'000;
    constexpr int kWrites = 1'000;
    const NccomLink link = nccom_pair(rank, nccom_of(rank));
    const Nccom& net = link.send.net();
    Shared shared(rank, link.recv, kBytes * kWrites);
    MemoryBuffer source(kBytes * kWrites);
    source.fill(1 + static_cast<std::uint64_t>(rank.index));
    const NccomMemory registered(link.send, source.data(), source.size());
    std::vector<void*> open;
    std::size_t most = 0;
    for (int i = 0; i < kWrites;) {
        void* request = nullptr;
        const std::size_t at = static_cast<std::size_t>(i) * kBytes;
        expect_success(net.call(Slot::iwrite, link.send.get(), static_cast<void*>(source.data() + at), kBytes,
                                registered.handle(), shared.theirs.address + at, shared.theirs.key, &request), "iwrite");
        if (request != nullptr) {
            ++i;
            open.push_back(request);
            most = std::max(most, open.size());
            continue;
        }
        require(open.size() >= 128, "not now with {} outstanding", open.size());
        for (void* each : open) (void)nccom_wait(net, each);
        open.clear();
    }
    for (void* each : open) (void)nccom_wait(net, each);
    require(most == 128, "{} writes were outstanding", most);
    rank.barrier();
    check_window(shared, kBytes * kWrites, 1 + static_cast<std::uint64_t>(partner_of(rank)));
}

}  // namespace
}  // namespace duofi::test
