// Four processes exchange data all to all through the GIN proxy: "kernels" write descriptors, the
// proxy thread turns them into calls of the RMA plugin, signals say what has arrived. The same code
// path as a GPU kernel's, with a CPU thread in the kernel's place.
//
//   NCCL_RMA_PLUGIN=duofi LD_LIBRARY_PATH=<folder of librccl-rma-duofi.so> ./04_gin_alltoall
//
// Example 03 shows the calls that the proxy makes.
#include <cstdio>
#include <cstring>
#include <vector>

#include "common/bootstrap/launch_env.hpp"
#include "common/bootstrap/local_spawn.hpp"
#include "common/bootstrap/tcp_store.hpp"
#include "common/gin/gin_proxy.hpp"
#include "common/loader/host_logger.hpp"
#include "common/loader/rma_host.hpp"

namespace {

using namespace duofi;

constexpr int kRanks = 4;
constexpr int kRounds = 20;
constexpr std::size_t kBytes = 64 * 1024;  // from each rank to each
constexpr std::uint32_t kArrived = 0;      // a signal by its number
constexpr Nanoseconds kPatience = 30 * kSecond;

/// The proxy needs to pass small blocks between the ranks while it connects; a TCP store can do it.
gin::Exchange exchange_over(bootstrap::Store& store) {
    return {store.rank(), store.size(),
            [&store](std::span<const std::byte> mine, std::span<std::byte> all) -> Status {
                auto blocks = store.gather("exchange", mine, Deadline(kPatience));
                if (!blocks) return fail(blocks.error().code, "exchange");
                for (std::size_t i = 0; i < blocks->size(); ++i)
                    std::memcpy(&all[i * mine.size()], (*blocks)[i].data(), mine.size());
                return {};
            }};
}

/// Every byte depends on source, target, round and place.
std::byte byte_of(int from, int to, int round, std::size_t at) {
    return static_cast<std::byte>(from * 59 + to * 31 + round * 7 + static_cast<int>(at % 251));
}

/// What a kernel would do. First half of the window: what goes out; second half: what comes in.
bool kernel(gin::Device device, const gin::Window& window, std::vector<std::byte>& memory) {
    const int own = device.rank();
    const std::size_t half = memory.size() / 2;
    for (int round = 1; round <= kRounds; ++round) {
        for (int to = 0; to < kRanks; ++to)
            for (std::size_t i = 0; i < kBytes; ++i)
                memory[static_cast<std::size_t>(to) * kBytes + i] = byte_of(own, to, round, i);
        // All have checked the last round before the first byte of this one goes out.
        if (device.barrier() != gin::GinStatus::done) return false;
        for (int to = 0; to < kRanks; ++to) {
            const gin::Place from{window, static_cast<std::size_t>(to) * kBytes};
            const gin::Place there{window, half + static_cast<std::size_t>(own) * kBytes};
            const auto sent = device.put(to, there, from, kBytes, gin::Signal::inc(kArrived));
            if (sent != gin::GinStatus::done) return false;
        }
        // Four puts have signalled; each signal comes after its data.
        const auto expected = static_cast<std::uint64_t>(round * kRanks);
        if (device.wait_signal(kArrived, expected) != gin::GinStatus::done) return false;
        for (int from = 0; from < kRanks; ++from)
            for (std::size_t i = 0; i < kBytes; ++i) {
                const std::size_t at = half + static_cast<std::size_t>(from) * kBytes + i;
                if (memory[at] == byte_of(from, own, round, i)) continue;
                std::fprintf(stderr, "rank %d: byte %zu from rank %d is wrong\n", own, i, from);
                return false;
            }
        // The own puts are done: the sources may change.
        if (device.flush() != gin::GinStatus::done) return false;
    }
    return true;
}

int run(bootstrap::Store& store) {
    // Reads NCCL_RMA_PLUGIN. The plugin looks at it, too: unless its name is there it declines, so
    // that a host which finds these tables beside the net plugin does not use them unasked.
    const loader::RmaRequest request = loader::RmaRequest::from_environment();
    loader::RmaHost host(request, loader::host_logger(), loader::host_line);
    const auto plugin = host.attach(/*comm_id=*/2024);
    if (!plugin || !plugin->gin) {
        std::fprintf(stderr,
                     "no RMA plugin; see NCCL_RMA_PLUGIN and LD_LIBRARY_PATH, "
                     "NCCL_DEBUG=INFO shows why\n");
        return 1;
    }
    bool right = false;
    {
        auto proxy = gin::GinProxy::open(plugin->table, plugin->gin_instance, exchange_over(store),
                                         gin::GinOptions());
        if (!proxy) {
            std::fprintf(stderr, "rank %d: %s failed\n", store.rank(), proxy.error().place);
            return 1;
        }
        std::vector<std::byte> memory(2 * kRanks * kBytes);
        const auto window = (*proxy)->register_window(memory);
        gin::DeviceCommShape shape;
        shape.shape.contexts = 1;
        shape.shape.signals = 1;
        const auto comm = (*proxy)->create(shape);
        if (window && comm) {
            (*proxy)->start();
            right = kernel((*comm)->device(0), *window, memory);
        }
        right = (*proxy)->close() && right;
    }
    host.release(*plugin);
    std::printf("rank %d: %d rounds of %zu bytes from %d ranks: %s\n", store.rank(), kRounds,
                kBytes, kRanks, right ? "right" : "WRONG");
    return right ? 0 : 1;
}

}  // namespace

int main() {
    const auto port = bootstrap::free_port();
    if (!port) return 1;
    bootstrap::SpawnRequest request;
    request.size = kRanks;
    request.root_port = *port;
    request.timeout = 60 * kSecond;
    // Before any plugin is loaded: run_ranks forks.
    const auto outcome = bootstrap::run_ranks(request, [](int) {
        const auto facts = bootstrap::launch_facts();
        if (!facts) return 1;
        auto session = bootstrap::open_session(*facts, Deadline(kPatience));
        return session ? run(*session->store) : 1;
    });
    if (!outcome) return 1;
    std::printf("%s\n", outcome->summary().c_str());
    return outcome->ok() ? 0 : 1;
}
