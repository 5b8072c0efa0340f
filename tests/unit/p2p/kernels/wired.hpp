// Edges wired by hand over shared anonymous memory, as the transport wires them (p2p
// contract 1.16), and rings of ranks that are threads of this process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "p2p/abi.h"
#include "p2p/kernels/collectives.hpp"
#include "p2p/kernels/link.hpp"

namespace duofi::test {

enum class EdgeMode { slots, read, direct };
inline constexpr EdgeMode kEdgeModes[] = {EdgeMode::slots, EdgeMode::read, EdgeMode::direct};
inline constexpr p2p::Protocol kProtocols[] = {p2p::Protocol::ll, p2p::Protocol::ll128,
                                               p2p::Protocol::simple};

/// Small enough that short messages already go round the slots.
inline constexpr p2p::BufferSizes kSmallBuffers{{8 * 1024, 8 * 1024, 32 * 1024}};

struct EdgeSettings {
    EdgeMode mode = EdgeMode::slots;
    p2p::BufferSizes sizes = kSmallBuffers;
    std::uint64_t start = 0;  ///< step of both ends and value of both counters
    bool check_sizes = false;
    p2p::LinkOptions options{};
};

/// Both ends of one direction, unlinked until somebody makes a SendLink and a RecvLink of it.
class Edge {
  public:
    explicit Edge(const EdgeSettings& settings);
    ~Edge();
    Edge(const Edge&) = delete;
    Edge& operator=(const Edge&) = delete;

    [[nodiscard]] p2p::SendLink sender() { return {&send, settings_.sizes, settings_.options}; }
    [[nodiscard]] p2p::RecvLink receiver() { return {&recv, settings_.sizes, settings_.options}; }
    [[nodiscard]] ncclSendMem& send_memory() const { return *send_memory_; }
    [[nodiscard]] ncclRecvMem& recv_memory() const { return *recv_memory_; }

    ncclConnInfo send{}, recv{};

  private:
    EdgeSettings settings_;
    void* memory_;
    std::size_t bytes_;
    ncclSendMem* send_memory_;
    ncclRecvMem* recv_memory_;
};

/// All directed pairs of `ranks` on each channel.
class Mesh {
  public:
    Mesh(int ranks, int channels, const EdgeSettings& settings);

    [[nodiscard]] int ranks() const noexcept { return ranks_; }
    [[nodiscard]] int channels() const noexcept { return channels_; }
    [[nodiscard]] p2p::SendLink& send(int channel, int from, int to);
    [[nodiscard]] p2p::RecvLink& receive(int channel, int from, int to);

    /// body(rank, channel) on one thread each, started together; the results in that order.
    std::vector<p2p::KernelResult> run(
        const std::function<p2p::KernelResult(int rank, int channel)>& body);
    /// The same operation on all ranks; `buffers(rank)` fills in input and output.
    std::vector<p2p::KernelResult> run_ring(
        const p2p::RingOperation& operation,
        const std::function<void(int rank, p2p::RingOperation&)>& buffers);
    [[nodiscard]] p2p::KernelResult ring_part(const p2p::RingOperation& operation, int rank,
                                              int channel);
    [[nodiscard]] p2p::KernelResult all_to_all_part(const void* input, void* output,
                                                    std::size_t bytes, p2p::Protocol protocol,
                                                    int rank, int channel);

    std::uint32_t abort = 0;
    p2p::KernelContext context;  ///< yields early: test machines are busy
    std::vector<std::vector<int>> orders;

  private:
    [[nodiscard]] std::size_t index(int channel, int from, int to) const;
    int ranks_, channels_;
    std::vector<std::unique_ptr<Edge>> edges_;
    std::vector<std::unique_ptr<p2p::SendLink>> sends_;
    std::vector<std::unique_ptr<p2p::RecvLink>> receives_;
};

/// Yields early and gives up after 20 s.
[[nodiscard]] p2p::KernelContext patient_context(std::uint32_t* abort);

/// `bytes` usable bytes at an address that is `shift` off a multiple of 64, guarded on both sides.
class GuardedBuffer {
  public:
    GuardedBuffer(std::size_t bytes, std::size_t shift = 0);
    [[nodiscard]] std::byte* data() noexcept { return memory_.data() + begin_; }
    [[nodiscard]] std::size_t size() const noexcept { return bytes_; }
    [[nodiscard]] std::span<std::byte> bytes() noexcept { return {data(), bytes_}; }
    void fill(std::uint64_t seed);
    [[nodiscard]] bool holds(std::uint64_t seed) const;
    [[nodiscard]] bool guards_intact() const;

  private:
    std::size_t bytes_, begin_;
    std::vector<std::byte> memory_;
};

/// Byte `i` of the pattern of a seed.
[[nodiscard]] std::byte pattern_byte(std::uint64_t seed, std::size_t i) noexcept;

}  // namespace duofi::test
