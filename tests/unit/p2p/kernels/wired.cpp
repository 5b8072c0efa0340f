#include "tests/unit/p2p/kernels/wired.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <thread>

namespace duofi::test {

Edge::Edge(const EdgeSettings& settings) : settings_(settings) {
    const auto& b = settings.sizes.bytes;
    const bool read = settings.mode == EdgeMode::read;
    const std::size_t send_bytes =
        P2P_MEM_ALIGN + (b[2] + P2P_MEM_ALIGN - 1) / P2P_MEM_ALIGN * P2P_MEM_ALIGN;
    bytes_ = send_bytes + P2P_MEM_ALIGN + b[0] + b[1] + b[2];
    memory_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
    send_memory_ = static_cast<ncclSendMem*>(memory_);
    recv_memory_ = reinterpret_cast<ncclRecvMem*>(static_cast<std::byte*>(memory_) + send_bytes);
    char* const buffers = recv_memory_->buff;
    send.buffs[0] = buffers;
    send.buffs[1] = buffers + b[0];
    send.buffs[2] = read ? send_memory_->buff : buffers + b[0] + b[1];
    send.tail = &recv_memory_->tail;
    send.head = &send_memory_->head;
    send.ptrExchange = &send_memory_->ptrExchange;
    send.direct = settings.mode == EdgeMode::direct ? NCCL_DIRECT_GPU : 0;
    if (settings.check_sizes) send.sizesFifo = recv_memory_->sizesFifo;
    send.step = settings.start;
    recv_memory_->tail = send_memory_->head = settings.start;
    recv = send;
}

Edge::~Edge() {
    ::munmap(memory_, bytes_);
}

p2p::KernelContext patient_context(std::uint32_t* abort) {
    p2p::KernelContext context;
    context.abort = abort;
    context.spin.spins_before_yield = 64;
    context.spin.timeout = 20 * kSecond;
    return context;
}

Mesh::Mesh(int ranks, int channels, const EdgeSettings& settings)
    : context(patient_context(&abort)), ranks_(ranks), channels_(channels) {
    const auto count = static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks * channels);
    edges_.resize(count);
    sends_.resize(count);
    receives_.resize(count);
    for (int c = 0; c < channels; ++c) {
        for (int from = 0; from < ranks; ++from) {
            for (int to = 0; to < ranks; ++to) {
                if (from == to) continue;
                const std::size_t i = index(c, from, to);
                edges_[i] = std::make_unique<Edge>(settings);
                sends_[i] = std::make_unique<p2p::SendLink>(edges_[i]->sender());
                receives_[i] = std::make_unique<p2p::RecvLink>(edges_[i]->receiver());
            }
        }
    }
    for (int rank = 0; rank < ranks; ++rank) {
        orders.emplace_back();
        for (int k = 0; k < ranks; ++k) orders.back().push_back((rank + k) % ranks);
    }
}

std::size_t Mesh::index(int channel, int from, int to) const {
    return (static_cast<std::size_t>(channel) * static_cast<std::size_t>(ranks_) +
            static_cast<std::size_t>(from)) *
               static_cast<std::size_t>(ranks_) +
           static_cast<std::size_t>(to);
}

p2p::SendLink& Mesh::send(int channel, int from, int to) {
    return *sends_[index(channel, from, to)];
}

p2p::RecvLink& Mesh::receive(int channel, int from, int to) {
    return *receives_[index(channel, from, to)];
}

std::vector<p2p::KernelResult> Mesh::run(const std::function<p2p::KernelResult(int, int)>& body) {
    std::vector<p2p::KernelResult> results(static_cast<std::size_t>(ranks_ * channels_));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks_; ++rank)
        for (int channel = 0; channel < channels_; ++channel)
            threads.emplace_back([&, rank, channel] {
                results[static_cast<std::size_t>(rank * channels_ + channel)] = body(rank, channel);
            });
    for (std::thread& thread : threads) thread.join();
    return results;
}

p2p::KernelResult Mesh::ring_part(const p2p::RingOperation& operation, int rank, int channel) {
    p2p::RingPlace place;
    place.next = &send(channel, rank, (rank + 1) % ranks_);
    place.previous = &receive(channel, (rank + ranks_ - 1) % ranks_, rank);
    place.order = orders[static_cast<std::size_t>(rank)];
    place.channel = channel;
    place.channels = channels_;
    return p2p::run_ring(operation, place, context);
}

std::vector<p2p::KernelResult> Mesh::run_ring(
    const p2p::RingOperation& operation,
    const std::function<void(int, p2p::RingOperation&)>& buffers) {
    return run([&](int rank, int channel) {
        p2p::RingOperation mine = operation;
        buffers(rank, mine);
        return ring_part(mine, rank, channel);
    });
}

p2p::KernelResult Mesh::all_to_all_part(const void* input, void* output, std::size_t bytes,
                                        p2p::Protocol protocol, int rank, int channel) {
    std::vector<p2p::SendLink*> sends(static_cast<std::size_t>(ranks_));
    std::vector<p2p::RecvLink*> receives(static_cast<std::size_t>(ranks_));
    for (int peer = 0; peer < ranks_; ++peer) {
        if (peer == rank) continue;
        sends[static_cast<std::size_t>(peer)] = &send(channel, rank, peer);
        receives[static_cast<std::size_t>(peer)] = &receive(channel, peer, rank);
    }
    p2p::AllToAllPlace place{sends, receives, rank, channel, channels_};
    return p2p::run_all_to_all(input, output, bytes, protocol, place, context);
}

namespace {

constexpr std::size_t kGuard = 64;
constexpr std::byte kGuardByte{0xa5};

}  // namespace

GuardedBuffer::GuardedBuffer(std::size_t bytes, std::size_t shift)
    : bytes_(bytes), memory_(bytes + 3 * kGuard + shift, kGuardByte) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data()) + kGuard;
    begin_ = kGuard + (kGuard - address % kGuard) % kGuard + shift;
}

std::byte pattern_byte(std::uint64_t seed, std::size_t i) noexcept {
    const std::uint64_t mixed = (seed * 0x9e3779b97f4a7c15 + i) * 0xbf58476d1ce4e5b9;
    return static_cast<std::byte>(mixed >> 56 ^ mixed >> 27);
}

void GuardedBuffer::fill(std::uint64_t seed) {
    for (std::size_t i = 0; i < bytes_; ++i) data()[i] = pattern_byte(seed, i);
}

bool GuardedBuffer::holds(std::uint64_t seed) const {
    for (std::size_t i = 0; i < bytes_; ++i)
        if (memory_[begin_ + i] != pattern_byte(seed, i)) return false;
    return true;
}

bool GuardedBuffer::guards_intact() const {
    const auto intact = [](std::byte b) { return b == kGuardByte; };
    const auto begin = memory_.begin() + static_cast<std::ptrdiff_t>(begin_);
    return std::all_of(memory_.begin(), begin, intact) &&
           std::all_of(begin + static_cast<std::ptrdiff_t>(bytes_), memory_.end(), intact);
}

}  // namespace duofi::test
